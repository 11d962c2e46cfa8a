"""Tests of the package. LARGEMVC_COMMAND names the command; each test wants an empty folder of temporary files at its end."""

import json
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import warnings
from functools import partial
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError as SklearnNotFitted
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import largemvc
from largemvc import LargeMVC, choose
from largemvc._estimator import _without_folder
from largemvc._process import Process, binary

N = 90


def made_up(seed=0):
    """Return two views of three kinds of samples, and the kinds."""
    rng = np.random.default_rng(seed)
    kinds = np.arange(N) % 3
    a = rng.normal(size=(N, 8)) + 4 * np.eye(3, 8)[kinds]
    b = rng.normal(size=(N, 5)) + 4 * np.eye(3, 5)[kinds]
    return a, b, kinds


class Case(unittest.TestCase):
    def setUp(self):
        self.work = tempfile.TemporaryDirectory()
        self.addCleanup(self.work.cleanup)
        self.tmp = Path(self.work.name, "tmp")
        self.tmp.mkdir()
        before = {name: os.environ.get(name) for name in ("TMPDIR", "TMP")}
        os.environ.update(TMPDIR=str(self.tmp), TMP=str(self.tmp))

        def restore():
            for name, value in before.items():
                os.environ.pop(name) if value is None else os.environ.__setitem__(name, value)
            self.assertEqual(list(self.tmp.iterdir()), [], "files are left in the folder of temporary files")

        self.addCleanup(restore)
        warnings.simplefilter("ignore", largemvc.LargeMVCWarning)
        self.a, self.b, self.kinds = made_up()

    def model(self, views=None, y=None, **settings):
        return LargeMVC(3, **{"random_state": 0, "epochs": 20, **settings}).fit([self.a, self.b] if views is None else views, y)

    def run_python(self, code):
        """Start a program that has the views and the package."""
        # A shell ignores SIGINT in what it runs in the background, and Python then leaves it ignored.
        start = ("import signal, sys, time; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
                 "sys.path[:0] = %r\nfrom test_largemvc import made_up\nfrom largemvc import *\na, b, kinds = made_up()\n") % [str(Path(largemvc.__file__).parent.parent), str(Path(__file__).parent)]
        child = subprocess.Popen([sys.executable, "-c", start + code], stdout=subprocess.PIPE, text=True, start_new_session=True)
        self.addCleanup(child.stdout.close)
        self.addCleanup(child.kill)
        return child

    def wait_for(self, what, found, seconds=30):
        end = time.monotonic() + seconds
        while not found():
            self.assertLess(time.monotonic(), end, what)
            time.sleep(0.02)


class Fit(Case):
    def test_same_as_the_command(self):
        folder = Path(self.work.name)
        np.save(folder / "view_0.npy", self.a.astype(np.float32))
        np.save(folder / "view_1.npy", self.b)
        for options in ({}, {"outliers": "mark", "Layers": 3, "PlainReadOut": True}):
            flags = [] if not options else ["-outliers", "mark", "-set", "Layers=3", "-set", "PlainReadOut=true"]
            args = ["-seed", "5", "-epochs", "20", "-json", "-quiet", "-save", folder / "model", *flags]
            out = subprocess.run([binary(), "fit", "-data", folder / "view_0.npy", "-data", folder / "view_1.npy", "-clusters",
                                  "3", *args], stdout=subprocess.PIPE, check=True).stdout
            model = self.model([self.a.astype(np.float32), self.b], random_state=5, options=options)
            found = json.loads(out)
            self.assertEqual(model.labels_.tolist(), found["labels"])
            self.assertEqual(model.confidence_.tolist(), found["confidences"])
            self.assertEqual(model.model_, (folder / "model").read_bytes())
            self.assertEqual(model.structure_.stability, found["stability"])

    def test_results(self):
        m = self.model()
        self.assertEqual(m.score([self.a, self.b], self.kinds), 1)
        self.assertGreater(m.score([self.a, self.b]), 0.8)
        self.assertEqual((m.view_names_in_, m.view_features_in_, m.n_features_in_, m.n_clusters_, m.n_iter_, m.seed_),
                         (["view_0", "view_1"], [8, 5], 13, 3, 20, 0))
        np.testing.assert_allclose(m.memberships_.sum(1), 1)
        self.assertEqual((m.embedding_.shape, m.memberships_.shape, m.remoteness_.shape), ((N, 3), (N, 3), (N,)))
        self.assertTrue((m.novelty_ >= 0).all() and (m.novelty_ <= 1).all() and np.ptp(m.novelty_) > 0.9)
        self.assertEqual(m.structure_.judgement, "clear")
        np.testing.assert_array_equal(m.labels_, LargeMVC(3, random_state=0, epochs=20).fit_predict([self.a, self.b]))
        few = LargeMVC(2, epochs=0).fit(self.a[:6])  # too few samples to judge
        self.assertIsNone(few.confidence_)
        self.assertIsNone(few.assign(self.a[:6]).memberships)
        with self.assertRaisesRegex((ValueError, RuntimeError), "did not look for outliers"):
            self.model(options={"outliers": "mark"}).fit(self.a[:9])
        with self.assertRaisesRegex(ValueError, "has no confidence"):
            few.score(self.a)

    def test_without_structure(self):
        want = self.model().labels_
        settings = Path(self.work.name, "settings.json")
        settings.write_text('{"NoStructure": true}', encoding="utf-8")
        for options in ({"NoStructure": True}, {"config": settings}):
            m = self.model(options=options)
            np.testing.assert_array_equal(m.labels_, want)
            self.assertEqual((m.confidence_, m.memberships_, m.novelty_, m.structure_.judgement, m.outliers_.tolist()),
                             (None, None, None, "unknown", []))
            found = m.assign([self.a, self.b])
            self.assertEqual((found.labels.tolist(), found.confidence, found.memberships), (want.tolist(), None, None))
        self.assertIsNotNone(self.model(options={"config": settings, "NoStructure": False}).memberships_)
        with self.assertRaisesRegex(ValueError, "-outliers mark cannot be given"):
            self.model(options={"NoStructure": True, "outliers": "mark"})

    def test_as_many_labels_as_samples(self):
        m, run = self.model(), Process.run

        def short(*args):
            answer = run(*args)
            answer.output["labels"].pop()
            return answer

        with mock.patch.object(Process, "run", short):
            for ask in (m.predict, m.fit):
                with self.assertRaisesRegex(RuntimeError, "89 labels for 90 samples"):
                    ask([self.a, self.b])

    def test_random_state(self):
        np.random.seed(3)
        first = self.model(random_state=None).seed_
        np.random.seed(3)
        self.assertEqual(self.model(random_state=None).seed_, first)
        self.assertEqual(self.model(random_state=np.random.default_rng(1)).seed_, self.model(
            random_state=np.random.default_rng(1)).seed_)
        self.assertNotEqual(self.model(random_state=np.random.RandomState(1)).seed_, first)

    def test_known_labels(self):
        for names, unknown in (([0, 1, 2], -1), (["x, y", 'q"', "ä"], None), ([1.5, 2.5, 3.5], np.nan)):
            y = np.array([names[k] if i < 30 else unknown for i, k in enumerate(self.kinds)],
                         dtype=object if unknown is None else None)
            m = self.model(y=y)
            want = [names[k] for k in self.kinds]
            self.assertEqual(m.class_labels_.tolist(), want)
            self.assertEqual(m.predict_class([self.a, self.b]).tolist(), want)
            np.testing.assert_array_equal(m.labels_, self.model().labels_)
            frames = [pd.DataFrame(x, index=[f"s{i}" for i in range(N)]) for x in (self.a, self.b)]
            m = self.model([frames[0], frames[1][::-1]], pd.Series(y, frames[0].index)[::-1])
            self.assertEqual(m.class_labels_.tolist(), want)
        self.assertIsNone(self.model(y=np.full(N, -1)).class_labels_)
        for y, want in ((np.zeros(N), "1 class"), (np.zeros(3), "one label for each of 90"), (np.full(N, np.inf), "infinity")):
            with self.assertRaisesRegex(ValueError, want):
                self.model(y=y)
        with self.assertRaisesRegex(ValueError, "no classes"):
            self.model().predict_class([self.a, self.b])

    def test_a_path_is_no_view(self):
        for path in ("a.csv", Path("a.csv")):
            with self.assertRaisesRegex(TypeError, "views is the path 'a.csv'; read the file first"):
                self.model(path)

    def test_labels_are_joined_or_refused(self):
        ids = pd.Index([f"s{i}" for i in range(N)])
        frames = [pd.DataFrame(x, index=ids) for x in (self.a, self.b)]
        y, shuffled = pd.Series(self.kinds, ids), np.random.default_rng(0).permutation(N)
        m = self.model(frames)
        self.assertEqual(m.score(frames, y.iloc[shuffled]), m.score(frames, y))
        for labels in (np.ma.masked_array(self.kinds, np.arange(N) >= 60),
                       [np.nan if i >= 60 else "abc"[k] for i, k in enumerate(self.kinds)],
                       pd.array([None if i >= 60 else k for i, k in enumerate(self.kinds)], dtype="Int64")):
            self.assertEqual(self.model(y=labels).summary_["known"]["known"], 60)
        self.assertEqual(set(self.model(y=np.array(["1e3", "07", "2"])[self.kinds]).class_labels_), {"1e3", "07", "2"})
        self.assertEqual(self.model({"a": self.a, "A": self.b}).view_features_in_, [8, 5])
        np.testing.assert_array_equal(self.model({"a": self.a, "A": self.b}).labels_, self.model().labels_)
        counted = [x.reset_index(drop=True) for x in frames]
        for names in (["none", "mild", "severe"], ["#1", " 1,5 ", "NA"]):
            y = pd.Series(np.array(names)[self.kinds], ids)
            self.assertEqual(self.model(frames, y[::-1]).class_labels_.tolist(), y.tolist())
        for views, labels, want in (
                (frames, y.reset_index(drop=True), "a label for .*, which is no sample"), (counted, y, "the index of y differs"),
                (counted, y.reset_index(drop=True).iloc[shuffled], "the index of y differs"),
                (counted, pd.to_datetime(["2025", "2026", "2027"])[self.kinds], "y holds datetime64")):
            with self.assertRaisesRegex(ValueError, want):
                self.model(views, labels)


class Forms(Case):
    def test_forms_of_the_same_views(self):
        want = self.model().labels_
        path = Path(self.work.name, "a.npy")
        np.save(path, self.a)
        names = [f"s{i}" for i in range(N)]
        frame = pd.DataFrame(self.a, index=names, columns=list("abcdefgh"))
        forms = {
            "dict": {"a": self.a, "y": self.b}, "tuple": (self.a, self.b), "lists": [self.a.tolist(), self.b.tolist()],
            "rows": [list(self.a), self.b], "object array": [self.a.astype(object), self.b],
            "columns first": [np.asfortranarray(self.a), self.b], "strided": [np.repeat(self.a, 2, axis=1)[:, ::2], self.b],
            "big-endian": [self.a.astype(">f8"), self.b], "longdouble": [self.a.astype(np.longdouble), self.b],
            "mapped": [np.load(path, mmap_mode="r"), self.b], "part of a map": [np.load(path, mmap_mode="r")[:], self.b],
            "masked": [np.ma.masked_array(self.a), self.b], "frames": [frame, pd.DataFrame(self.b, index=names)],
            "counted frame and array": [pd.DataFrame(self.a), self.b], "joined": [frame, pd.DataFrame(self.b, index=names)[::-1]],
            "nullable": [pd.DataFrame(self.a).astype("Float64"), self.b], "reserved names": {"mask": self.a, "id": self.b},
            "names that files cannot have": {"a/b,c": self.a, "": self.b}, "names of parameters": {"file": frame, "b": pd.DataFrame(self.b, index=names)},
            "numbers for names": {1: self.a, 0: self.b}, "names of classes": {"label": frame, "mask": pd.DataFrame(self.b, names)},
        }
        for form, views in forms.items():
            with self.subTest(form):
                m = self.model(views)
                self.assertEqual([view["features"] for view in m.summary_["reading"]["views"]], [8, 5])
                np.testing.assert_array_equal(m.labels_, want)
                np.testing.assert_array_equal(m.predict(views), want)
        self.assertEqual(self.model(forms["frames"]).sample_ids_.tolist(), names)
        for index in (pd.MultiIndex.from_arrays([np.arange(N) // 9, np.arange(N) % 9]), pd.date_range("2026-01-01", periods=N)):
            keyed = [pd.DataFrame(self.a, index=index), pd.DataFrame(self.b, index=index)[::-1]]
            m = self.model(keyed, pd.Series(self.kinds, index=index)[::-1])
            np.testing.assert_array_equal(m.labels_, want)
            self.assertEqual((m.class_labels_.tolist(), list(m.sample_ids_)), (self.kinds.tolist(), list(index)))
        reverse = np.load(path, mmap_mode="r")[::-1]
        want = self.model([self.a[::-1], self.b[::-1]]).labels_
        np.testing.assert_array_equal(self.model([reverse, self.b[::-1]]).labels_, want)

    def test_sparse(self):
        rows = sp.random(N, 200, 0.02, random_state=0).toarray() + 0
        rows[np.arange(N), self.kinds] = 3
        want = self.model([rows, self.b]).labels_
        for form in ("csr", "csc", "coo", "lil", "dok"):
            x = sp.csr_matrix(rows).asformat(form)
            m = self.model({"words": x, "b": self.b})
            np.testing.assert_array_equal(m.labels_, want)
            np.testing.assert_array_equal(m.predict({"b": self.b, "words": x}), want)
        x = sp.csr_matrix(rows)
        x.data[100] = np.nan
        row = np.searchsorted(x.indptr, 100, side="right") - 1
        with self.assertRaisesRegex(ValueError, f'view "view_0", row {row}, column {x.indices[100]}: value is NaN'):
            self.model([x, self.b])

    def test_absent_views(self):
        gap = self.b.copy()
        gap[[3, 50]] = np.nan
        m = self.model([self.a, gap])
        rows = [None if i in (3, 50) else x for i, x in enumerate(self.b)]
        np.testing.assert_array_equal(self.model([self.a, rows]).embedding_, m.embedding_)
        names = np.array([f"s{i}" for i in range(N)])
        some = pd.DataFrame(np.delete(self.b, [3, 50], 0), index=np.delete(names, [3, 50]))
        frames = {"a": pd.DataFrame(self.a, index=names), "b": some}
        joined = self.model(frames)
        np.testing.assert_array_equal(joined.embedding_, m.embedding_)
        self.assertEqual(joined.sample_ids_.tolist(), names.tolist())
        other = self.model({"b": frames["b"], "a": frames["a"]})
        self.assertEqual(other.sample_ids_.tolist(), [*np.delete(names, [3, 50]), "s3", "s50"])
        alone = m.predict([self.a, None])
        np.testing.assert_array_equal(alone, m.predict([self.a, np.full((N, 5), np.nan)]))
        self.assertGreater((alone == m.labels_).mean(), 0.9)

    def test_annotated(self):
        class AnnData:  # as much of it as the package uses
            def __init__(self, x, names):
                self.X, self.obs_names, self.var_names = x, pd.Index(names), pd.Index([f"g{j}" for j in range(x.shape[1])])

        class MuData:
            def __init__(self, obs_names, **mod):
                self.obs_names, self.mod = obs_names, mod

        names = np.array([f"s{i}" for i in range(N)])
        rna = AnnData(sp.csr_matrix(self.a), names)
        protein = AnnData(self.b[5:], names[5:])
        m = self.model(MuData(names, rna=rna, protein=protein))
        gap = self.b.copy()
        gap[:5] = np.nan
        np.testing.assert_array_equal(m.labels_, self.model([self.a, gap]).labels_)
        self.assertEqual(m.view_names_in_, ["rna", "protein"])
        np.testing.assert_array_equal(self.model(rna).labels_, self.model(self.a).labels_)
        order = np.random.default_rng(0).permutation(N)  # the samples of MuData have an order of their own
        other = self.model(MuData(names[order], rna=rna, protein=protein), self.kinds[order])
        self.assertEqual(other.sample_ids_.tolist(), names[order].tolist())
        self.assertEqual(other.class_labels_.tolist(), self.kinds[order].tolist())
        turned = AnnData(rna.X[:, ::-1], names)
        turned.var_names = rna.var_names[::-1]
        with self.assertRaisesRegex(ValueError, "rna has the features of the training in another order: give"):
            m.predict({"rna": turned, "protein": protein})

    def test_errors(self):
        bad = self.b.copy()
        bad[7, 2] = np.nan
        inf = pd.DataFrame(self.b + 0, columns=list("pqrst"), index=[f"s{i}" for i in range(N)])
        inf.iloc[4, 1] = np.inf
        texts = pd.DataFrame({"kind": ["x"] * N})
        twice = pd.DataFrame(self.a, index=["s0"] * N)
        for views, want in (
            ([self.a, bad], 'view "view_1", row 7, column 2: value is NaN'),
            ({"a": inf[["p"]].fillna(0), "pq": inf}, r'view "pq", row 4 \(id "s4"\), column "q": value is infinity'),
            ([self.a, texts], 'view "view_1", column "kind": it holds object, not numbers'),
            ([self.a, self.b[:5]], "different numbers of rows"), ([self.a, None], "a training needs samples"),
            ([pd.DataFrame(self.a), pd.DataFrame(self.b[5:])], "different numbers of rows"),  # an index that only counts
            ([self.a, np.zeros((N, 2, 2))], "Expected 2D array, got 3D"), ([self.a, [["x"]] * N], "not numbers"),
            ([twice, inf], "occurs twice"), ([pd.DataFrame(self.a), inf], "no id in common"),
            ([pd.DataFrame(self.a), pd.DataFrame(self.b)[::-1], self.a], "has no ids"), ({"a": None}, "no view is given"),
            ([pd.DataFrame(self.b, index=twice.index), self.a], 'view "view_1" has no ids, and other views have an index'),
            ([inf, inf.set_axis([f"{'sS'[i % 2]}{i}" for i in range(N)])], "spell the ids 's1' and 'S1' differently"),
            ([inf, inf.set_axis([f"s{i:0>3}" for i in range(N - 1)] + ["s89"])], "spell the ids 's0' and 's000' differently"),
            ([pd.DataFrame(self.a), pd.DataFrame(self.b, index=range(5, N + 5))], "its index 0, 1, … may only count its rows"),
            ([inf.set_axis([None, *inf.index[1:]]), inf], "or is missing"), ({1: self.a, "1": self.b}, "two have one name"),
            ([[*np.ma.masked_equal(self.a, self.a[3, 2])], self.b], 'view "view_0", row 3, column 2: value is NaN'),
            ([[row for _, row in inf.iterrows()], self.b], "its rows are Series"),
            ([self.a, [None] * N], "all rows are None"), (np.full((N, 2), np.nan), "lacks every view"),
        ):
            with self.subTest(want), self.assertRaisesRegex(ValueError, want):
                self.model(views)
        for settings, want in (({"n_clusters": 0}, "n_clusters is 0"), ({"epochs": -1}, "epochs"), ({"n_jobs": 0}, "n_jobs"),
                               ({"random_state": -1}, "random_state"), ({"options": {"out": "x"}}, "not allowed here"),
                               ({"options": {"Layrs": 3}}, "did you mean Layers"), ({"n_clusters": 91}, "n_samples=90"),
                               ({"preset": "best"}, "must be default, paper")):
            with self.subTest(want), self.assertRaisesRegex(ValueError, want):
                LargeMVC(3).set_params(**settings).fit([self.a, self.b])
        m = self.model({"a": self.a, "b": self.b})
        for views, want in (([self.a], "got 1 view, and"), ({"a": self.a}, "in the training they were"),
                            ([self.a, self.a], 'view "b" has 8 features'), ([self.a, bad], 'view "b", row 7, column 2')):
            with self.subTest(want), self.assertRaisesRegex(ValueError, want):
                m.predict(views)
        frames = {name: pd.DataFrame(x, index=inf.index) for name, x in (("a", self.a), ("b", self.b))}
        np.testing.assert_array_equal(m.predict({"b": frames["b"][::-1], "a": frames["a"]}), m.labels_[::-1])
        self.assertIs(largemvc.NotFittedError, SklearnNotFitted)
        with self.assertRaises(SklearnNotFitted):
            LargeMVC(3).predict(self.a)
        os.environ["LARGEMVC_COMMAND"], before = "/no/such/command", os.environ.get("LARGEMVC_COMMAND")
        try:
            with self.assertRaises(FileNotFoundError):
                self.model()
        finally:
            os.environ.pop("LARGEMVC_COMMAND") if before is None else os.environ.update(LARGEMVC_COMMAND=before)

    def test_errors_name_their_cause(self):
        """An error about another thing keeps its text, if the data have NaN too."""
        hole, empty, inf, large = (self.b.copy() for _ in range(4))
        hole[7, 2], empty[:, 1], inf[3, 1], large[3, 1] = np.nan, np.nan, np.inf, 1e300
        impute = {"impute": "mean"}
        for views, options, want in (
            ({"a": self.a, "divergence": hole}, None, 'view "divergence", row 7, column 2: value is NaN'),
            ([self.a, empty], impute, 'view "view_1" has only NaN in column 1'),
            ([hole, inf], impute, 'view "view_1", row 3, column 1: value is infinity'),
            ([hole, large], impute, 'view "view_1" is infinite in row 3, column 1 .*; the largest float32 is'),
        ):
            with self.subTest(want), self.assertRaisesRegex(ValueError, want):
                self.model(views, options=options)
        with self.assertRaisesRegex(FloatingPointError, "the training diverged in epoch"):
            self.model(options={"Optimizer.LearningRate": 1e30})


class Models(Case):
    def test_pickle_clone_and_files(self):
        m = self.model()
        path = Path(self.work.name, "model.safetensors")
        m.save(path)
        for other in (pickle.loads(pickle.dumps(m)), LargeMVC.load(path)):
            np.testing.assert_array_equal(other.predict([self.a, self.b]), m.predict([self.a, self.b]))
            np.testing.assert_array_equal(other.transform([self.a, self.b]), m.transform([self.a, self.b]))
        with self.assertRaises(largemvc.NotFittedError):
            clone(m).predict([self.a, self.b])
        pipe = make_pipeline(StandardScaler(), LargeMVC(3, epochs=5, random_state=0))
        self.assertEqual(pipe.fit(self.a).predict(self.a).shape, (N,))

    def test_assign(self):
        m = self.model()
        far = m.assign([self.a[:5] + 100, self.b[:5] - 100])
        near = m.assign([self.a, self.b])
        self.assertGreater(far.novelty.min(), np.median(near.novelty))
        np.testing.assert_allclose(near.memberships.sum(1), 1)
        np.testing.assert_array_equal(near.labels, m.predict([self.a, self.b]))
        self.assertIsNone(near.classes)

    def test_serve(self):
        m = self.model()
        want = m.predict([self.a, self.b])
        with m.serve() as same:
            self.assertIs(same, m)
            for i in range(5):
                self.assertEqual(m.predict([self.a[i:i + 1], self.b[i:i + 1]]), want[i])
            with self.assertRaisesRegex(ValueError, "got 1 view, and"):
                m.predict([self.a])
            np.testing.assert_array_equal(m.assign([self.a, self.b]).labels, want)
            self.assertEqual(sorted(x.name for x in next(self.tmp.iterdir()).iterdir()), ["model.safetensors"])
            pickle.loads(pickle.dumps(m)).predict([self.a, self.b])
            np.testing.assert_array_equal(m.set_params(n_clusters=2).fit([self.a, self.b]).labels_, m.predict([self.a, self.b]))
            want = m.labels_
        np.testing.assert_array_equal(m.predict([self.a, self.b]), want)

    def test_report(self):
        m = self.model({"images": self.a, "texts": self.b})
        path = Path(self.work.name, "report.html")
        page = m.report(path, title="Made up")
        self.assertTrue("<h1>Made up</h1>" in page.html and ", from images in images.npy<" in page.html)
        self.assertTrue(path.read_text(encoding="utf-8") == page.html)
        self.assertFalse(str(self.tmp) in page.html)
        self.assertTrue(page._repr_html_().startswith("<iframe srcdoc"))
        self.assertTrue("images" in m.report(views=[self.a, self.b]).html)
        with self.assertRaisesRegex(ValueError, "no longer there"):
            pickle.loads(pickle.dumps(m)).report()

    def test_report_has_no_temporary_folder(self):
        run = "x" * 5_000_000
        page = ["/t  <+&'/largemvc-1/a.npy", "/t &lt;&#43;&amp;&#39;/largemvc-1/a.npy",
                '{"n":[1,2],"at":"/t  \\u003c+\\u0026\'/largemvc-1/a.npy"}', "/t  <+&'/largemvc-12/a.npy", run]
        want = ["a.npy", "a.npy", '{"n":[1,2],"at":"a.npy"}', "/t  <+&'/largemvc-12/a.npy", run]
        self.assertTrue(_without_folder(" ".join(page), "/t  <+&'/largemvc-1") == " ".join(want))
        folder = self.tmp / "a  b&c+d'e"
        folder.mkdir()
        os.environ.update(TMPDIR=str(folder), TMP=str(folder))
        html = self.model({"images": self.a, "texts": self.b}).report(title="Made up").html
        folder.rmdir()
        self.assertTrue(", from images in images.npy<" in html and ">model.safetensors<" in html)
        self.assertFalse("d&#39;e" in html or "largemvc-" in html)

    def test_choose(self):
        figure = Path(self.work.name, "choose.svg")
        found = choose([self.a, self.b], range(2, 5), seeds=2, epochs=10, random_state=0, figure=figure)
        self.assertEqual((found.n_clusters, [row["clusters"] for row in found.table]), (3, [2, 3, 4]))
        self.assertTrue(figure.exists() and found.reasons)
        with self.assertRaisesRegex(ValueError, "without gaps"):
            choose(self.a, [2, 4])
        self.assertEqual(LargeMVC(epochs=5, random_state=0).fit([self.a, self.b]).n_clusters_, 3)

    def test_features_of_frames(self):
        frame = pd.DataFrame(self.a, columns=list("abcdefgh"))
        m = self.model(frame)
        self.assertEqual(m.feature_names_in_.tolist(), list("abcdefgh"))
        with self.assertRaisesRegex(ValueError, "(?s)unseen at fit time.*- z"):
            m.predict(frame.rename(columns={"a": "z"}))
        self.assertTrue("features a … h" in m.report().html)
        path = Path(self.work.name, "model.safetensors")
        m.save(path)
        with self.assertRaisesRegex(ValueError, "must be in the same order"):
            LargeMVC.load(path).predict(frame.iloc[:, ::-1])
        pairs = pd.MultiIndex.from_product([list("ab"), range(4)])
        for columns in (range(8), range(100, 108), pairs, pd.date_range("2026", periods=8)):
            frame.columns = columns
            for views, turned in ((frame, frame.iloc[:, ::-1]), ([frame, self.b], [frame.iloc[:, ::-1], self.b])):
                m = self.model(views)
                with self.assertRaisesRegex(ValueError, "in another order: give the columns of the training, in their order"):
                    m.predict(turned)
        with self.assertWarnsRegex(largemvc.LargeMVCWarning, "features of view_0 have no names"):
            m.predict([self.a, self.b])

    def test_without_other_packages(self):
        code = """
import sys
sys.modules.update(dict.fromkeys(("sklearn", "scipy", "pandas", "tqdm")))
sys.path.insert(0, %r)
import numpy as np
from largemvc import LargeMVC, NotFittedError
a, b = (np.random.default_rng(0).normal(size=(90, d)) + 4 * np.eye(3, d)[np.arange(90) %% 3] for d in (8, 5))
model = LargeMVC(3, random_state=0, verbose=True).set_params(epochs=20)
assert model.get_params()["epochs"] == 20
try:
    model.predict([a, b])
except NotFittedError:
    print(model.fit_transform([a, b]).shape)
""" % str(Path(largemvc.__file__).parent.parent)
        out = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True).stdout
        self.assertEqual(out.strip(), "(90, 3)")


@unittest.skipIf(os.name == "nt", "signals of Unix")
class Ends(Case):
    def test_interrupt(self):
        child = self.run_python("m = LargeMVC(3, epochs=10**8)\ntry:\n    m.fit([a, b])\n"
                                "except InterruptedError as e:\n"
                                "    print('stopped', len(m.labels_), m.predict([a, b]).shape, e)\n")
        folder = self.training(child)
        os.kill(child.pid, signal.SIGINT)
        out = child.communicate(timeout=60)[0]
        self.assertRegex(out, r"^stopped 90 \(90,\) cancelled after \d+ of 100000000 epochs")
        self.assertFalse(folder.exists())

    def training(self, child):
        """Wait until a fit trains, and return its folder."""
        self.wait_for("there is no folder", lambda: any(self.tmp.glob("*/view_1.npy")))
        time.sleep(1.5)
        self.assertIsNone(child.poll())
        return next(self.tmp.iterdir())

    def test_killed(self):
        for what in ("LargeMVC(3, epochs=10**8).fit([a, b])", "with LargeMVC(3).fit([a, b]).serve(): time.sleep(100)",
                     # another process has the other end of the pipe open
                     "import os\nm = LargeMVC(3).fit([a, b])\nwith m.serve():\n    if os.fork() == 0:\n        os.close(1)\n"
                     "        time.sleep(20)\n        os._exit(0)\n    time.sleep(100)"):
            with self.subTest(what):
                child = self.run_python(what)
                self.wait_for("there is no model or view", lambda: any(self.tmp.glob("*/*")))
                time.sleep(1.5)
                self.assertIsNone(child.poll())
                child.kill()
                child.communicate()
                self.wait_for("the folder stays", lambda: not any(self.tmp.iterdir()), 15)

    def test_interrupted_at_the_end(self):
        with Process() as process:
            event, process._event = process._event, lambda: (_ for _ in ()).throw(KeyboardInterrupt)

            def send(request):
                if "cancel" in request:
                    process._event = event
                else:
                    Process._send(process, request)

            process._send = send
            answer = process.run(["version"], None)
        self.assertEqual((answer.status, answer.cancelled), (1, True))
        self.assertIn("largemvc", answer.output)

    def test_exception_during_a_request(self):
        """The late answer to a request that an exception ended is not the answer to the next request."""
        m = self.model()
        first, second = ([x[k:30:3] for x in (self.a, self.b)] for k in range(2))
        want = m.predict(second)
        self.assertFalse((m.predict(first) == want).any())

        def late(*_):
            raise TimeoutError("too late")

        self.addCleanup(signal.signal, signal.SIGALRM, signal.signal(signal.SIGALRM, late))
        send = Process._send

        def with_an_answer(process):
            while b'"answer"' not in process._buffer:
                process._buffer += os.read(process._child.stdout.fileno(), 1 << 18)
            signal.raise_signal(signal.SIGALRM)

        def within_a_line(process, request):
            process._child.stdin.write(json.dumps(request).encode()[:9])
            signal.raise_signal(signal.SIGALRM)

        def after_a_line(process, request):
            send(process, request)
            signal.raise_signal(signal.SIGALRM)

        with m.serve():
            for name, patch in (("_event", with_an_answer), ("_send", within_a_line), ("_send", after_a_line)):
                with self.subTest(patch.__name__):
                    with mock.patch.object(Process, name, patch), self.assertRaisesRegex(TimeoutError, "too late"):
                        m.predict(first)
                    np.testing.assert_array_equal(m.predict(second), want)
                    self.assertEqual(len(list(self.tmp.iterdir())), 1)
        with Process() as process:
            with mock.patch.object(Process, "_event", with_an_answer), self.assertRaises(TimeoutError):
                process.run(["version"], None)
            with self.assertRaisesRegex(RuntimeError, "start another one"):
                process.run(["version"], None)

    def test_command_killed(self):
        with self.assertRaisesRegex(RuntimeError, r"signal 9"), Process() as process:
            process._child.kill()
            process.run(["version"], None)


class ScikitLearn(Case):
    """All checks of scikit-learn for estimators; none is left out."""

    def test_checks(self):
        checks = list(check_estimator(LargeMVC(3, epochs=20), generate_only=True))
        self.assertGreater(len(checks), 30)
        for estimator, check in checks:
            name = check.func.__name__ if isinstance(check, partial) else check.__name__
            with self.subTest(name), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                check(estimator)


class CrossValidation(Case):
    def test_list_of_views(self):
        """scikit-learn splits a list by its elements: of four views it would train on two and predict with the others."""
        score = partial(cross_val_score, LargeMVC(3, epochs=2, random_state=0), cv=2)
        with self.assertRaisesRegex(ValueError, "splits the list of views in place of their rows"):
            score([self.a, self.a + 1, self.a * 2, self.a * 3])
        self.assertEqual(len(score(self.a)), 2)


if __name__ == "__main__":
    unittest.main()
