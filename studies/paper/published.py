"""The network and the protocol of the code that the authors of LargeMvC-Net published (github.com/dushide/LargeMvC-Net:
model_with_e.py, main_with_e.py, util/), in a short program for PyTorch. It differs from the paper: U and S are linear layers with
random weights, the noise step shrinks a whole view by (‖E‖ − 1/θ)/‖E‖, no gradient flows through D, and θ is not trained.

    published.py CLUSTERS EPOCHS SEED LABELS N VIEW WIDTH ...

LABELS (int64) and each VIEW (float32, N×WIDTH by rows) are files of raw numbers. It prints JSON: for the start and for each epoch
the mean over ten k-means with one start of the one-to-one accuracy and of the purity, which the authors' code calls ACC.
"""

import json
import sys

import numpy as np
import torch
from scipy.linalg import svd
from scipy.optimize import linear_sum_assignment
from scipy.sparse.linalg import svds
from sklearn.cluster import KMeans
from sklearn.preprocessing import StandardScaler
from torch.nn.functional import selu

LAYERS, THETA_H, THETA_E = 2, 0.01, 0.001


def scores(z, classes, clusters):
    """Accuracy and purity of the columns of z, m×n."""
    found = []
    for seed in range(10):
        labels = KMeans(clusters, n_init=1, max_iter=500, random_state=seed).fit_predict(np.nan_to_num(z.T, nan=1e-6))
        table = np.zeros((clusters, clusters), int)
        np.add.at(table, (labels, classes), 1)
        rows, columns = linear_sum_assignment(-table)
        found.append((table[rows, columns].sum() / len(classes), table.max(axis=1).sum() / len(classes)))
    return np.mean(found, axis=0).tolist()


def polar(c):
    """The matrix with orthonormal columns that is nearest to c."""
    u, _, vt = svd(c, full_matrices=False)
    return (u @ vt).astype(np.float32)


class Network(torch.nn.Module):
    """z, d and e are the start: m×n, and for each view d_v×m and d_v×n."""

    def __init__(self, z, d, e):
        super().__init__()
        self.start = z, d, e
        self.u, self.s = torch.nn.Linear(len(z), len(z)), torch.nn.Linear(len(z), len(z))

    def forward(self, views):
        z, d, e = self.start
        for _ in range(LAYERS):
            a = sum(self.u(z.T).T + self.s((p.T @ (x - q)).T).T for x, p, q in zip(views, d, e)) / len(views)
            z = selu(a - THETA_H) - selu(-a - THETA_H)
            d = [torch.from_numpy(polar(((x - q) @ z.T).detach().numpy())) for x, q in zip(views, e)]
            e = [shrunk(x - p @ z) for x, p in zip(views, d)]
        return z, d


def shrunk(x):
    norm = torch.norm(x)
    return (norm - 1 / THETA_E) * x / norm if norm > THETA_E else torch.zeros_like(x)


def main():
    clusters, epochs, seed = (int(a) for a in sys.argv[1:4])
    classes, n = np.fromfile(sys.argv[4], np.int64), int(sys.argv[5])
    views = [np.fromfile(path, np.float32).reshape(n, int(width)) for path, width in zip(sys.argv[6::2], sys.argv[7::2])]
    views = [StandardScaler().fit_transform(x.T) for x in views]
    torch.manual_seed(seed)
    np.random.seed(seed)
    u, _, _ = svds(np.vstack(views).T.astype(np.float64), k=clusters, v0=np.ones(min(n, sum(map(len, views)))))
    labels = KMeans(clusters, max_iter=100, n_init=10, random_state=12).fit_predict(u)
    z = np.zeros((clusters, n), np.float32)
    z[labels, np.arange(n)] = 1
    d = [polar(x @ z.T) for x in views]
    e = [x - p @ z for x, p in zip(views, d)]
    x = [torch.from_numpy(a.astype(np.float32)) for a in views]
    net = Network(torch.from_numpy(z), [torch.from_numpy(p) for p in d], [torch.from_numpy(q.astype(np.float32)) for q in e])
    adam = torch.optim.Adam(net.parameters(), lr=0.05, betas=(0.90, 0.92), eps=0.01, weight_decay=0.15)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(adam, factor=0.3, patience=15, min_lr=1e-8)
    seen = [scores(z, classes, clusters)]
    for _ in range(epochs):
        adam.zero_grad()
        found, anchors = net(x)
        loss = sum(torch.nn.functional.mse_loss(p @ found, a) for p, a in zip(anchors, x))
        loss.backward()
        adam.step()
        plateau.step(loss)
        seen.append(scores(found.detach().numpy(), classes, clusters))
    json.dump({"acc": [s[0] for s in seen], "purity": [s[1] for s in seen], "torch": torch.__version__}, sys.stdout)


main()
