"""Reads views as a caller gives them, and writes the files that the command reads."""

from __future__ import annotations

import os
import re
import sys
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Sequence

import numpy as np


@dataclass
class Views:
    """Views of the same n samples, row by row."""

    names: list[str]
    data: list[Any]  # arrays or CSR matrices, each of shape (n, d_v); a dense row that is wholly NaN is absent
    features: list[Any]  # names of the features of each view as the caller gave them, shape (d_v,), or None
    ids: np.ndarray | None = None  # ids of the samples, shape (n,), where the views have them
    index: np.ndarray | None = None  # the same, or an index that counts the rows or has an id twice
    present: np.ndarray | None = None  # False where a sample lacks a view, shape (n, V); None: rows of NaN say so
    single: bool = False  # whether the caller gave one matrix instead of several views
    longer: bool = False  # whether the join by ids gave samples that the first view lacks
    files: list[Path] = field(default_factory=list)  # that write has written
    sources: list[Any] = field(default_factory=list)  # the views as the caller gave them

    @property
    def samples(self) -> int:
        """Number of samples."""
        return next(x.shape[0] for x in self.data if x is not None)

    @property
    def dims(self) -> list[int]:
        """Number of features of each view."""
        return [0 if x is None else x.shape[1] for x in self.data]

    def write(self, folder: str) -> list[str]:
        """Write the views into a folder and return the flags that make the command read them."""
        flags = ["-labels", "none", "-orientation", "rows", "-missing-rows"]
        stems = [_stem(name, v) for v, name in enumerate(self.names)]
        if len({stem.lower() for stem in stems}) < len(stems):  # a file a.npz may be A.npz too
            stems = [f"view_{v}" for v in range(len(stems))]
        if self.ids is None:
            flags += ["-id", "none"]
        flags += ["-views", ",".join(stems)]
        for stem, x, features in zip(stems, self.data, self.features):
            path, arrays = Path(folder, stem + ".npz"), {}
            if features is not None:
                arrays[stem + ".features"] = texts(features)
            if self.ids is not None:
                arrays["id"] = texts(self.ids)
            if not isinstance(x, np.ndarray):  # as scipy.sparse.save_npz does
                np.savez(path, data=x.data, indices=x.indices, indptr=x.indptr, shape=x.shape, format=b"csr", **arrays)
            elif arrays:
                np.savez(path, **{stem: x}, **arrays)
            else:
                path = path.with_suffix(".npy")
                _save(path, x)
            self.files.append(path)
            flags += ["-data", str(path)]
        if self.present is not None:
            path = Path(folder, "present.npz")
            np.savez(path, present=self.present.astype(np.uint8), id=texts(self.ids))
            self.files.append(path)
            flags += ["-mask", str(path)]
        return flags

    def spoken(self, text: str) -> str:
        """Put the names of the views in place of the names of their files."""
        for name, path in zip(self.names, self.files):
            text = text.replace(f"{path.parent / 'known.npz'}: label ", "y ")
            text = text.replace(f"{path}: {path.stem} ", f'view "{name}" ').replace(str(path), f'view "{name}"')
        return text.replace("give -match-features", "give the columns of the training, in their order")

    @property
    def feature_names(self) -> np.ndarray | None:
        """Names of the features as scikit-learn knows them: of one matrix, if all are texts."""
        names = self.features[0] if self.single else None
        return names if names is not None and all(isinstance(f, str) for f in names) else None

    def not_finite(self, error: str) -> str | None:
        """Describe the value that is NaN or infinite in an error of the command; None if the error is about something else."""
        for name, path, x, features in zip(self.names, self.files, self.data, self.features):
            where = re.escape(f"{path}: {path.stem} ")
            found = re.search(where + r"(?:has NaN in|is infinite in) row (\d+), column (\d+)", error)
            if found is None:
                continue
            row, column = int(found[1]), int(found[2])
            value = x[row, column]
            if np.isfinite(value):  # it is too large for the command
                continue
            where = f"row {row}" if self.ids is None else f'row {row} (id "{self.ids[row]}")'
            what = f"column {column}" if features is None else f'column "{features[column]}"'
            return (f'view "{name}", {where}, {what}: value is {"NaN" if np.isnan(value) else "infinity (inf)"}; '
                    "fill it in, or make the whole row NaN if the sample lacks the view")
        return None


def read(views: Any, names: Sequence[str] | None = None, dims: Sequence[int] | None = None) -> Views:
    """Read what a caller gives as views: one matrix, or a list or dict of matrices.

    names and dims are the names of the views of the training and their numbers of features, both None in a training.
    """
    if isinstance(views, (str, os.PathLike)):
        raise TypeError(f"views is the path {str(views)!r}; read the file first, for example with pandas.read_csv or numpy.load")
    lead, first = None, 0  # the ids whose order the samples have, and the view that has them
    if isinstance(getattr(views, "mod", None), Mapping):  # MuData
        lead, views = list(views.obs_names), views.mod
    if isinstance(views, np.ndarray) and views.dtype == object and views.ndim == 1:
        views = list(views)
    single = hasattr(views, "tocsr") or not isinstance(views, Mapping) and not (
        isinstance(views, (list, tuple)) and any(_matrix(x) for x in views))
    if single:
        views, given = [views], ["X"]
    elif isinstance(views, Mapping):
        given = [str(name) for name in views]
        if len(set(given)) < len(given) or names is not None and set(given) != set(names):
            raise ValueError(f"the views are {given}, and " + (
                "two have one name" if names is None else f"in the training they were {list(names)}; give None for a view that "
                "all samples lack"))
        views, order = dict(zip(given, views.values())), given if names is None else list(names)
        first = next((order.index(name) for name, x in views.items() if x is not None), 0)
        views = [views[name] for name in order]
    else:
        views, given = list(views), [f"view_{v}" for v in range(len(views))]
    given = given if names is None else list(names)
    if len(views) != len(given):
        raise ValueError(f"got {len(views)} view{'s' * (len(views) != 1)}, and the training had {len(given)}: {given}")
    if all(x is None for x in views):
        raise ValueError("no view is given")
    parts = [(None, None, None) if x is None else _one(x, name) for x, name in zip(views, given)]
    out = Views(given, [p[0] for p in parts], [p[2] for p in parts], single=single, sources=views)
    ids = [p[1] for p in parts]
    if lead is None:
        lead = next((i for i in [ids[first], *ids] if i is not None), None)
    _join(out, ids, lead)
    _absent(out, dims)
    return out


def not_split() -> None:
    """Refuse a list of views whose views, not their rows, a cross-validation of scikit-learn has split."""
    frame = sys._getframe()
    while frame := frame.f_back:
        if frame.f_globals.get("__name__") == "sklearn.model_selection._validation":
            x = frame.f_locals.get("X")
            x = list(x) if isinstance(x, np.ndarray) and x.dtype == object and x.ndim == 1 else x
            if isinstance(x, (list, tuple)) and any(_matrix(v) for v in x):
                raise ValueError("scikit-learn splits the list of views in place of their rows: split the rows yourself, for train, "
                                 "test in KFold().split(views[0]): model.fit([x[train] for x in views])")


def _matrix(x: Any) -> bool:
    """Whether a part of a list is a view, not a row."""
    if getattr(x, "ndim", None) == 2 or hasattr(x, "obs_names"):
        return True
    return isinstance(x, (list, tuple)) and any(isinstance(r, (list, tuple)) or getattr(r, "ndim", 0) == 1 for r in x)


def _one(x: Any, name: str) -> tuple[Any, Any, Any]:
    """Return the values of a view, the ids of its rows and the names of its features, each None where it has none."""
    ids = features = None
    if hasattr(x, "obs_names"):  # AnnData
        ids, features, x = np.asarray(x.obs_names, dtype=object), np.asarray(x.var_names), x.X
    elif hasattr(x, "columns") and hasattr(x, "to_numpy"):
        features = np.fromiter(x.columns, object, x.shape[1])
        ids = np.fromiter(x.index, object, len(x)) if hasattr(x, "index") else None
        for column, dtype in zip(x.columns, x.dtypes):
            if getattr(dtype, "kind", "f") not in "biuf":
                raise ValueError(f'view "{name}", column "{column}": it holds {dtype}, not numbers; encode it, for example with '
                                 "pandas.get_dummies, or leave it out")
        values = x.to_numpy()
        x = x.to_numpy(dtype=np.float64, na_value=np.nan) if values.dtype == object else values
    if hasattr(x, "tocsr"):
        if x.dtype.kind == "c":
            raise ValueError(f'view "{name}": Complex data not supported')
        x = x.tocsr()
        x = x.astype(np.float32 if x.dtype.itemsize < 4 else np.float64) if x.dtype not in (np.float32, np.float64) else x
    else:
        x = _numbers(x, name)
    for axis, what in enumerate(("sample", "feature")):
        if x.shape[axis] == 0:
            raise ValueError(f'view "{name}": Found array with 0 {what}(s) (shape={x.shape}) while a minimum of 1 is required.')
    return x, ids, features


def _numbers(x: Any, name: str) -> np.ndarray:
    """Return values as an array of numbers that the command reads. None in place of a row becomes a row of NaN."""
    if isinstance(x, np.ma.MaskedArray):
        x = x.astype(np.float64).filled(np.nan)
    if isinstance(x, (list, tuple)) and any(hasattr(r, "reindex") for r in x):
        raise ValueError(f'view "{name}": its rows are Series, whose indexes may differ: give pandas.DataFrame(rows)')
    if isinstance(x, (list, tuple)):
        x = [r.astype(np.float64).filled(np.nan) if isinstance(r, np.ma.MaskedArray) else r for r in x]
    if isinstance(x, (list, tuple)) and any(r is None for r in x):
        rows = [np.asarray(r, dtype=np.float64) for r in x if r is not None]
        if not rows:
            raise ValueError(f'view "{name}": all rows are None; give None in place of the view')
        x = [np.full(rows[0].shape, np.nan) if r is None else r for r in x]
    x = x if isinstance(x, np.memmap) else np.asarray(x)
    if x.ndim != 2:
        raise ValueError(f'view "{name}": Expected 2D array, got {x.ndim}D array instead. Reshape your data: .reshape(-1, 1) '
                         "makes one feature of it, .reshape(1, -1) one sample")
    if x.dtype.kind == "c":
        raise ValueError(f'view "{name}": Complex data not supported')
    if x.dtype.kind == "O":
        x = x.astype(np.float64)
    elif x.dtype.kind not in "biuf":
        raise ValueError(f'view "{name}": it holds {x.dtype}, not numbers')
    kind = x.dtype.newbyteorder("=")
    if x.dtype.kind == "b":
        kind = np.dtype(np.uint8)
    elif x.dtype.kind == "f" and x.dtype.itemsize not in (4, 8):
        kind = np.dtype(np.float32 if x.dtype.itemsize < 4 else np.float64)
    if kind != x.dtype:
        x = x.astype(kind)
    return x if x.flags.c_contiguous or x.flags.f_contiguous else np.ascontiguousarray(x)


def _join(out: Views, ids: list[Any], lead: Any) -> None:
    """Bring the rows of all views into one order, by their ids where these differ: the order of lead, then of the views."""
    here = [v for v, x in enumerate(out.data) if x is not None]
    sizes = {out.names[v]: out.data[v].shape[0] for v in here}
    counts = [x is None or [str(i) for i in x] == [str(i) for i in range(len(x))] for x in ids]
    counted = all(counts[v] for v in here)
    for v in here:
        if ids[v] is None and not counted:
            raise ValueError(f'view "{out.names[v]}" has no ids, and other views have an index of ids; give it that index, or '
                             "give all views as arrays (frame.to_numpy()) if row i is the same sample in each")
    if counted or all(list(ids[v]) == list(lead) for v in here):  # lists compare a NaN with itself as equal
        if len(set(sizes.values())) > 1:
            raise ValueError(f"the views have different numbers of rows: {sizes}; join them by ids, or fill in rows of NaN")
        out.index = lead
        if lead is not None and len(set(lead)) == len(lead) and not np.array_equal(lead, np.arange(len(lead))):
            out.ids = lead
        return
    held = {v: set(ids[v]) for v in here}
    for v in here:
        if len(held[v]) < len(ids[v]) or any(missing(i) for i in held[v]):
            raise ValueError(f'view "{out.names[v]}": an id occurs twice in its index, or is missing')
    every: set[Any] = set()
    for v in here:
        if every and every.isdisjoint(held[v]):
            raise ValueError(f'view "{out.names[v]}" has no id in common with the views before it; do the indices mean '
                             "the same samples?")
        every |= held[v]
    position = {i: k for k, i in enumerate(dict.fromkeys(i for x in [lead, *(ids[v] for v in here)] for i in x if i in every))}
    _doubtful(out, position, held, counts)
    n = len(position)
    out.ids = out.index = np.fromiter(position, object, n)
    out.longer = n != len(lead)
    present = np.zeros((n, len(out.data)), dtype=bool)
    for v in here:
        x, at = out.data[v], np.array([position[i] for i in ids[v]])
        if isinstance(x, np.ndarray):
            rows = np.full((n, x.shape[1]), np.nan, np.float32 if x.dtype == np.float32 else np.float64)
            rows[at] = x
            present[at, v] = ~np.isnan(x).all(axis=1)
        else:
            move = type(x)((np.ones(len(at), x.dtype), (at, np.arange(len(at)))), shape=(n, len(at)))
            rows, present[at, v] = (move @ x).tocsr(), True
        out.data[v] = rows
    if not all(isinstance(out.data[v], np.ndarray) for v in here):
        out.present = present


def _doubtful(out: Views, ids: Any, held: dict[int, set], counts: list[bool]) -> None:
    """Refuse ids that some views lack and that may mean other samples: counts of rows, and two spellings of one id."""
    spelled: dict[str, Any] = {}
    for i in ids:
        lack = [v for v in held if i not in held[v]]
        for v in (v for v in lack if counts[v]):
            raise ValueError(f'view "{out.names[v]}" lacks the sample {i!r} of another view, and its index 0, 1, … may only '
                             "count its rows: give it ids of its samples, or give all views as arrays (frame.to_numpy()) if "
                             "row i is the same sample in each")
        other = spelled.setdefault(_alike(i), i) if lack else i
        if other != i and not any({i, other} <= held[v] for v in held):
            raise ValueError(f"the views spell the ids {other!r} and {i!r} differently: write the id of a sample alike in all "
                             "views; if they are two samples, rename one")


def _alike(i: Any) -> str:
    """Return an id without case, blanks around it, zeros before numbers, characters that do not show and kinds of dashes."""
    text = "".join(c for c in unicodedata.normalize("NFKC", str(i)).casefold() if unicodedata.category(c) != "Cf").strip()
    return re.sub(r"(^|\D)0+(\d)", r"\1\2", re.sub(r"[\s_.\-\u2010-\u2015\u2212]", "-", text))


def missing(value: Any) -> bool:
    """Report whether a value is None, NaN or pandas' NA."""
    return value is None or type(value).__name__ == "NAType" or value != value


def texts(values: Any) -> np.ndarray:
    """Return values as texts, shape (n,)."""
    return np.array([str(v) for v in values])


def _absent(out: Views, dims: Sequence[int] | None) -> None:
    """Fill views that all samples lack, and check the numbers of features against the training."""
    n = out.samples
    for v, x in enumerate(out.data):
        if x is None and dims is None:
            raise ValueError(f'view "{out.names[v]}" is None: a training needs samples that have it')
        if x is None:
            out.data[v] = np.full((n, dims[v]), np.nan, np.float32)
    if dims is None or out.dims == list(dims):
        return
    v = next(v for v in range(len(dims)) if out.dims[v] != dims[v])
    name = "X" if out.single else f'view "{out.names[v]}"'
    raise ValueError(f"{name} has {out.dims[v]} features, but LargeMVC is expecting {dims[v]} features as input")


def _stem(name: str, v: int) -> str:
    """Return the name of a view in files: the name itself where it can be one."""
    if re.fullmatch(r"\w[\w .-]{0,59}", name) and name[-1] not in " ." and name.lower() not in _RESERVED:
        return name
    return f"view_{v}"


# Names that the command takes for a mask or for ids, a parameter of numpy.savez, and names that Windows takes for devices.
_RESERVED = {"present", "mask", "id", "file", "con", "prn", "aux", "nul", "model", "embedding", "memberships"}


def _save(path: Path, x: np.ndarray) -> None:
    """Write an array. One that is mapped from a whole .npy file is linked, not copied."""
    if isinstance(x, np.memmap) and x.mode != "c" and str(x.filename).endswith(".npy"):
        try:
            whole = np.load(x.filename, mmap_mode="r")
            if (whole.offset, whole.shape, whole.strides, whole.dtype) == (x.offset, x.shape, x.strides, x.dtype):
                os.symlink(os.path.abspath(x.filename), path)
                return
        except (OSError, ValueError):
            pass
    np.save(path, x)
