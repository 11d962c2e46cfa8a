"""PyTorch's sides of the comparison on a GPU, float32, one epoch at a time on request.

usage: python3 torch_gpu.py DATA.npz M LAYERS literal|lean TF32 DEVICE     TF32 is on or off, DEVICE as cuda:0 or cpu
       python3 torch_gpu.py check                                          compares lean with literal, in float64 on the CPU

literal is the network as the paper writes it (paper_model.py, which must lie beside this file), lean the algebra of this
library, which forms nothing of the size of X but X: eight products with X an epoch for two layers, and Procrustes by the
eigenvectors of the m x m Gram matrix. Needs numpy and torch. Reads lines "epochs N" from standard input and answers each with
one line of N epoch times in seconds; "quit" is answered with the peak of the device's memory that tensors took, in MiB.
"""
import os
import sys
import time

import numpy as np
import torch

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import paper_model as pm


class GramPolar(torch.autograd.Function):
    """M = B S C^T -> P = B C^T by the eigenvectors of the smaller of M M^T and M^T M, in float64."""

    @staticmethod
    def forward(ctx, M):
        tr = M.shape[0] > M.shape[1]
        A = (M.t() if tr else M).double()
        lam, B = torch.linalg.eigh(A @ A.t())
        s = torch.sqrt(torch.clamp(lam, min=1e-20 * lam[-1].item()))
        Ct = (B.t() @ A) / s[:, None]
        ctx.save_for_backward(B, s, Ct)
        ctx.tr, ctx.dtype = tr, M.dtype
        P = (B @ Ct).to(M.dtype)
        return P.t().contiguous() if tr else P

    @staticmethod
    def backward(ctx, G):
        B, s, Ct = ctx.saved_tensors
        g = (G.t() if ctx.tr else G).double()
        BG = B.t() @ g
        Q = BG @ Ct.t()
        D = B @ ((Q - Q.t()) / (s[:, None] + s[None, :])) @ Ct
        D = (D + B @ ((BG - Q @ Ct) / s[:, None])).to(ctx.dtype)
        return D.t() if ctx.tr else D


def lean_loss(X, squares, P, theta, rho, R, U):
    """The loss of the network by products of X with m x d matrices alone. squares are the squared norms of the rows."""
    V, H, t, old = len(X), None, [None] * len(X), list(P)
    for l in range(theta.shape[0]):
        Y = [x @ p.t() for x, p in zip(X, P)]
        acc = 0
        for v in range(V):
            if H is None:
                A = Y[v] @ U
            else:
                Z = t[v] * Y[v] + (1 - t[v]) * (H @ (old[v] @ P[v].t()))
                A = H @ R + Z @ U
            acc = acc + pm.soft(A, theta[l], 'relu')
        H = acc / V
        old, new = P, []
        for v in range(V):
            q = squares[v] - 2 * (H * Y[v]).sum(1) + ((H @ (P[v] @ P[v].t())) * H).sum(1)
            on = q > rho[l, v].detach() ** 2
            r = torch.sqrt(torch.where(on, q, torch.ones_like(q)))
            s = torch.where(on, torch.relu(r - rho[l, v]) / r, torch.zeros_like(q))
            t[v] = (1 - s)[:, None]
            new.append(GramPolar.apply((t[v] * H).t() @ X[v] + (H.t() @ ((1 - t[v]) * H)) @ P[v]))
        P = new
    G, loss = H.t() @ H, 0
    for v in range(V):
        inner = (H * (X[v] @ P[v].t())).sum()
        loss = loss + (squares[v].sum() - 2 * inner + (G * (P[v] @ P[v].t())).sum()) / X[v].numel()
    return loss


def start(X, m, layers, dtype, device):
    g = torch.Generator().manual_seed(0)
    P = []
    for x in X:
        d = x.shape[1]
        q = torch.linalg.qr(torch.randn(max(d, m), min(d, m), generator=g))[0]
        P.append((q.t() if d >= m else q).contiguous().to(device, dtype))
    p = pm.init_params(layers, len(X), m, dtype=dtype)
    return P, [p[k].to(device).requires_grad_() for k in ('theta', 'rho', 'R', 'U')]


def losses(X, P, m, kind):
    """Returns a function of the parameters, the loss."""
    if kind == 'lean':
        squares = [(x * x).sum(1) for x in X]
        return lambda par: lean_loss(X, squares, P, *par)
    E = [torch.zeros_like(x) for x in X]
    H = torch.zeros(X[0].shape[0], m, dtype=X[0].dtype, device=X[0].device)

    def literal(par):
        h, _, q = pm.forward(X, H, E, P, *par)
        return pm.loss_fn(X, h, q)
    return literal


def check():
    g = torch.Generator().manual_seed(1)
    worst = 0.0
    for n, dims, m, layers in ((60, (9, 7), 3, 2), (45, (12, 4, 6), 5, 3), (30, (8,), 4, 1)):
        X = [torch.randn(n, d, generator=g, dtype=torch.float64) for d in dims]
        P, par = start(X, m, layers, torch.float64, 'cpu')
        with torch.no_grad():
            par[1].fill_(2.0)
            par[2].add_(0.4 * torch.eye(m, dtype=torch.float64))
        out = []
        for kind in ('literal', 'lean'):
            loss = losses(X, P, m, kind)(par)
            grads = torch.autograd.grad(loss, par, allow_unused=True)  # one layer does not use R
            out.append([loss.detach().reshape(1)] +
                       [(torch.zeros_like(p) if x is None else x).reshape(-1) for x, p in zip(grads, par)])
        for a, b in zip(*out):
            worst = max(worst, ((a - b).norm() / (a.norm() + 1e-12)).item())
    print('worst relative difference %.1e' % worst)
    return 0 if worst < 1e-9 else 1


def main():
    if sys.argv[1] == 'check':
        sys.exit(check())
    path, m, layers, kind, tf32, device = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:7]
    cuda = device.startswith('cuda')
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = tf32 == 'on'
    X = []
    with np.load(path) as z:
        for k in sorted((k for k in z.files if k.startswith('X')), key=lambda k: int(k[1:])):
            x = torch.from_numpy(np.ascontiguousarray(z[k].astype(np.float32))).to(device)
            sd, mean = torch.std_mean(x, dim=1, keepdim=True, unbiased=False)
            x.sub_(mean).div_(torch.where(sd > 0, sd, torch.ones_like(sd)))
            X.append(x)
    P, par = start(X, m, layers, torch.float32, device)
    loss_of = losses(X, P, m, kind)
    opt = torch.optim.Adam(par, 1e-2)

    def epoch():
        opt.zero_grad()
        loss = loss_of(par)
        loss.backward()
        opt.step()
        return loss.item()  # waits for the device

    epoch()
    print('ready', flush=True)
    for line in sys.stdin:
        word = line.split()
        if word[0] == 'quit':
            print(torch.cuda.max_memory_allocated() / 2**20 if cuda else 0.0, flush=True)
            break
        times = []
        for _ in range(int(word[1])):
            if cuda:
                torch.cuda.synchronize()
            began = time.perf_counter()
            epoch()
            times.append(time.perf_counter() - began)
        print(*times, flush=True)


main()
