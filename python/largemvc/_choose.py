"""Numbers of clusters."""

from __future__ import annotations

from typing import Any, Iterable, NamedTuple

from . import _views
from ._estimator import LargeMVC, _error, _seed
from ._process import Process


class Choice(NamedTuple):
    """A suggested number of clusters."""

    n_clusters: int
    clear: bool  # whether the number stands out
    reasons: list[str]
    table: list[dict]  # figures of each number that was tried


def choose(views: Any, numbers: Iterable[int] = range(2, 21), *, seeds: int = 3, epochs: int = 30, preset: str = "default",
           random_state: Any = None, n_jobs: int | None = None, figure: str | None = None, verbose: bool | None = None) -> Choice:
    """Suggest a number of clusters out of numbers, a range without gaps. Each number takes the time of several fits.

    Parameters
    ----------
    views : matrix, or list or dict of matrices, each of shape (n, d_v)
        Values, as for `LargeMVC.fit`. `LargeMVC` documents the other parameters.
    seeds, epochs : int
        Number of fits of each number, and of optimiser steps of each fit.
    figure : path, optional
        File for a drawing, as SVG.
    """
    numbers = sorted(numbers)
    if not numbers or numbers != list(range(numbers[0], numbers[-1] + 1)):
        raise ValueError(f"numbers is {numbers}, want a range without gaps such as range(2, 21)")
    read, model = _views.read(views), LargeMVC(n_jobs=n_jobs)
    with Process() as process:
        args = ["choose", *read.write(process.folder), "-from", str(numbers[0]), "-to", str(numbers[-1]), "-seeds", str(seeds),
                "-epochs", str(epochs), "-preset", preset, "-seed", str(_seed(random_state)), "-json", *model._workers()]
        if figure is not None:
            args += ["-figure", str(figure)]
        answer = process.run(args, verbose)
    if answer.status != 0:
        raise _error(answer, read)
    found = answer.output
    return Choice(found["suggested"], found["clear"], found["reasons"] or [], found["choices"])
