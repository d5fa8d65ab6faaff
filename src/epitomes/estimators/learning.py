"""EpitomeLearning: learn an epitome from rows of patches, and code rows with it (paper, sections 2 and 3)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from epitomes.checks import Array, Shape, positive, whole
from epitomes.coders import Coder, Lasso
from epitomes.epitome import Epitome
from epitomes.estimators.shapes import FLOATS, first_epitome, seed_of, threads_of
from epitomes.learn import Fit, Moments, Progress, Step, cost, online
from epitomes.learn._online import n_batches


class EpitomeLearning(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Learn a dictionary whose atoms are the overlapping patches of a small image, the epitome.

    Parameters and attributes follow `sklearn.decomposition.MiniBatchDictionaryLearning`. An epitome of M pixels has
    nearly M atoms; a plain dictionary of as many atoms of m pixels has M times m values.

    Parameters
    ----------
    epitome_shape : tuple of int, default=None
        Shape of the epitome, such as ``(42, 42)``, or of several along a leading axis, such as ``(20, 15, 15)``. If
        None, one epitome, five times as wide as the patch plus two pixels.
    patch_shape : tuple of int, default=None
        Shape of the patch in a row, such as ``(8, 8)`` or, in colour, ``(8, 8, 3)``. If None, a square patch if the
        number of features is a square, and a signal otherwise.
    alpha : float, default=1.0
        Regularisation parameter, in the units of the data.
    transform_coder : Coder, default=None
        Coder of `transform`, for example ``OMP(n_nonzero=5)`` or ``OLS(residual=...)``. If None, ``Lasso(lam=alpha)``.
    start : Epitome, default=None
        Epitome that learning starts from, with any phi; the shapes are then known. If None, an epitome of natural
        images if one of that shape is shipped, otherwise smoothed noise.
    max_iter : int, default=20
        Largest number of passes over the data.
    tol : float, default=1e-3
        Learning stops after a pass that lowers the objective by less than this share of it. 0 makes all passes.
    batch_size : int, default=1024
        Number of rows per step, about.
    forget : float, default=8.0
        How fast old steps are forgotten: before step t, what was seen is weighted by ``(1 - 1/t)**forget``.
    sparse_output : bool, default=False
        Whether `transform` returns a `scipy.sparse.csr_array` instead of a dense array.
    random_state : int, RandomState instance or None, default=0
        Seed for the order of the rows and the smoothed noise. An int is the `rng` of `epitomes.learn.online`.
    n_jobs : int, default=None
        Number of threads: None for 1, -1 for all processors. It changes no result.

    Attributes
    ----------
    epitome_ : Epitome
        The learned epitome, in float64.
    components_ : ndarray of shape (n_components, n_features)
        The atoms ``phi(E)``, read-only.
    fit_ : Fit
        The numbers of every step, and why learning stopped.
    objective_ : float
        Objective after the last step, over the rows that it remembers.
    n_iter_ : int
        Number of passes over the data; each call of `partial_fit` counts as one.
    n_features_in_ : int
        Number of pixels of a patch.

    See Also
    --------
    EpitomeDenoiser : Denoise images.
    epitomes.learn.online : The function that learns.

    Notes
    -----
    It minimises the mean over the rows x of ``1/2 |x - a D|**2 + alpha * sum_j |a_j| |d_j|`` over epitomes E with
    dictionary ``D = phi(E)`` and codes a [1]_. For atoms of length one, this is the objective of
    `sklearn.decomposition.MiniBatchDictionaryLearning`. Means are not removed: subtract them first if they should not
    be coded.

    References
    ----------
    .. [1] L. Benoît, J. Mairal, F. Bach, J. Ponce, "Sparse image representation with epitomes", CVPR 2011.

    Examples
    --------
    >>> from epitomes.estimators import EpitomeLearning
    >>> from sklearn.datasets import load_digits
    >>> X = load_digits().data[:500]  # images of 8 x 8 pixels
    >>> learned = EpitomeLearning(epitome_shape=(24, 24), alpha=4.0, max_iter=3).fit(X)
    >>> learned.components_.shape  # from 576 pixels
    (289, 64)
    >>> codes = learned.transform(X)
    >>> learned.inverse_transform(codes).shape
    (500, 64)
    """

    def __init__(
        self,
        *,
        epitome_shape: Shape | None = None,
        patch_shape: Shape | None = None,
        alpha: float = 1.0,
        transform_coder: Coder | None = None,
        start: Epitome | None = None,
        max_iter: int = 20,
        tol: float = 1e-3,
        batch_size: int = 1024,
        forget: float = 8.0,
        sparse_output: bool = False,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.epitome_shape = epitome_shape
        self.patch_shape = patch_shape
        self.alpha = alpha
        self.transform_coder = transform_coder
        self.start = start
        self.max_iter = max_iter
        self.tol = tol
        self.batch_size = batch_size
        self.forget = forget
        self.sparse_output = sparse_output
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: ArrayLike, y: object = None) -> EpitomeLearning:
        """Learn an epitome from the rows of X, from the start.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Rows of patches.
        y : object, default=None
            Not used.

        Returns
        -------
        EpitomeLearning
            The estimator itself.
        """
        max_iter, tol = whole("max_iter", self.max_iter, least=1), positive("tol", self.tol, zero=True)
        rows = validate_data(self, X, dtype=FLOATS)
        batch = whole("batch_size", self.batch_size, least=1)
        seed = seed_of(self.random_state)
        per_pass = n_batches(rows, batch)
        history: list[Progress] = []
        last, reason = np.inf, f"{max_iter} passes done"
        for step in self._steps(rows, self._first(rows, seed), seed, batch):
            history.append(step.progress)
            if len(history) % per_pass:
                continue
            now = float(np.mean([one.objective for one in history[-per_pass:]]))
            if last - now <= tol * abs(now) and tol > 0:
                change = (now - last) / (abs(now) or 1.0)
                reason = f"a pass changed the objective by {change:+.1e} of itself, tol is {tol:g}"
                break
            if len(history) == max_iter * per_pass:
                break
            last = now
        return self._keep(step, tuple(history), reason, n_iter=len(history) // per_pass)

    def partial_fit(self, X: ArrayLike, y: object = None) -> EpitomeLearning:
        """Make one step with all rows of X, continuing from `fit` or earlier calls.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Rows of patches.
        y : object, default=None
            Not used.

        Returns
        -------
        EpitomeLearning
            The estimator itself.
        """
        goes_on = hasattr(self, "_step")
        rows = validate_data(self, X, dtype=FLOATS, reset=not goes_on)
        seed = seed_of(self.random_state)
        before, n_iter = (self._step, self.n_iter_) if goes_on else (None, 0)
        first = before.epitome if before else self._first(rows, seed)
        step = next(self._steps(rows, first, seed, len(rows), after=before))
        history = (*(self.fit_.history if goes_on else ()), step.progress)
        return self._keep(step, history, "partial_fit takes one step at a time", n_iter=n_iter + 1)

    def transform(self, X: ArrayLike) -> NDArray[Any] | csr_array:
        """Code the rows of X.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Rows of patches.

        Returns
        -------
        ndarray or csr_array of shape (n_samples, n_components)
            The codes.
        """
        codes = self._coder().encode(self._rows(X), self.epitome_.dictionary, threads=threads_of(self.n_jobs))
        return codes if self.sparse_output else codes.toarray()

    def inverse_transform(self, X: Any) -> Array:
        """Compute rows of patches from codes.

        Parameters
        ----------
        X : array_like or sparse array of shape (n_samples, n_components)
            The codes.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            Rows of patches.
        """
        check_is_fitted(self)
        codes = X if issparse(X) else check_array(X, dtype=FLOATS)
        if codes.shape[1] != self._n_features_out:
            raise ValueError(f"codes need {self._n_features_out} columns, one per atom, got {codes.shape[1]}")
        atoms = self.epitome_.dictionary.astype(np.dtype(np.float32 if codes.dtype == np.float32 else np.float64)).atoms
        return np.asarray(codes @ atoms)

    def score(self, X: ArrayLike, y: object = None) -> float:
        """Return minus the mean objective over the rows of X.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Rows of patches.
        y : object, default=None
            Not used.

        Returns
        -------
        float
            Score; higher is better, for the same `alpha`.
        """
        rows, dictionary, lam = self._rows(X), self.epitome_.dictionary, positive("alpha", self.alpha)
        codes = Lasso(lam=lam).encode(rows, dictionary, threads=threads_of(self.n_jobs))
        return -cost(dictionary.atoms, Moments.of(rows, codes, threads=threads_of(self.n_jobs)), lam) / len(rows)

    @property
    def components_(self) -> Array:
        """Atoms of shape ``(n_components, n_features)``, read-only."""
        return self.epitome_.dictionary.atoms

    @property
    def objective_(self) -> float:
        """Objective after the last step."""
        return self.fit_.history[-1].objective

    @property
    def _n_features_out(self) -> int:
        return int(self.epitome_.phi.n_atoms)

    def _first(self, rows: Array, seed: int) -> Epitome:
        n = self.n_features_in_
        epitome = first_epitome(self.start, self.epitome_shape, self.patch_shape, n_features=n, seed=seed)
        if epitome.phi.patch_size != n:
            raise ValueError(
                f"X has {n} features, a patch of shape {epitome.phi.patch_shape} has {epitome.phi.patch_size} pixels: "
                "set patch_shape to the shape of a row"
            )
        return epitome

    def _steps(self, rows: Array, first: Epitome, seed: int, batch: int, after: Step | None = None) -> Iterator[Step]:
        coder = Lasso(lam=positive("alpha", self.alpha))
        return online(
            rows,
            first,
            coder=coder,
            batch=batch,
            forget=self.forget,
            rng=seed,
            after=after,
            threads=threads_of(self.n_jobs),
        )

    def _keep(self, step: Step, history: tuple[Progress, ...], reason: str, n_iter: int) -> EpitomeLearning:
        self._step = step
        self.epitome_ = step.epitome
        self.fit_ = Fit(step.epitome, history, reason)
        self.n_iter_ = n_iter
        return self

    def _rows(self, X: ArrayLike) -> Array:
        check_is_fitted(self)
        rows: Array = validate_data(self, X, dtype=FLOATS, reset=False)
        return rows

    def _coder(self) -> Coder:
        return Lasso(lam=positive("alpha", self.alpha)) if self.transform_coder is None else self.transform_coder

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
