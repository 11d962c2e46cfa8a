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
assert meta["format"] == "largemvc-model" and meta["version"] == "5", "not a model of version 5"
assert hashlib.sha256(raw.replace(meta["sha256"].encode(), b"0" * 64)).hexdigest() == meta["sha256"], "the file is damaged"
types = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "U8": "u1"}
model = {name: np.frombuffer(body[slice(*a["data_offsets"])], types[a["dtype"]]).reshape(a["shape"]) for name, a in header.items()}
config, training = json.loads(meta["config"]), json.loads(meta["training"])
hood, inputs, n = config["Neighborhood"], training["inputs"], training["samples"]
data = np.load(sys.argv[2])
views = [np.asarray(data[v["name"] if v["name"] in data else f"X{i}"], float) for i, v in enumerate(training["views"])]

def over(a, b):  # 0 where b is not above 0
    return np.divide(a, b, out=np.zeros(np.broadcast_shapes(np.shape(a), np.shape(b))), where=np.greater(b, 0))

def unit(x):
    return over(x, np.linalg.norm(x, axis=1, keepdims=True))

def standardised(kind, v):
    x = views[v]
    if kind == "sample":
        return over(x - x.mean(1, keepdims=True), x.std(1, keepdims=True))
    if kind in ("zscore", "balanced"):
        return (x - model[f"mean.{v}"]) * model[f"scale.{v}"]
    return unit(x) if kind == "unit" else x

def directions(k, x):  # rows of an input at norm 1, in its directions
    if "length" in inputs[k]:  # a further feature keeps the length of few features
        x = np.c_[x, np.full(len(x), inputs[k]["length"])]
    x, d = unit(x), x.shape[1]
    if f"directions.{k}" in model:
        return x @ model[f"directions.{k}"].T
    if f"span_weights.{k}" not in model:
        return x
    span = np.zeros((d, len(model[f"span_factors.{k}"])))
    span[np.repeat(np.arange(d), np.diff(model[f"span_columns.{k}"])), model[f"span_rows.{k}"]] = model[f"span_values.{k}"]
    if f"span_shifts.{k}" in model:
        span += np.outer(model[f"span_along.{k}"], model[f"span_shifts.{k}"])
    return x @ span @ (model[f"span_weights.{k}"] * model[f"span_factors.{k}"][:, None])

def squares(a, b):  # squared distances between rows, summed over inputs
    return sum((x * x).sum(1)[:, None] + (y * y).sum(1) - 2 * x @ y.T for x, y in zip(a, b)).clip(0)

def exact(q, members):  # links to the stored samples, by their lists of neighbours
    index, square, k = model[f"neighbors.{q}"], model[f"neighbor_distances.{q}"], hood["Neighbors"]
    count, width = (index >= 0).sum(1), index.shape[1]
    last, (i, r) = square[np.arange(n), count - 1], np.nonzero(index >= 0)
    j, weight, back = index[i, r], np.exp(-over(square[i, r], last[i])), np.zeros(len(i))
    _, here, there = np.intersect1d(i * n + j, j * n + i, return_indices=True)
    back[here] = weight[there]  # of the link the other way
    mutual = np.minimum(weight, back)
    g = np.bincount(i, mutual + weight / 20, n) + np.bincount(j, weight / 20, n)
    limit, former = np.where(count == k, last, np.inf), np.where(count == k, square[:, width - 2] if k > 1 else 0, last)
    far = squares([long[m] for m in members], [model[f"samples.{m}"] for m in members])
    links = np.zeros_like(far)
    for s, d in enumerate(far):
        if same[s] >= 0:  # it is a stored sample
            links[s, j[i == same[s]]] = (mutual + weight / 20)[i == same[s]]
            links[s, i[j == same[s]]] += weight[j == same[s]] / 20
            links[s] = over(links[s], np.sqrt(g[same[s]] * g))
            continue
        near, D = d.argsort(kind="stable")[:k], np.zeros(n)
        D[near] = np.exp(-over(d[near], d[near[-1]]))
        E = np.where(d < limit, np.exp(-over(d, np.maximum(d, former))), 0)
        B = np.minimum(D, E) + (D + E) / 20
        links[s] = over(B, np.sqrt(B.sum() * np.where(g > 0, g, B)))
    return links

def landmarks(q, members):  # links to the landmarks
    far = squares([X[m] for m in members], [model[f"landmarks.{q}.{m}"] for m in members])
    near = far.argsort(1, kind="stable")[:, :min(5, far.shape[1] - 1) + 1]
    d = np.take_along_axis(far, near, 1)
    w, links = d[:, -1:] - d[:, :-1], np.zeros_like(far)
    total = w.sum(1, keepdims=True)
    np.put_along_axis(links, near[:, :-1], np.where(total > 0, over(w, total), 1 / w.shape[1]), 1)
    return links * model[f"landmark_scale.{q}"]

X = [standardised(i["preprocess"], i["view"]) for i in inputs]
if hood["Neighbors"] > 0:
    X = [directions(k, x) for k, x in enumerate(X)]
    spaces = []  # half of the weight: every standardisation, with the first inputs of views that lack it
    for kind in dict.fromkeys(i["preprocess"] for i in inputs):
        own = [i["view"] for i in inputs if i["preprocess"] == kind]
        first = [k for k, i in enumerate(inputs) if i["view"] not in own + [j["view"] for j in inputs[:k]]]
        side = [k for k, i in enumerate(inputs) if i["preprocess"] == kind or k in first and not training.get("apart")]
        if side not in spaces:
            spaces.append(side)
    members = sum(spaces, [])
    spaces = [(0.5 / len(spaces), side) for side in spaces]
    spaces += [(0.5 * members.count(k) / len(members), [k]) for k in dict.fromkeys(members)]
    if "samples.0" in model:
        far = squares(X, [model[f"samples.{k}"].astype(float) for k in range(len(X))])
        same = np.where(far.min(1) < 1e-10, far.argmin(1), -1)
        longer = zip(X, model.get("lengths", np.zeros(len(X))))
        long = [unit(x) * np.maximum(np.linalg.norm(x, axis=1, keepdims=True), least) for x, least in longer]
        links = sum(weight * exact(q, members) for q, (weight, members) in enumerate(spaces))
    else:
        links = np.concatenate([weight ** 0.5 * landmarks(q, members) for q, (weight, members) in enumerate(spaces)], 1)
    X = [unit(0.5 ** max(hood["Steps"], 0) * x + links @ model[f"filter.{k}"]) for k, x in enumerate(X)]

def activation(module, a):
    selu = 1.0507009873554805 * np.where(a > 0, a, 1.6732632423543772 * np.expm1(np.minimum(a, 0)))
    return np.maximum(a, 0) if module["Settings"]["Activation"] == "relu" else selu

soft, noise, moving = config["Represent"], config["Noise"], config["Anchor"]["Type"] == "Procrustes"
P = lambda l, k: model[f"anchors.{l if moving else 0}.{k}"]
H, Y, t = 0, [x @ P(0, k).T for k, x in enumerate(X)], [1.0] * len(X)
for l in range(1, config["Layers"] + 1):
    theta, before, H = model["theta"][l - 1], H, 0
    for k in range(len(X)):
        Z, A = Y[k], 0
        if l > 1:
            Z, A = t[k] * Z + (1 - t[k]) * (before @ P(l - 2, k) @ P(l - 1, k).T), before @ model["R"]
        A = A + Z @ model["U"]
        H = H + (activation(soft, A - theta) - (0 if soft["Settings"]["OneSided"] else activation(soft, -A - theta))) / len(X)
    for k, x in enumerate(X):
        Y[k] = x @ P(l, k).T
        if noise["Type"] == "RowShrink":
            r, rho = np.linalg.norm(x - H @ P(l - 1, k), axis=1, keepdims=True), model["rho"][l - 1, k]
            t[k] = np.where(r > rho, 1 - over(activation(noise, r - rho), r), 1)
if training.get("kept"):  # the representation is that of the start
    S = model["start_singular_values"]
    H = sum(x @ model[f"start_directions.{k}"].T for k, x in enumerate(X))
    H = unit(np.divide(H, np.sqrt(S), out=H, where=S > 0))
    H = np.c_[H, np.zeros((len(H), config["Anchors"] - len(S)))]
H = unit(H) if config["ReadOut"] == "unit" else H
print("sample,label")
for i, label in enumerate(squares([H], [model["centroids"].astype(float)]).argmin(1)):
    print(f"{i},{label}")
