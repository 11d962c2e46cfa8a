"""Labels samples by a model that largemvc saved, with NumPy alone: python predict.py MODEL DATA.npz > labels.csv

The views are the arrays of DATA.npz that are called as in the training, else X0, X1, ...; every sample has all of them.
docs/format.md says what each step is.
"""
import hashlib, json, sys
import numpy as np

raw = open(sys.argv[1], "rb").read()
size = int.from_bytes(raw[:8], "little")
header, body = json.loads(raw[8:8 + size]), raw[8 + size:]
meta = header.pop("__metadata__")
assert meta["format"] == "largemvc-model" and meta["version"] == "4", "not a model of version 4"
assert hashlib.sha256(raw.replace(meta["sha256"].encode(), b"0" * 64)).hexdigest() == meta["sha256"], "the file is damaged"
types = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "U8": "u1"}
model = {name: np.frombuffer(body[slice(*a["data_offsets"])], types[a["dtype"]]).reshape(a["shape"]) for name, a in header.items()}
config, training = json.loads(meta["config"]), json.loads(meta["training"])
hood, inputs, n = config["Neighborhood"], training["inputs"], training["samples"]

data = np.load(sys.argv[2])
names = [v["name"] if v["name"] in data else f"X{i}" for i, v in enumerate(training["views"])]
views = [np.asarray(data[name], float) for name in names]

def unit(x):
    length = np.linalg.norm(x, axis=1, keepdims=True)
    return np.divide(x, length, out=np.zeros_like(x), where=length > 0)

def standardised(kind, v):
    x = views[v]
    if kind == "sample":
        x, deviation = x - x.mean(1, keepdims=True), x.std(1, keepdims=True)
        return np.divide(x, deviation, out=np.zeros_like(x), where=deviation > 0)
    if kind in ("zscore", "balanced"):
        return (x - model[f"mean.{v}"]) * model[f"scale.{v}"]
    return unit(x) if kind == "unit" else x

def directions(k, x):  # rows of an input at norm 1, in its directions
    kind, d = inputs[k]["preprocess"], x.shape[1]
    if d < 5 and kind in ("zscore", "balanced"):  # a further feature keeps their length
        x = np.c_[x, np.full(len(x), d ** 0.5 if kind == "zscore" else 1)]
    x = unit(x)
    if f"directions.{k}" in model:
        return x @ model[f"directions.{k}"].T
    if f"span_weights.{k}" not in model:
        return x
    weights = model[f"span_weights.{k}"] * model[f"span_factors.{k}"][:, None]
    column = np.repeat(np.arange(d), np.diff(model[f"span_columns.{k}"]))
    out = np.zeros((d, weights.shape[1]))
    np.add.at(out, column, weights[model[f"span_rows.{k}"]] * model[f"span_values.{k}"][:, None])
    if f"span_shifts.{k}" in model:
        out += np.outer(model[f"span_along.{k}"], model[f"span_shifts.{k}"] @ weights)
    return x @ out

def squares(a, b):  # squared distances between rows, summed over inputs
    return sum((x * x).sum(1)[:, None] + (y * y).sum(1) - 2 * x @ y.T for x, y in zip(a, b)).clip(0)

def close(square, scale):
    return np.exp(-np.divide(square, scale, out=np.zeros_like(square), where=scale > 0))

def exact(q, members):  # links to the stored samples, by their lists of neighbours
    index, square = model[f"neighbors.{q}"], model[f"neighbor_distances.{q}"]
    has, k = index >= 0, hood["Neighbors"]
    count, width = has.sum(1), index.shape[1]
    last = square[np.arange(n), count - 1]
    i, r = np.nonzero(has)
    key, weight = i * n + index[i, r], close(square[i, r], last[i])
    order = key.argsort()
    key, weight = key[order], weight[order]
    def stored(keys):
        at = np.searchsorted(key, keys).clip(max=len(key) - 1)
        return np.where(key[at] == keys, weight[at], 0)
    pairs = np.unique(np.r_[key, key % n * n + key // n])
    D, E = stored(pairs), stored(pairs % n * n + pairs // n)
    A = np.minimum(D, E) + (D + E) / 20
    g = np.bincount(pairs // n, A, n)
    full = count == k
    limit, former = np.where(full, last, np.inf), np.where(full, square[:, width - 2] if k > 1 else 0, last)
    links = np.zeros((len(X[0]), n))
    far = squares([long[m] for m in members], [model[f"samples.{m}"] for m in members])
    for s, d in enumerate(far):
        if same[s] >= 0:  # it is a stored sample
            mine = pairs // n == same[s]
            to = pairs[mine] % n
            links[s, to] = A[mine] / np.sqrt(g[same[s]] * g[to])
            continue
        near = d.argsort(kind="stable")[:k]
        D = np.zeros(n)
        D[near] = close(d[near], np.full(len(near), d[near[-1]]))
        E = np.where(d < limit, close(d, np.maximum(d, former)), 0)
        B = np.minimum(D, E) + (D + E) / 20
        links[s] = np.divide(B, np.sqrt(B.sum() * np.where(g > 0, g, B)), out=np.zeros(n), where=B > 0)
    return links

def landmarks(q, members):  # links to the landmarks
    far = squares([X[m] for m in members], [model[f"landmarks.{q}.{m}"] for m in members])
    s = min(5, far.shape[1] - 1)
    near = far.argsort(1, kind="stable")[:, :s + 1]
    d = np.take_along_axis(far, near, 1)
    w = d[:, -1:] - d[:, :-1]
    w = np.divide(w, w.sum(1, keepdims=True), out=np.full_like(w, 1 / s), where=w.sum(1, keepdims=True) > 0)
    links = np.zeros_like(far)
    np.put_along_axis(links, near[:, :-1], w, 1)
    return links * model[f"landmark_scale.{q}"]

X = [standardised(i["preprocess"], i["view"]) for i in inputs]
if hood["Neighbors"] > 0:
    X = [directions(k, x) for k, x in enumerate(X)]
    kinds = list(dict.fromkeys(i["preprocess"] for i in inputs))
    spaces = [(0.5 / len(kinds), [k for k, i in enumerate(inputs) if i["preprocess"] == kind]) for kind in kinds]
    spaces += [(0.5 / len(inputs), [k]) for k in range(len(inputs))]
    if "samples.0" in model:
        stored = np.concatenate([model[f"samples.{k}"] for k in range(len(X))], 1)
        far = squares([np.concatenate(X, 1)], [stored.astype(float)])
        same = np.where(far.min(1) < 1e-10, far.argmin(1), -1)
        norms = [np.linalg.norm(x, axis=1, keepdims=True) for x in X]
        long = [unit(x) * np.where(r > 0, np.maximum(r, least), 0) for x, r, least in zip(X, norms, model.get("lengths", np.zeros(len(X))))]
        links = sum(weight * exact(q, members) for q, (weight, members) in enumerate(spaces))
    else:
        links = np.concatenate([weight ** 0.5 * landmarks(q, members) for q, (weight, members) in enumerate(spaces)], 1)
    share = 0.5 ** max(hood["Steps"], 0)
    X = [unit(share * x + links @ model[f"filter.{k}"]) for k, x in enumerate(X)]

def activation(module):
    if module["Settings"]["Activation"] == "relu":
        return lambda a: np.maximum(a, 0)
    alpha, scale = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946
    return lambda a: scale * np.where(a > 0, a, alpha * np.expm1(np.minimum(a, 0)))

soft, noise, moving = config["Represent"], config["Noise"], config["Anchor"]["Type"] == "Procrustes"
sigma = activation(soft)
P = lambda l, k: model[f"anchors.{l if moving else 0}.{k}"]
H, Y, t = 0, [x @ P(0, k).T for k, x in enumerate(X)], [1.0] * len(X)
for l in range(1, config["Layers"] + 1):
    theta, before, H = model["theta"][l - 1], H, 0
    for k in range(len(X)):
        Z, A = Y[k], 0
        if l > 1:
            Z, A = t[k] * Z + (1 - t[k]) * (before @ P(l - 2, k) @ P(l - 1, k).T), before @ model["R"]
        A = A + Z @ model["U"]
        H = H + (sigma(A - theta) - (0 if soft["Settings"]["OneSided"] else sigma(-A - theta))) / len(X)
    for k, x in enumerate(X):
        Y[k] = x @ P(l, k).T
        if noise["Type"] == "RowShrink":
            r, rho = np.linalg.norm(x - H @ P(l - 1, k), axis=1, keepdims=True), model["rho"][l - 1, k]
            t[k] = np.where(r > rho, 1 - activation(noise)(r - rho) / np.maximum(r, 1e-300), 1)
H = unit(H) if config["ReadOut"] == "unit" else H
print("sample,label")
for i, label in enumerate(squares([H], [model["centroids"].astype(float)]).argmin(1)):
    print(f"{i},{label}")
