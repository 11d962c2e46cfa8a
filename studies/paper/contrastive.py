"""Two deep methods of others in a short program that needs numpy and PyTorch alone (1.13 or later, on a CPU or with CUDA):

mflvc  MFLVC (Xu et al., CVPR 2022; github.com/SubmissionsIn/MFLVC at e13ded7, with its defaults): autoencoders, contrast of
       features and of cluster assignments, then assignments that k-means of the features corrects. 200 + 50 + 50 epochs, batches
       of 256, or of all samples where there are fewer; there a set of fewer has no batch.
cvcl   CVCL (Chen et al., ICCV 2023; github.com/chenjie20/CVCL at e38a3e7, with its settings for MSRCv1): autoencoders, contrast of
       cluster assignments. 200 + 400 epochs, batches of 35. Labels are of all samples; there each call draws whole batches of them.

    contrastive.py [--device DEVICE] [--epochs PRETRAINING,...] METHOD SEED FILE.npz

FILE.npz has the classes y and the views X0, X1, …, which are scaled to 0 to 1. The program prints JSON: the epochs after the
pretraining, and the one-to-one accuracy, the mutual information (NMI) and the purity after each. The loss of all pairs of views
is computed at once; it equals the sum of the authors' functions.
"""

import argparse
import json
import math
import time

import numpy as np
import torch
from torch import nn
from torch.nn import functional


def assignment(cost):
    """For each row of a square matrix its column, of the least sum (Hungarian method)."""
    n = len(cost)
    u, v, match = np.zeros(n + 1), np.zeros(n + 1), np.zeros(n + 1, int)
    for i in range(1, n + 1):
        match[0], column = i, 0
        least, way, used = np.full(n + 1, np.inf), np.zeros(n + 1, int), np.zeros(n + 1, bool)
        while match[column] != 0:
            used[column], row = True, match[column]
            reduced = np.append(np.inf, cost[row - 1] - u[row] - v[1:])
            better = ~used & (reduced < least)
            least[better], way[better] = reduced[better], column
            following = int(np.where(used, np.inf, least).argmin())
            delta = least[following]
            u[match[used]] += delta
            v[used] -= delta
            least[~used] -= delta
            column = following
        while column != 0:
            match[column] = match[way[column]]
            column = way[column]
    out = np.empty(n, int)
    out[match[1:] - 1] = np.arange(n)
    return out


def entropy(p):
    p = p[p > 0]
    return -(p * np.log(p)).sum()


def scores(labels, classes, clusters):
    table = np.zeros((clusters, clusters))
    np.add.at(table, (labels, classes), 1)
    n = len(classes)
    rows, columns = entropy(table.sum(1) / n), entropy(table.sum(0) / n)
    mutual = rows + columns - entropy(table / n)
    mean = (rows + columns) / 2
    accuracy = table[np.arange(clusters), assignment(-table)].sum() / n
    return accuracy, mutual / mean if mean > 0 else 1.0, table.max(axis=1).sum() / n


def kmeans(x, clusters, rng, starts=100, iterations=300):
    """The labels of the best of some starts by greedy k-means++, as scikit-learn has them."""
    best, labels, norms = np.inf, None, (x**2).sum(1)
    tolerance = 1e-4 * x.var(0).mean()

    def squares(c):
        return np.maximum(norms[:, None] - 2 * x @ c.T + (c**2).sum(1), 0)

    for _ in range(starts):
        centres = x[rng.integers(len(x))][None]
        near = squares(centres)[:, 0]
        while len(centres) < clusters:
            places = np.searchsorted(near.cumsum(), rng.random(2 + int(math.log(clusters))) * near.sum())
            tries = np.minimum(near[:, None], squares(x[np.minimum(places, len(x) - 1)]))
            chosen = tries.sum(0).argmin()
            centres, near = np.vstack([centres, x[min(places[chosen], len(x) - 1)]]), tries[:, chosen]
        for _ in range(iterations):
            found = squares(centres)
            nearest = found.argmin(1)
            moved = np.stack([x[nearest == k].mean(0) if (nearest == k).any() else x[found.min(1).argmax()]
                              for k in range(clusters)])
            shift, centres = ((moved - centres) ** 2).sum(), moved
            if shift <= tolerance:
                break
        found = squares(centres)
        if found.min(1).sum() < best:
            best, labels = found.min(1).sum(), found.argmin(1)
    return labels


def pairs(views):
    return torch.triu_indices(views, views, offset=1)


def contrast(x, temperature):
    """The sum over pairs of views of the authors' loss between the rows of x (views × rows × width): each row has its partner in
    the other view for the class, against all other rows of both."""
    first, second = pairs(len(x)).to(x.device)
    both = torch.cat([x[first], x[second]], dim=1)
    rows = both.shape[1]
    logits = both @ both.transpose(1, 2) / temperature
    logits = logits.masked_fill(torch.eye(rows, dtype=torch.bool, device=x.device), -math.inf)
    partner = torch.arange(rows, device=x.device).roll(rows // 2).repeat(len(first))
    return functional.cross_entropy(logits.flatten(0, 1), partner, reduction="sum") / rows


def sizes(q):
    """The negative entropies of the mean assignments of each view, summed over the pairs of views."""
    p = q.sum(1)
    p = p / p.sum(1, keepdim=True)
    return (len(q) - 1) * (p * torch.log(p)).sum()


def batches(n, size, device):
    return torch.randperm(n)[: n // size * size].to(device).split(size)


def layers(*widths):
    out = []
    for a, b in zip(widths, widths[1:]):
        out += [nn.Linear(a, b), nn.ReLU()]
    return out


class MFLVC(nn.Module):
    def __init__(self, widths, clusters):
        super().__init__()
        self.encoders = nn.ModuleList(nn.Sequential(*layers(d, 500, 500, 2000, 512)[:-1]) for d in widths)
        self.decoders = nn.ModuleList(nn.Sequential(*layers(512, 2000, 500, 500, d)[:-1]) for d in widths)
        self.features = nn.Linear(512, 128)
        self.labels = nn.Sequential(nn.Linear(512, clusters), nn.Softmax(dim=1))

    def forward(self, x):
        codes = [f(v) for f, v in zip(self.encoders, x)]
        h = torch.stack([functional.normalize(self.features(z), dim=1) for z in codes])
        return h, torch.stack([self.labels(z) for z in codes]), [f(z) for f, z in zip(self.decoders, codes)]


def reconstruction(x, back):
    return sum(functional.mse_loss(v, r) for v, r in zip(x, back))


def step(adam, loss):
    adam.zero_grad()
    loss.backward()
    adam.step()


def mflvc_loss(h, q, clusters):
    # contrast of features at 0.5, of the columns of assignments by cosines at 1, and the sizes of clusters
    columns = functional.normalize(q.transpose(1, 2), dim=2)
    count = pairs(len(q)).shape[1]
    return contrast(h, 0.5) + contrast(columns, 1) + sizes(q) + 2 * count * math.log(clusters)


def mflvc(x, clusters, seed, epochs):
    """Yields the epoch and the labels."""
    n, device = len(x[0]), x[0].device
    net = MFLVC([v.shape[1] for v in x], clusters).to(device)
    adam = torch.optim.Adam(net.parameters(), lr=0.0003)
    pretraining, contrasting, tuning = epochs or (200, 50, 50)
    for epoch in range(pretraining + contrasting):
        for batch in batches(n, min(256, n), device):
            rows = [v[batch] for v in x]
            h, q, back = net(rows)
            loss = reconstruction(rows, back)
            step(adam, loss if epoch < pretraining else loss + mflvc_loss(h, q, clusters))
        if epoch >= pretraining:
            with torch.no_grad():
                yield epoch + 1, net(x)[1].mean(0).argmax(1)
    with torch.no_grad():
        h = net(x)[0].cpu().numpy()
    rng = np.random.default_rng(seed)
    found = [kmeans((v - v.min(0)) / np.where(np.ptp(v, 0) > 0, np.ptp(v, 0), 1), clusters, rng) for v in h]
    for epoch in range(pretraining + contrasting, pretraining + contrasting + tuning):
        q = net(x)[1]
        loss = 0
        for assigned, labels in zip(q, found):
            table = np.zeros((clusters, clusters))
            np.add.at(table, (labels, assigned.argmax(1).cpu().numpy()), 1)
            target = torch.from_numpy(assignment(-table)[labels]).to(device)
            loss = loss + functional.cross_entropy(assigned, target)  # of probabilities, as the authors have it
        step(adam, loss)
        with torch.no_grad():
            yield epoch + 1, net(x)[1].mean(0).argmax(1)


class CVCL(nn.Module):
    def __init__(self, widths, clusters):
        super().__init__()
        self.encoders = nn.ModuleList(nn.Sequential(*layers(d, 256, 512, 2000)) for d in widths)
        self.decoders = nn.ModuleList(nn.Sequential(*layers(2000, 512, 256, d)) for d in widths)
        self.labels = nn.Sequential(nn.Linear(2000, 1024), nn.Linear(1024, clusters), nn.Softmax(dim=1))

    def forward(self, x):
        codes = [f(v) for f, v in zip(self.encoders, x)]
        return torch.stack([self.labels(z) for z in codes]), [f(z) for f, z in zip(self.decoders, codes)]


def cvcl_loss(q):
    weight = q**2 / q.sum(1, keepdim=True)
    target = weight / weight.sum(2, keepdim=True)
    return 0.01 * contrast(target.transpose(1, 2), 1) + 0.005 * sizes(target)


def cvcl(x, clusters, _, epochs):
    """Yields the epoch and the labels."""
    n, device = len(x[0]), x[0].device
    net = CVCL([v.shape[1] for v in x], clusters).to(device)
    adam = torch.optim.Adam(net.parameters(), lr=0.0005)
    pretraining, contrasting = epochs or (200, 400)
    for epoch in range(pretraining + contrasting):
        for batch in batches(n, min(35, n), device):
            rows = [v[batch] for v in x]
            q, back = net(rows)
            loss = reconstruction(rows, back)
            step(adam, loss if epoch < pretraining else loss + cvcl_loss(q))
        if epoch >= pretraining:
            with torch.no_grad():
                yield epoch + 1, net(x)[0].mean(0).argmax(1)


METHODS = {"mflvc": mflvc, "cvcl": cvcl}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--epochs", type=lambda text: tuple(map(int, text.split(","))))
    parser.add_argument("method", choices=METHODS)
    parser.add_argument("seed", type=int)
    parser.add_argument("file")
    args = parser.parse_args()
    data, x = np.load(args.file), []
    _, classes = np.unique(data["y"], return_inverse=True)
    while f"X{len(x)}" in data:
        v = data[f"X{len(x)}"].astype(np.float32)
        x.append(torch.from_numpy((v - v.min(0)) / np.where(np.ptp(v, 0) > 0, np.ptp(v, 0), 1)).to(args.device))
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    out = {"epochs": [], "acc": [], "nmi": [], "purity": []}
    began = time.time()
    for epoch, labels in METHODS[args.method](x, classes.max() + 1, args.seed, args.epochs):
        found = (epoch, *scores(labels.cpu().numpy(), classes, classes.max() + 1))
        for name, value in zip(("epochs", "acc", "nmi", "purity"), found):
            out[name].append(value)
    out.update(seconds=time.time() - began, device=args.device, torch=torch.__version__)
    print(json.dumps(out))


if __name__ == "__main__":
    main()
