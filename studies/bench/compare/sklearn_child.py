"""k-means of scikit-learn on concatenated views: each column z-scored, or each row of each view at norm 1.

usage: python3 sklearn_child.py DATA.npz CLUSTERS KMeans|MiniBatchKMeans 'z-scored'|'unit rows' SEED   (needs numpy and scikit-learn)
Prints the seconds of standardising and clustering, the peak memory of the process in MiB, and then every label.
"""
import resource
import sys
import time

import numpy as np
from sklearn import cluster
from sklearn.preprocessing import StandardScaler, normalize

path, clusters, name, rows, seed = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4], int(sys.argv[5])
with np.load(path) as z:
    keys = sorted((k for k in z.files if k.startswith('X')), key=lambda k: int(k[1:]))
    views = [np.ascontiguousarray(z[k].astype(np.float32)) for k in keys]
began = time.perf_counter()
if rows == 'z-scored':
    x = StandardScaler(copy=False).fit_transform(np.hstack(views))
else:
    x = np.hstack([normalize(v, copy=False) for v in views])
labels = getattr(cluster, name)(clusters, n_init=10, random_state=seed).fit_predict(x)
print(time.perf_counter() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
print(*labels)
