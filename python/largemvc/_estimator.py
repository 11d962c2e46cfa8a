"""The estimator."""

from __future__ import annotations

import csv
import json
import os
import re
import warnings
import weakref
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import Any, Callable, Iterator, NamedTuple, Sequence

import numpy as np

from . import _known, _views
from ._base import ClusterMixin, Estimator, NotFittedError, TransformerMixin
from ._process import Answer, LargeMVCWarning, Process


class Structure(NamedTuple):
    """Whether the samples have clusters, compared with noise. A figure is None if it was not computed."""

    judgement: str  # "clear", "weak", "none" or "unknown"
    stability: float | None  # how well clusters of halves of the samples agree: 0 is chance, 1 equal
    stability_null: float | None  # the same of noise
    border: float | None  # density of samples between the clusters, relative to the density in them
    border_null: float | None  # the same of noise
    view_agreement: float | None  # how well clusters of single views agree: 0 is chance, 1 equal
    view_agreement_null: float | None  # the same of noise


class Assignments(NamedTuple):
    """The result of `LargeMVC.assign` for n samples. A figure that the model lacks is None."""

    labels: np.ndarray  # cluster of each sample, shape (n,)
    confidence: np.ndarray | None  # how often the label is found again: 0 is chance, 1 always, shape (n,)
    novelty: np.ndarray | None  # share of the training samples nearer to the other ones (0 to 1), shape (n,)
    memberships: np.ndarray | None  # membership in each cluster, shape (n, n_clusters); a row sums to 1
    classes: np.ndarray | None  # class by the known labels of the training, shape (n,)
    class_confidence: np.ndarray | None  # probability that the class is right (0 to 1), shape (n,)


class Report:
    """A report, one HTML page, which a notebook shows. `html` has the page."""

    def __init__(self, html: str) -> None:
        self.html = html

    def _repr_html_(self) -> str:
        return (f'<iframe srcdoc="{escape(self.html)}" style="width:100%;height:800px;border:0" '
                'sandbox="allow-scripts allow-downloads"></iframe>')


class LargeMVC(ClusterMixin, TransformerMixin, Estimator):
    """Clusters samples that several matrices (views) describe, with LargeMvC-Net.

    Views are a list or a dict of matrices with a row a sample, or one matrix. A matrix is an array, a DataFrame, a sparse
    matrix or an AnnData. A row that is None or wholly NaN means that the sample lacks the view. DataFrames are joined by their
    index: an id that a DataFrame lacks is a sample that lacks this view. Arrays beside an index of ids are an error.

    Parameters
    ----------
    n_clusters : int or "auto", default "auto"
        Number of clusters; "auto" chooses from 2 to 20, which takes the time of many fits.
    preset : {"default", "paper"}, default "default"
        "default": neighbours and two standardisations, best on average; "paper": the network of the paper alone.
    epochs : int or None, default None
        Number of optimiser steps; 0: no training. None: 30, and 100 of the preset "paper".
    random_state : int, RandomState, Generator or None, default None
        Seed of all random numbers. The same seed gives the same result on any number of cores. None draws a seed from numpy.
    n_jobs : int or None, default None
        Number of threads; None and −1: all cores.
    options : dict or None, default None
        Fields for -set and flags of `largemvc fit -h all`, such as {"Layers": 3, "outliers": "mark", "PlainReadOut": True}.
    verbose : bool or None, default None
        Whether to show progress; None: in terminals and notebooks.

    Attributes
    ----------
    labels_ : ndarray of int, shape (n,)
        Cluster of each sample; cluster 0 is the largest in the training. The order is the order of the rows, or of `sample_ids_`.
    confidence_ : ndarray of float, shape (n,), or None
        How often the label is found again: 0 is chance, 1 always.
    memberships_ : ndarray of float, shape (n, n_clusters_), or None
        Membership in each cluster; a row sums to 1.
    remoteness_, novelty_ : ndarray of float, shape (n,), or None
        Distance from other samples (1 is typical), and the share of the samples that are less remote (0 to 1).
    outliers_ : ndarray of int
        Rows of samples that fit no cluster.
    embedding_ : ndarray of float, shape (n, m)
        Representation H of the samples; m is the number of anchors.
    class_labels_, class_confidence_ : ndarray of shape (n,) or None
        Class of each sample by the known labels y, and the probability that it is right (0 to 1).
    structure_ : Structure
        Whether the samples have clusters.
    notes_ : list of str
        What the data do not support.
    n_clusters_, n_iter_, seed_ : int
        Number of clusters found, number of epochs done, seed.
    view_names_in_, view_features_in_ : list of str, list of int
        Name and number of features of each view; `n_features_in_` is their sum.
    sample_ids_ : ndarray of shape (n,) or None
        Ids of the samples, where the views have an index of ids.
    model_, summary_ : bytes, dict
        Model file (docs/format.md), and the figures of `largemvc fit -json`.
    """

    def __init__(self, n_clusters: int | str = "auto", *, preset: str = "default", epochs: int | None = None, random_state: Any = None,
                 n_jobs: int | None = None, options: dict[str, Any] | None = None, verbose: bool | None = None) -> None:
        self.n_clusters = n_clusters
        self.preset = preset
        self.epochs = epochs
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.options = options
        self.verbose = verbose

    def fit(self, views: Any, y: Any = None) -> "LargeMVC":
        """Train on views.

        Parameters
        ----------
        views : matrix, or list or dict of matrices, each of shape (n, d_v)
            Values of the samples.
        y : array of shape (n,), optional
            Known labels; −1, None or NaN where the label is not known. They do not
            change the clusters, unless options set Neighborhood.KnownWeight (docs/known.md).

        Raises
        ------
        ValueError
            Something is wrong with the data or a parameter; the text names the view, the row and the value.
        FloatingPointError
            The training diverged. The estimator has the state before that, if there is one.
        InterruptedError
            Ctrl-C stopped the training. The estimator then has the result so far, if there is one.
        """
        _views.not_split()
        read = _views.read(views)
        if _whole(self.n_clusters, read.samples + 1):
            raise ValueError(f"n_clusters is {self.n_clusters}, and there are fewer samples: n_samples={read.samples}")
        known = _known.read(y, read)
        seed = _seed(self.random_state)
        with Process() as process:
            file = {name: os.path.join(process.folder, name) for name in (
                "out.csv", "memberships.npy", "embedding.npy", "model.safetensors", "known.npz")}
            flags = self._flags()
            judged = _judged(flags)
            args = ["fit", *flags, *read.write(process.folder), "-seed", str(seed), "-json", "-quiet"]
            args += ["-out", file["out.csv"], "-embedding", file["embedding.npy"], "-save", file["model.safetensors"]]
            if judged:  # else there are no memberships, and the command refuses the flag
                args += ["-memberships", file["memberships.npy"]]
            if known is not None:
                known.write(file["known.npz"], read.ids)
                args += ["-known", file["known.npz"]]
            answer = process.run(args, self.verbose)
            if not isinstance(answer.output, dict):
                raise _error(answer, read)
            _complete(answer.output, read)
            if os.path.exists(file["model.safetensors"] + ".partial"):  # the training did not finish
                file = {name: path + ".partial" for name, path in file.items()}
            elif judged and answer.output["confidences"] is None and (
                answer.output["outliers"] is not None or "mark" not in flags
            ):
                answer.status = 0  # all that failed is that there are no memberships
            self._take(answer.output, file, read, known)
        if getattr(self, "_server", None):
            with self._process() as (_, path):
                self.save(path)
        self._training = [_weak(x) for x in read.sources]
        if answer.status != 0:
            raise _error(answer, read)
        return self

    def fit_predict(self, views: Any, y: Any = None) -> np.ndarray:
        """Train on views and return `labels_`, shape (n,)."""
        return self.fit(views, y).labels_

    def _flags(self) -> list[str]:
        """Return the flags of the parameters."""
        if self.n_clusters != "auto" and not _whole(self.n_clusters, 1):
            raise ValueError(f'n_clusters is {self.n_clusters!r}, want a number above 0 or "auto"')
        if self.epochs is not None and not _whole(self.epochs, 0):
            raise ValueError(f"epochs is {self.epochs!r}, want a number from 0 up or None")
        flags = ["-clusters", str(self.n_clusters), "-preset", str(self.preset), *self._workers()]
        if self.epochs is not None:
            flags += ["-epochs", str(self.epochs)]
        for name, value in (self.options or {}).items():
            name = str(name)
            if name[:1].isupper():
                if value is not None:
                    flags += ["-set", f"{name}={str(value).lower() if isinstance(value, bool) else value}"]
                continue
            name = name.lstrip("-").replace("_", "-")
            if name in _OURS:
                raise ValueError(f"options[{name!r}]: not allowed here: use a parameter of LargeMVC or fit, or the command")
            if value is True:
                flags.append("-" + name)
            elif value is not None and value is not False:
                flags += ["-" + name, str(value)]
        return flags

    def _workers(self) -> list[str]:
        if self.n_jobs in (None, -1):
            return []
        if not _whole(self.n_jobs, 1):
            raise ValueError(f"n_jobs is {self.n_jobs!r}, want a number above 0, −1 or None")
        return ["-workers", str(self.n_jobs)]

    def _take(self, found: dict, file: dict[str, str], read: _views.Views, known: Any) -> None:
        """Set the attributes from the result of a fit."""
        self.labels_ = np.array(found.pop("labels"), dtype=np.int64)
        self.confidence_ = _floats(found.pop("confidences"))
        self.embedding_ = np.load(file["embedding.npy"])
        self.memberships_ = np.load(file["memberships.npy"]) if os.path.exists(file["memberships.npy"]) else None
        far = self.remoteness_ = _column(file["out.csv"], "remoteness")
        self.novelty_ = None if far is None else np.searchsorted(np.sort(far), far) / len(far)
        self.outliers_ = np.array(found.pop("outliers") or [], dtype=np.int64)
        self.structure_ = Structure(*(found[key] for key in (
            "structure", "stability", "stability_null", "border", "border_null", "view_agreement",
            "view_agreement_null")))
        self.notes_ = found["notes"] or []
        self.n_clusters_, self.n_iter_, self.seed_ = found["clusters_found"], found["epochs"], found["seed"]
        self.view_names_in_, self.view_features_in_, self.n_features_in_ = read.names, read.dims, sum(read.dims)
        if read.feature_names is not None:
            self.feature_names_in_ = read.feature_names
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.sample_ids_ = read.ids
        classes = found.get("known") or {"labels": None, "confidence": None}
        self._classes = None if known is None else known.classes
        self.class_labels_ = self._class_values(classes.pop("labels"))
        self.class_confidence_ = _floats(classes.pop("confidence"))
        self.model_ = Path(file["model.safetensors"]).read_bytes()
        self.summary_ = found
        for text in [*(found["reading"]["warnings"] or []), *self.notes_]:
            warnings.warn(read.spoken(text), LargeMVCWarning, stacklevel=3)

    def _class_values(self, names: list[str] | None) -> np.ndarray | None:
        """Return classes as the caller named them."""
        if names is None:
            return None
        if self._classes is None:
            return np.array(names)
        return np.array([_known.named(self._classes, name) for name in names])

    def predict(self, views: Any) -> np.ndarray:
        """Return the cluster of each sample.

        Parameters
        ----------
        views : matrix, or list or dict of matrices, each of shape (n, d_v)
            The views of the training, in the same order or by the same names; None for a view that all samples lack.

        Returns
        -------
        labels : ndarray of int, shape (n,)
        """
        return np.array(self._ask(views)[0]["labels"], dtype=np.int64)

    def assign(self, views: Any) -> Assignments:
        """Return the cluster, confidence, novelty, memberships and class of each sample of views, as for `predict`."""
        files = {"out": lambda path: _column(path, "novelty")}
        if "confidence" in _header(self._fitted()):
            files["memberships"] = np.load
        found, read = self._ask(views, **files)
        return Assignments(np.array(found["labels"], dtype=np.int64), _floats(found["confidences"]), read["out"],
                           read.get("memberships"), self._class_values(found["class"]), _floats(found["class_confidence"]))

    def predict_class(self, views: Any) -> np.ndarray:
        """Return the class of each sample by the known labels of the training, shape (n,)."""
        found = self._class_values(self._ask(views)[0]["class"])
        if found is None:
            raise ValueError("the model has no classes: give fit known labels y")
        return found

    def transform(self, views: Any) -> np.ndarray:
        """Return the representation H of each sample, shape (n, m)."""
        return self._ask(views, embedding=np.load)[1]["embedding"]

    def score(self, views: Any, y: Any = None) -> float:
        """Return how good the labels of samples are.

        With y, shape (n,), it is the adjusted Rand index of clusters and classes (at most 1), over the samples with a class
        (not −1, None or NaN). Without y it is the mean confidence (0 to 1).
        """
        self._fitted()
        read = _views.read(views, self.view_names_in_, self.view_features_in_)
        if y is not None:
            y = _known.coded(_known.ordered(y, read), read.samples)[0]
        found = self._ask(read)[0]
        if y is not None:
            return _known.rand_index(y, np.array(found["labels"]))
        if found["confidences"] is None:
            raise ValueError("the model has no confidence: its structure was not judged; give y")
        return float(np.mean(found["confidences"]))

    def report(self, path: str | os.PathLike | None = None, views: Any = None, *, title: str | None = None) -> Report:
        """Return a report on samples, and write it to path if that is given.

        It has a summary, a map, sizes, doubtful samples and a description of each cluster. By default views are the views of
        `fit`, if the caller still has them.
        """
        self._fitted()
        if views is None:
            views = [ref() for ref in getattr(self, "_training", [lambda: None])]
            if any(x is None for x in views):
                raise ValueError("the views of the training are no longer there: give them again, report(path, views)")
            views = views if len(views) > 1 else views[0]
        flags = ["-title", title] if title else []

        def load(page: str) -> str:
            return _without_folder(Path(page).read_text(encoding="utf-8"), os.path.dirname(page))

        html = self._ask(views, "report", flags, out=load)[1]["out"]
        if path is not None:
            Path(path).write_text(html, encoding="utf-8")
        return Report(html)

    @contextmanager
    def serve(self) -> Iterator["LargeMVC"]:
        """Keep a process with the model, so that each `predict` in a block `with model.serve():` takes milliseconds.

        An exception during a request, such as a TimeoutError of a signal handler, ends the process. The next request starts
        another one.
        """
        with self._process(new=True) as (self._server, _):
            try:
                yield self
            finally:
                self._server = None

    @contextmanager
    def _process(self, new: bool = False) -> Iterator[tuple[Process, str]]:
        """Return a process, and the path of the model, from `serve` if it is in use."""
        server = getattr(self, "_server", None)
        if server is not None and not new:
            with server.lock:
                server.restart(lambda: self.save(_model_path(server)))
                yield server, _model_path(server)
            return
        with Process() as process:
            self.save(_model_path(process))
            yield process, _model_path(process)

    def _ask(self, views: Any, command: str = "predict", flags: Sequence[str] = (), **files: Callable) -> tuple[dict, dict]:
        """Run a command on samples by the model. files has a function for each flag of a file, which reads that file."""
        self._fitted()
        read = views
        if not isinstance(views, _views.Views):
            read = _views.read(views, self.view_names_in_, self.view_features_in_)
        self._same_features(read)
        with self._process() as (process, model):
            out = "html" if command == "report" else "csv"
            paths = {flag: os.path.join(process.folder, f"new-{flag}.{out if flag == 'out' else 'npy'}") for flag in files}
            try:
                args = [command, "-model", model, *read.write(process.folder), *flags]
                for flag, path in paths.items():
                    args += ["-" + flag, path]
                if command == "predict":
                    args += ["-json", "-quiet", *self._workers()]
                answer = process.run(args, self.verbose)
                if answer.status != 0:
                    raise _error(answer, read)
                if command == "predict":
                    _complete(answer.output, read)
                    about = answer.output["reading"]
                    known = tuple(f"the features of {name} have" for name, x in zip(read.names, read.sources) if x is None)
                    for text in [*(about["warnings"] or []), *(about["notes"] or [] if not read.single else [])]:
                        if not text.startswith(known):  # a view that is not given
                            warnings.warn(read.spoken(text), LargeMVCWarning, stacklevel=4)
                return answer.output, {flag: load(paths[flag]) for flag, load in files.items()}
            finally:
                for path in [*paths.values(), *read.files]:
                    if os.path.lexists(path):
                        os.remove(path)

    def _same_features(self, read: _views.Views) -> None:
        """Compare the names of features with the training, as scikit-learn does."""
        there, here = getattr(self, "feature_names_in_", None), read.feature_names
        name = type(self).__name__
        if not read.single or there is None and here is None:
            return
        if there is None:
            warnings.warn(f"X has feature names, but {name} was fitted without feature names", stacklevel=4)
        elif here is None:
            warnings.warn(f"X does not have valid feature names, but {name} was fitted with feature names", stacklevel=4)
        elif list(there) != list(here):
            text = "The feature names should match those that were passed during fit.\n"
            for what, names in (("unseen at fit time", set(here) - set(there)),
                                ("seen at fit time, yet now missing", set(there) - set(here))):
                if names:
                    text += f"Feature names {what}:\n" + "".join(f"- {x}\n" for x in sorted(names)[:5])
            if set(here) == set(there):
                text += "Feature names must be in the same order as they were in fit.\n"
            raise ValueError(text)

    def _fitted(self) -> bytes:
        """Return the model file."""
        if not hasattr(self, "model_"):
            raise NotFittedError(f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments "
                             "before using this estimator.")
        return self.model_

    def save(self, path: str | os.PathLike) -> None:
        """Write the model file, which the command and Go read too."""
        Path(path).write_bytes(self._fitted())

    @classmethod
    def load(cls, path: str | os.PathLike) -> "LargeMVC":
        """Return an estimator with the model of a file. It predicts; it has no results of training samples."""
        data = Path(path).read_bytes()
        meta = _header(data)["__metadata__"]
        config, training = json.loads(meta["config"]), json.loads(meta["training"])
        model = cls(config["Clusters"], epochs=max(config["Epochs"], 0), random_state=config["Seed"])
        model.model_, model._classes = data, None
        model.view_names_in_ = [v["name"] or f"view_{i}" for i, v in enumerate(training["views"])]
        model.view_features_in_ = [v["features"] for v in training["views"]]
        model.n_features_in_ = sum(model.view_features_in_)
        if len(model.view_names_in_) == 1 and (at := _header(data).get("features.0")):
            start, end = (8 + int.from_bytes(data[:8], "little") + offset for offset in at["data_offsets"])
            model.feature_names_in_ = np.array(json.loads(data[start:end]), dtype=object)
        return model

    def __getstate__(self) -> dict:
        # A pickle has the model file, but neither the process of serve nor the views of the training.
        return {k: v for k, v in self.__dict__.items() if k not in ("_server", "_training")}

    def _more_tags(self) -> dict:
        return {"X_types": ["2darray", "sparse"]}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


# Flags that the package sets itself, or that mean files of the data.
_OURS = set("""clusters preset epochs seed workers data labels id views view leave-out one-hot mask missing-rows triplets
    orientation header decimal out memberships save report embedding trust json quiet known from-disk scratch
    mpi checkpoint resume overwrite grace h help""".split())


def _error(answer: Answer, read: _views.Views) -> Exception:
    """Return the exception of a command that failed."""
    if answer.cancelled:
        return InterruptedError(answer.error[max(0, answer.error.find("cancelled")):] or "cancelled when it had finished")
    if re.search(r"(^|[:;] )the (training diverged in epoch|descent diverged in iteration) \d", answer.error):
        return FloatingPointError(answer.error)
    return ValueError(read.not_finite(answer.error) or read.spoken(answer.error))


def _complete(found: dict, read: _views.Views) -> None:
    """Refuse an answer of the command that has labels of other samples."""
    count = len(found["labels"])
    if count != read.samples:
        raise RuntimeError(f"the command gave {count} labels for {read.samples} samples; try again, and report it if it stays so")


def _judged(flags: list[str]) -> bool:
    """Whether a fit with these flags judges the structure."""
    given = dict(zip(flags, flags[1:]))
    if "-config" in given and not any(x.startswith("NoStructure=") for x in flags):
        try:
            return json.loads(Path(given["-config"]).read_text(encoding="utf-8")).get("NoStructure") is not True
        except (OSError, ValueError, AttributeError):
            return True  # the command says what is wrong with the file
    return "NoStructure=true" not in flags


def _model_path(process: Process) -> str:
    """Return the path of the model in the folder of a process."""
    return os.path.join(process.folder, "model.safetensors")


def _without_folder(page: str, folder: str) -> str:
    """Return a page without the path of the folder of temporary files: of its files it shows the names alone."""
    forms = set()
    for path in (os.path.join(folder, ""), os.path.join(Path(folder), "")):
        for text in (path, " ".join(path.split())):  # a page joins blanks
            in_json = json.dumps(text, ensure_ascii=False)[1:-1].translate(_IN_JSON)
            forms |= {text, in_json, text.translate(_IN_HTML), in_json.translate(_IN_HTML)}
    for form in sorted(forms, key=len, reverse=True):  # one may be in another
        page = page.replace(form, "")
    return page


# How Go escapes texts.
_IN_HTML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&#34;", "'": "&#39;", "+": "&#43;"})
_IN_JSON = str.maketrans({x: f"\\u{ord(x):04x}" for x in "&<>"})


def _seed(state: Any) -> int:
    """Return the seed of a random state."""
    state = np.random.mtrand._rand if state is None else state
    draw = getattr(state, "integers", None) or getattr(state, "randint", None)
    if draw is not None:
        return int(draw((1 << 31) - 1))
    if not _whole(state, 0):
        raise ValueError(f"random_state is {state!r}, want a number from 0 up, a RandomState, a Generator or None")
    return int(state)


def _whole(x: Any, least: int) -> bool:
    return isinstance(x, (int, np.integer)) and not isinstance(x, bool) and x >= least


def _floats(x: list | None) -> np.ndarray | None:
    return None if x is None else np.array(x, dtype=np.float64)


def _column(path: str, name: str) -> np.ndarray | None:
    """Return a column of numbers of a CSV file; None if it has no such column."""
    with open(path, encoding="utf-8", newline="") as file:
        rows = csv.reader(file)
        names = next(rows)
        at = names.index(name) if name in names else None
        return None if at is None else np.array([row[at] for row in rows], dtype=np.float64)


def _header(model: bytes) -> dict:
    """Return the header of a model file."""
    return json.loads(model[8:8 + int.from_bytes(model[:8], "little")])


def _weak(x: Any) -> Any:
    """Return a function that returns x as long as the caller keeps it, else None."""
    try:
        return weakref.ref(x)
    except TypeError:
        return lambda: None
