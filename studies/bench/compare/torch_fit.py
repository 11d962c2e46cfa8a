"""A fit of the literal network in PyTorch, from the anchors that this library's paper preset starts from.

usage: python3 torch_fit.py DATA.npz ANCHORS.npz LAYERS EPOCHS LIMIT REPRESENTATION.npy
(paper_model.py must lie beside it; needs numpy and torch)
Prints the seconds of all epochs, those that were done, and the peak memory of the process in MiB. If the first epochs say that
all of them would take longer than LIMIT seconds, only those are done and the seconds are by proportion. Else the representation
is written.
"""
import os
import resource
import sys
import time

import numpy as np
import torch

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import paper_model as pm

FIRST = 3  # epochs from which the time of all is told; the first of them warms up

torch.set_num_threads(os.cpu_count())
path, anchors, layers, epochs, limit, out = sys.argv[1:]
layers, epochs, limit = int(layers), int(epochs), float(limit)
X, P = [], []
with np.load(path) as z, np.load(anchors) as start:
    for v, k in enumerate(sorted((k for k in z.files if k.startswith('X')), key=lambda k: int(k[1:]))):
        x = torch.from_numpy(np.ascontiguousarray(z[k].astype(np.float32)))
        sd, mean = torch.std_mean(x, dim=1, keepdim=True, unbiased=False)
        x.sub_(mean).div_(torch.where(sd > 0, sd, torch.ones_like(sd)))
        X.append(x)
        P.append(torch.from_numpy(start['P%d' % v].astype(np.float32)))
        del x
m = P[0].shape[0]
p = pm.init_params(layers, len(X), m, dtype=torch.float32)
par = [p[k].requires_grad_() for k in ('theta', 'rho', 'R', 'U')]
opt = torch.optim.Adam(par, 1e-2)
E = [torch.zeros_like(x) for x in X]
H = torch.zeros(X[0].shape[0], m)

times = []
while len(times) < epochs:
    if len(times) == FIRST and np.mean(times[1:]) * epochs > limit:
        break
    began = time.perf_counter()
    opt.zero_grad()
    h, _, q = pm.forward(X, H, E, P, *par)
    pm.loss_fn(X, h, q).backward()
    opt.step()
    times.append(time.perf_counter() - began)
seconds = sum(times)
if len(times) == epochs:
    with torch.no_grad():
        h, _, _ = pm.forward(X, H, E, P, *par)
    np.save(out, h.numpy().astype(np.float64))
else:
    seconds = np.mean(times[1:]) * epochs
print(seconds, len(times), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
