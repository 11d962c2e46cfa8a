"""Clustering of multi-view data with LargeMvC-Net.

    from largemvc import LargeMVC
    labels = LargeMVC(7).fit_predict([images, texts])

The package runs the command largemvc, which it carries. docs/python.md of the project has more.
"""

from ._base import NotFittedError
from ._choose import Choice, choose
from ._estimator import Assignments, LargeMVC, Report, Structure
from ._process import LargeMVCWarning

__all__ = ["Assignments", "Choice", "LargeMVC", "LargeMVCWarning", "NotFittedError", "Report", "Structure", "choose"]
