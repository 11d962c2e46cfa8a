"""Known labels of some samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ._views import Views, missing, texts


@dataclass
class Known:
    """Known labels of some of n samples."""

    codes: np.ndarray  # number of each sample's class, −1 where it is not known, shape (n,)
    classes: dict[str, Any]  # by their names

    def write(self, path: str, ids: np.ndarray | None) -> None:
        """Write the known labels as arrays with an entry for every sample."""
        names = np.array([*self.classes, ""])
        np.savez(path, label=names[self.codes], **({} if ids is None else {"id": texts(ids)}))


def read(y: Any, views: Views) -> Known | None:
    """Return the known labels of y; None if there are none."""
    if y is None:
        return None
    found, values = coded(ordered(y, views), views.samples)
    names = [str(v) for v in values]
    if len(set(names)) < len(names):
        raise ValueError("y: two classes have the same text; give labels of one type")
    if len(names) == 1:
        raise ValueError(f'y has 1 class, "{names[0]}"; give labels of at least two, or none')
    return Known(found, dict(zip(names, values))) if names else None


def named(classes: dict[str, Any], name: str) -> Any:
    """Return the class that the command calls name. It spells numbers in its own way: 1000 for the text 1e3."""
    return classes[name] if name in classes else {float(text): value for text, value in classes.items()}[float(name)]


def ordered(y: Any, views: Views) -> Any:
    """Return y in the order of the samples: by its index, if y and the views have one."""
    index = views.index
    if not hasattr(y, "reindex") or not hasattr(y, "index") or index is None:
        if views.longer:
            raise ValueError("the views are joined by their ids, and y has none: give y as a Series with the ids for its index")
        return y
    if [str(i) for i in y.index] == [str(i) for i in index]:
        return y
    if views.ids is None:
        raise ValueError("the index of y differs from the index of the views, which names no samples: give y.to_numpy() if row i "
                         "is the same sample in each")
    if strangers := set(y.index) - set(index):
        raise ValueError(f"y has a label for {strangers.pop()!r}, which is no sample of the views")
    return y.reindex(index)


def coded(y: Any, n: int) -> tuple[np.ndarray, list]:
    """Return the number of each sample's class, −1 where it is not known, shape (n,), and the classes."""
    mask = np.ma.getmaskarray(y) if isinstance(y, np.ma.MaskedArray) else None
    texts = isinstance(y, (list, tuple)) and any(isinstance(v, str) for v in y)  # else numpy makes a text of NaN
    y = np.asarray(y, dtype=object if texts else None)
    if mask is not None:
        y = np.where(mask, None, y.astype(object))
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim != 1 or len(y) != n:
        raise ValueError(f"y has shape {y.shape}, want one label for each of {n} samples")
    if y.dtype.kind == "f":
        unknown = np.isnan(y) | (y == -1)
        if not np.isfinite(y[~unknown]).all():
            raise ValueError("y: value is infinity (inf)")
    elif y.dtype.kind == "O":
        unknown = np.array([missing(v) or v == -1 or v == "" for v in y], dtype=bool)
    elif y.dtype.kind not in "biuSU":
        raise ValueError(f"y holds {y.dtype}, no labels: give texts or numbers, for example y.astype(str)")
    else:
        unknown = (y == "") if y.dtype.kind in "US" else (y == -1)
    found = np.full(n, -1)
    values, found[~unknown] = np.unique(y[~unknown], return_inverse=True)
    return found, [int(v) if isinstance(v, float) and v == int(v) else v for v in values.tolist()]


def rand_index(classes: np.ndarray, labels: np.ndarray) -> float:
    """Return the adjusted Rand index of two labelings, over the samples with a class."""
    labels, classes = labels[classes >= 0], classes[classes >= 0]
    if len(labels) == 0:
        raise ValueError("y has no known label")
    table = np.zeros((classes.max() + 1, labels.max() + 1))
    np.add.at(table, (classes, labels), 1)
    both, rows, columns, every = (float((x * (x - 1)).sum()) for x in (table, table.sum(1), table.sum(0), table.sum()))
    expected, most = rows * columns / max(every, 1), (rows + columns) / 2
    return 1.0 if most == expected else (both - expected) / (most - expected)
