"""The base classes of the estimator: scikit-learn's, or without scikit-learn classes with the methods that it needs."""

from __future__ import annotations

import inspect
from typing import Any

try:
    from sklearn.base import BaseEstimator as Estimator
    from sklearn.base import ClusterMixin, TransformerMixin
    from sklearn.exceptions import NotFittedError
except ImportError:

    class NotFittedError(ValueError, AttributeError):  # type: ignore[no-redef]
        """The estimator has no model yet."""

    class Estimator:  # type: ignore[no-redef]
        """An estimator with scikit-learn's methods for parameters."""

        def get_params(self, deep: bool = True) -> dict[str, Any]:
            """Return the parameters by their names."""
            return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

        def set_params(self, **params: Any) -> "Estimator":
            """Set parameters by their names."""
            for name, value in params.items():
                if name not in self.get_params():
                    raise ValueError(f"Invalid parameter {name!r}. Valid parameters are: {list(self.get_params())}.")
                setattr(self, name, value)
            return self

        def fit_transform(self, views: Any, y: Any = None) -> Any:
            """Train on views and return the representation of their samples, shape (n, m)."""
            return self.fit(views, y).transform(views)

    ClusterMixin, TransformerMixin = type("ClusterMixin", (), {}), type("TransformerMixin", (), {})  # type: ignore[misc]
