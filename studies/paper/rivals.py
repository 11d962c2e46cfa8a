"""Deep methods of others in a short program for PyTorch, compared with the code of their authors:

turtle  TURTLE (Gadetsky, Jiang and Brbić, ICML 2024; github.com/mlbio-epfl/turtle): labels that linear classifiers of every view learn
        best. Views z-scored; γ 10, 10 inner steps, a cold start of each, Adam with rate 0.001. Here 20 steps an epoch, so 2,000 in
        100; there 6,000.
simvc   SiMVC (Trosten et al., CVPR 2021; github.com/DanielTrosten/mvc, with its defaults): an encoder of each view, a weighted mean,
        deep divergence-based clustering. Views scaled to 0 to 1, batches of 100. Here one run; there the best of 20 by a term of the
        loss.
comvc   CoMVC (the same): SiMVC with the contrastive loss between views.

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
        for layer in self.modules():
            if isinstance(layer, nn.Linear):
                nn.init.kaiming_normal_(layer.weight)

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


def contrast(codes, weights, output):
    """The contrastive loss with temperature 0.1, times 0.1 and the least weight of a view: for each row of a view and each other
    view, the row of the same sample against rows of other clusters, a quarter as many as there are."""
    n, total = len(output), len(codes) * len(output)
    units = functional.normalize(torch.cat(codes))
    logits, clusters = units @ units.T / 0.1, output.detach().argmax(1).repeat(len(codes))
    rows = torch.arange(total)
    partners = torch.cat([rows.roll(-n * shift) for shift in range(1, len(codes))])
    rows = rows.repeat(len(codes) - 1)
    others = (clusters[rows][:, None] != clusters[None]).float()
    if (others.sum(1) == 0).any():
        return 0  # one cluster: the authors' code stops here
    negatives = torch.multinomial(others, total // 4, replacement=True)
    chosen = torch.cat([logits[rows, partners][:, None], logits[rows[:, None], negatives]], dim=1)
    loss = functional.cross_entropy(chosen, torch.zeros(len(rows), dtype=torch.long))
    return 0.1 * functional.softmax(weights.detach(), dim=0).min() * loss


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
            loss = clustering_loss(hidden, output) + (contrast(codes, net.weights, output) if contrastive else 0)
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
