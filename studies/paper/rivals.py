"""Deep methods of others in a short program for PyTorch, written from their papers and their authors' code:

turtle  TURTLE (Gadetsky, Jiang and Brbić, ICML 2024): labels that linear classifiers of every view learn best. Views z-scored; γ 10,
        10 inner steps, a cold start of each, Adam with rate 0.001; 20 steps an epoch, so 2,000 in 100 (the authors: 6,000).
simvc   SiMVC (Trosten et al., CVPR 2021): an encoder of each view, a weighted mean, deep divergence-based clustering.
comvc   CoMVC (the same): SiMVC with the contrastive loss between views.
        Views scaled to 0 to 1; batches of 100, one run (the authors: 100 epochs, the best loss of 20 runs).

    rivals.py METHOD CLUSTERS EPOCHS SEED LABELS N VIEW WIDTH ...

LABELS (int64) and each VIEW (float32, N×WIDTH by rows) are files of raw numbers. It prints JSON: the epochs, and the one-to-one
accuracy and the purity after each.
"""

import json
import sys

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment
from torch import nn
from torch.nn import functional

EPS = 1e-9


def scores(labels, classes, clusters):
    table = np.zeros((clusters, clusters), int)
    np.add.at(table, (labels, classes), 1)
    rows, columns = linear_sum_assignment(-table)
    return table[rows, columns].sum() / len(classes), table.max(axis=1).sum() / len(classes)


def turtle(views, clusters, epochs):
    """Yields the step and the labels."""
    z = [torch.from_numpy((x - x.mean(0)) / np.where(x.std(0) > 0, x.std(0), 1)) for x in views]
    heads = [nn.utils.weight_norm(nn.Linear(x.shape[1], clusters)) for x in z]
    adam = torch.optim.Adam([p for h in heads for p in h.parameters()], lr=1e-3)
    for step in range(1, 20 * epochs + 1):
        batch = torch.randperm(len(z[0]))[:10000]
        rows = [x[batch] for x in z]
        parts = [functional.softmax(h(x), dim=1) for h, x in zip(heads, rows)]
        labels = torch.stack(parts).mean(0)
        learners = [nn.Linear(x.shape[1], clusters) for x in rows]
        inner = torch.optim.Adam([p for w in learners for p in w.parameters()], lr=1e-3)
        for _ in range(10):
            inner.zero_grad()
            sum(functional.cross_entropy(w(x), labels.detach()) for w, x in zip(learners, rows)).backward()
            inner.step()
        adam.zero_grad()
        error = sum(functional.cross_entropy(w(x).detach(), labels) for w, x in zip(learners, rows))
        entropy = -sum((p.mean(0) * torch.log(p.mean(0) + EPS)).sum() for p in parts)
        (error - 10 * entropy).backward()
        adam.step()
        if step % 100 == 0 or step == 20 * epochs:
            with torch.no_grad():
                labels = sum(functional.softmax(h(x), dim=1) for h, x in zip(heads, z)).argmax(1)
            yield step, labels.numpy()


class SiMVC(nn.Module):
    def __init__(self, widths, clusters):
        super().__init__()
        self.encoders = nn.ModuleList(
            nn.Sequential(nn.Linear(d, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU())
            for d in widths)
        self.weights = nn.Parameter(torch.full((len(widths),), 1 / len(widths)))
        self.hidden = nn.Sequential(nn.Linear(256, 100), nn.ReLU(), nn.BatchNorm1d(100))
        self.output = nn.Sequential(nn.Linear(100, clusters), nn.Softmax(dim=1))

    def forward(self, views):
        codes = [f(x) for f, x in zip(self.encoders, views)]
        fused = sum(w * c for w, c in zip(functional.softmax(self.weights, dim=0), codes))
        hidden = self.hidden(fused)
        return codes, hidden, self.output(hidden)


def distances(a, b):
    return functional.relu((a**2).sum(1, keepdim=True) - 2 * a @ b.T + (b**2).sum(1))


def divergence(a, k):
    """The divergence of Cauchy and Schwarz between the columns of a, with a kernel k of the rows."""
    c, inner = a.shape[1], a.T @ k @ a
    diagonal = torch.diagonal(inner)
    ratio = inner.clamp(min=EPS) / torch.sqrt(torch.outer(diagonal, diagonal).clamp(min=EPS**2))
    return 2 / (c * (c - 1)) * torch.triu(ratio, diagonal=1).sum()


def clustering_loss(hidden, output):
    squares = distances(hidden, hidden)
    k = torch.exp(-squares / (2 * (0.15 * squares.median()).detach().clamp(min=EPS)))
    n = len(output)
    corners = torch.exp(-distances(output, torch.eye(output.shape[1])))
    return divergence(output, k) + 2 / (n * (n - 1)) * torch.triu(output @ output.T, diagonal=1).sum() + divergence(corners, k)


def contrast(codes, weights):
    """The mean over pairs of views of the contrastive loss with temperature 0.1, times 0.1 and the least weight of a view."""
    units, losses = [functional.normalize(c) for c in codes], []
    for v, a in enumerate(units):
        for b in units[:v]:
            both = torch.cat([a, b])
            logits = (both @ both.T / 0.1).fill_diagonal_(-torch.inf)
            partners = torch.arange(len(both)).roll(len(a))
            losses.append(functional.cross_entropy(logits, partners))
    return 0.1 * functional.softmax(weights.detach(), dim=0).min() * sum(losses) / len(losses)


def divergence_based(views, clusters, epochs, contrastive):
    span = [np.where(np.ptp(x, axis=0) > 0, np.ptp(x, axis=0), 1) for x in views]
    x = [torch.from_numpy((v - v.min(0)) / s) for v, s in zip(views, span)]
    net, n = SiMVC([v.shape[1] for v in x], clusters), len(x[0])
    adam = torch.optim.Adam(net.parameters(), lr=1e-3)
    for epoch in range(1, epochs + 1):
        net.train()
        order = torch.randperm(n)
        for batch in order[: n // 100 * 100].split(100) if n >= 100 else [order]:
            codes, hidden, output = net([v[batch] for v in x])
            loss = clustering_loss(hidden, output) + (contrast(codes, net.weights) if contrastive else 0)
            adam.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 5)
            adam.step()
        net.eval()
        with torch.no_grad():
            yield epoch, net(x)[2].argmax(1).numpy()


def main():
    method, (clusters, epochs, seed) = sys.argv[1], (int(a) for a in sys.argv[2:5])
    classes, n = np.fromfile(sys.argv[5], np.int64), int(sys.argv[6])
    views = [np.fromfile(path, np.float32).reshape(n, int(width)) for path, width in zip(sys.argv[7::2], sys.argv[8::2])]
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    run = {"turtle": turtle, "simvc": lambda *x: divergence_based(*x, False), "comvc": lambda *x: divergence_based(*x, True)}
    out = {"epochs": [], "acc": [], "purity": []}
    for epoch, labels in run[method](views, clusters, epochs):
        acc, purity = scores(labels, classes, clusters)
        out["epochs"].append(epoch)
        out["acc"].append(acc)
        out["purity"].append(purity)
    json.dump(out, sys.stdout)


main()
