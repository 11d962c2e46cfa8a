"""Labels samples by a model of the default or the paper preset, with NumPy alone: python predict.py MODEL DATA.npz > labels.csv

The views are the arrays of DATA.npz that are called as in the training, else X0, X1, ...; no sample lacks one, here or there.
docs/format.md says what each step is, and what other models need. Exact neighbours take n² numbers for n stored samples.
"""
import json, sys
import numpy as np

raw, data = open(sys.argv[1], "rb").read(), np.load(sys.argv[2])
size = int.from_bytes(raw[:8], "little")
header, body = json.loads(raw[8:8 + size]), raw[8 + size:]
meta, types = header.pop("__metadata__"), {"F64": "<f8", "F32": "<f4", "I64": "<i8", "U8": "u1"}
model = {k: np.frombuffer(body[slice(*a["data_offsets"])], types[a["dtype"]]).reshape(a["shape"]) for k, a in header.items()}
config, training = json.loads(meta["config"]), json.loads(meta["training"])
hood, inputs, n = config["Neighborhood"], training["inputs"], training["samples"]
refused = {
    "it is of another version of the format": meta["version"] != "1",
    "it has other modules than these presets": any(s in meta["config"] for s in (
        '"selu"', '"OneSided":true', '"NoNoise"', '"FixedAnchors"')) or "learned" in training,
    "it was trained on sparse views of very many features": any(k.startswith("span_") for k in model),
    "it was trained on samples that lack views": any(k.startswith(("present.", "filled", "last_filter")) for k in model),
}
for why in [why for why, applies in refused.items() if applies]:
    sys.exit(f"predict.py cannot label by {sys.argv[1]}: {why}. 'largemvc predict' can.")

np.seterr(all="ignore")
def over(a, b): return np.where(np.greater(b, 0), np.divide(a, b), 0)
def unit(x): return over(x, np.linalg.norm(x, axis=1, keepdims=True))
def squares(a, b): return sum((x * x).sum(1)[:, None] + (y * y).sum(1) - 2 * x @ y.T for x, y in zip(a, b)).clip(0)

def prepared(k, view, preprocess, length=0, **_):  # the rows of an input; with neighbours at norm 1, in its directions
    name = training["views"][view]["name"]
    x = np.asarray(data[name if name in data else f"X{view}"], float)
    if not np.isfinite(x).all():
        sys.exit(f"predict.py: {sys.argv[2]} lacks values of view {view}. 'largemvc predict -missing-rows' takes absent rows.")
    mean, scale = model.get(f"mean.{view}"), model.get(f"scale.{view}")
    kept = model.get(f"constant.{view}", np.zeros(x.shape[1])) == 0  # features that were constant in the training are left out
    part = x[:, kept]
    if preprocess == "sample":
        x = np.zeros_like(x)
        x[:, kept] = over(part - part.mean(1, keepdims=True), part.std(1, keepdims=True))
    else:
        x = (x - mean) * scale
    if hood["Neighbors"] > 0:
        x = unit(np.c_[x, np.full(len(x), length)] if length else x)  # few features keep their length by one more
    return x @ model[f"directions.{k}"].T if f"directions.{k}" in model else x

def nearest(d, count, weigh):  # what the smallest distances of each row weigh, in their places, and zeros elsewhere
    at = d.argsort(1, kind="stable")[:, :count]
    out = np.zeros_like(d)
    np.put_along_axis(out, at, weigh(np.take_along_axis(d, at, 1)), 1)
    return out

def exact(q, side, K):  # links to the stored samples, in a space of some inputs
    index, square, stored = model[f"neighbors.{q}"], model[f"neighbor_distances.{q}"], np.zeros((n, n))
    both, fall = lambda d, e: np.minimum(d, e) + (d + e) / 20, lambda d: np.exp(-over(d, d[:, -1:]))
    np.put_along_axis(stored, index, fall(square), 1)
    stored = both(stored, stored.T)
    g, last = stored.sum(1), square[:, -1]
    limit, least = (last, np.c_[0 * last, square][:, -2]) if index.shape[1] == K else (np.inf, last)
    d = squares([long[k] for k in side], [model[f"samples.{k}"] for k in side])
    A = both(nearest(d, K, fall), np.where(d < limit, np.exp(-over(d, np.maximum(d, least))), 0))
    A = over(A, np.sqrt(A.sum(1, keepdims=True) * np.where(g > 0, g, A)))
    return np.where(same[:, None] < 0, A, over(stored, np.sqrt(np.outer(g, g)))[same])

def landmarks(q, side):  # links to the landmarks of a space
    d = squares([X[k] for k in side], [model[f"landmarks.{q}.{k}"] for k in side])
    w = nearest(d, 6, lambda d: np.where(d[:, :1] < d[:, -1:], d[:, -1:] - d, [1.0] * (d.shape[1] - 1) + [0]))
    return over(w, w.sum(1, keepdims=True)) * model[f"landmark_scale.{q}"]

X = [prepared(k, **i) for k, i in enumerate(inputs)]
if hood["Neighbors"] > 0:  # smoothed along links in spaces of several inputs and of one
    of, kinds = [i["view"] for i in inputs], dict.fromkeys(i["preprocess"] for i in inputs)
    sides = {tuple(k for k, i in enumerate(inputs) if i["preprocess"] == p or of.count(i["view"]) == 1): p for p in kinds}
    members = sum(sides, ())
    spaces = [(0.5 / len(sides), side) for side in sides]
    spaces += [(0.5 * members.count(k) / len(members), [k]) for k in dict.fromkeys(members)]
    if "samples.0" in model:
        d = squares(X, [model[f"samples.{k}"].astype(float) for k in range(len(X))])
        same = np.where(d.min(1) < 1e-10, d.argmin(1), -1)  # the stored sample that it is equal to
        long = [unit(x) * np.maximum(np.linalg.norm(x, axis=1, keepdims=True), least) for x, least in zip(X, model["lengths"])]
        links = sum(weight * exact(q, side, hood["Neighbors"]) for q, (weight, side) in enumerate(spaces))
    else:
        links = np.hstack([weight ** 0.5 * landmarks(q, side) for q, (weight, side) in enumerate(spaces)])
    X = [unit(0.5 ** max(hood["Steps"], 0) * x + links @ model[f"filter.{k}"]) for k, x in enumerate(X)]

if training.get("kept"):  # the clusters are those of the start
    S = model["start_singular_values"]
    H = unit(sum(x @ model[f"start_directions.{k}"].T for k, x in enumerate(X)) / np.sqrt(np.where(S > 0, S, 1)))
    H = np.c_[H, np.zeros((len(H), config["Anchors"] - len(S)))]
else:  # the layers of the network
    relu, P = lambda a: np.maximum(a, 0), lambda l, k: model[f"anchors.{l}.{k}"]
    H, clean = np.zeros((len(X[0]), config["Anchors"])), list(X)
    for l, theta in enumerate(model["theta"]):
        A = [H @ model["R"] + z @ P(l, k).T @ model["U"] for k, z in enumerate(clean)]
        H = sum(relu(a - theta) - relu(-a - theta) for a in A) / len(X)
        for k, x in enumerate(X):  # as much of a row as is trusted, and else what H makes of it
            r = np.linalg.norm(x - H @ P(l, k), axis=1, keepdims=True)
            clean[k] = x + over(relu(r - model["rho"][l, k]), r) * (H @ P(l, k) - x)
H = unit(H) if not config["PlainReadOut"] else H
print("sample,label", *(f"{i},{label}" for i, label in enumerate(squares([H], [model["centroids"]]).argmin(1))), sep="\n")
