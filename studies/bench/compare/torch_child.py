"""PyTorch's side of the comparison: the literal network in float32 with all threads, one epoch at a time on request.

usage: python3 torch_child.py DATA.npz M LAYERS        (paper_model.py must lie beside it; needs numpy and torch)
Reads lines "epochs N" from standard input and answers each with one line of N epoch times in seconds; "quit" is answered
with the peak memory of the process in MiB.
"""
import os
import resource
import sys
import time

import numpy as np
import torch

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import paper_model as pm

torch.set_num_threads(os.cpu_count())
path, m, layers = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
X = []
with np.load(path) as z:
    for k in sorted((k for k in z.files if k.startswith('X')), key=lambda k: int(k[1:])):
        x = torch.from_numpy(np.ascontiguousarray(z[k].astype(np.float32)))
        sd, mean = torch.std_mean(x, dim=1, keepdim=True, unbiased=False)
        x.sub_(mean).div_(torch.where(sd > 0, sd, torch.ones_like(sd)))
        X.append(x)
        del x
g = torch.Generator().manual_seed(0)
P = [torch.linalg.qr(torch.randn(x.shape[1], m, generator=g))[0].t().contiguous() if x.shape[1] >= m
     else torch.linalg.qr(torch.randn(m, x.shape[1], generator=g))[0].contiguous() for x in X]
p = pm.init_params(layers, len(X), m, dtype=torch.float32)
par = [p[k].requires_grad_() for k in ('theta', 'rho', 'R', 'U')]
opt = torch.optim.Adam(par, 1e-2)
E = [torch.zeros_like(x) for x in X]
H = torch.zeros(X[0].shape[0], m)


def epoch():
    opt.zero_grad()
    h, _, q = pm.forward(X, H, E, P, *par)
    loss = pm.loss_fn(X, h, q)
    loss.backward()
    opt.step()
    return loss.item()


print('ready', flush=True)
for line in sys.stdin:
    word = line.split()
    if word[0] == 'quit':
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, flush=True)
        break
    times = []
    for _ in range(int(word[1])):
        t = time.perf_counter()
        epoch()
        times.append(time.perf_counter() - t)
    print(*times, flush=True)
