"""OnlineDictionaryLearning: a flat dictionary from rows, in the place of scikit-learn's MiniBatchDictionaryLearning."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from numpy.typing import ArrayLike

from epitomes.baselines.by_dictionary import first_dictionary
from epitomes.checks import Array, positive
from epitomes.coders import Coder, Lasso
from epitomes.epitome import Epitome
from epitomes.estimators.learning import EpitomeLearning
from epitomes.estimators.shapes import threads_of
from epitomes.learn import BlockCoordinate, Step, online


class OnlineDictionaryLearning(EpitomeLearning):
    """Learn a flat dictionary by online dictionary learning.

    Parameters and attributes follow `sklearn.decomposition.MiniBatchDictionaryLearning`; transforming is set by a coder
    object instead of several words.

    Parameters
    ----------
    n_components : int, default=None
        Number of atoms. If None, as many as there are features, or as `dict_init` has.
    alpha : float, default=1.0
        Regularisation parameter, in the units of the data.
    transform_coder : Coder, default=None
        Coder of `transform`, for example ``OMP(n_nonzero=5)``. If None, ``Lasso(lam=alpha)``.
    dict_init : array_like of shape (n_components, n_features), default=None
        Initial atoms. If None, rows of X drawn at random.
    max_iter : int, default=20
        Largest number of passes over the data.
    tol : float, default=1e-3
        Learning stops after a pass that lowers the objective by less than this share of it. 0 makes all passes.
    batch_size : int, default=256
        Number of rows per step, about.
    forget : float, default=8.0
        How fast old steps are forgotten: before step t, what was seen is weighted by ``(1 - 1/t)**forget``.
    sparse_output : bool, default=False
        Whether `transform` returns a `scipy.sparse.csr_array` instead of a dense array.
    random_state : int, RandomState instance or None, default=0
        Seed for the first atoms and the order of the rows.
    n_jobs : int, default=None
        Number of threads: None for 1, -1 for all processors. It changes no result.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The atoms, of any norm, read-only. The codes of `transform` belong to them.
    epitome_ : Epitome
        The same atoms as an epitome whose pictures are the atoms.
    fit_ : Fit
        The numbers of every step, and why learning stopped.
    objective_ : float
        Objective after the last step, over the rows that it remembers.
    n_iter_ : int
        Number of passes over the data; each call of `partial_fit` counts as one.
    n_features_in_ : int
        Number of values of a row.

    See Also
    --------
    EpitomeLearning : A dictionary whose atoms overlap in an epitome.
    epitomes.baselines.learn_dictionary : The function behind it.

    Notes
    -----
    It minimises the mean over the rows x of ``1/2 |x - a D|**2 + alpha * sum_j |a_j| |d_j|``. For atoms of norm one,
    this is the objective of `sklearn.decomposition.MiniBatchDictionaryLearning` [1]_. Means are not removed.

    References
    ----------
    .. [1] J. Mairal, F. Bach, J. Ponce, G. Sapiro, "Online learning for matrix factorization and sparse coding",
       Journal of Machine Learning Research 11, 2010.

    Examples
    --------
    >>> from epitomes.estimators import OnlineDictionaryLearning
    >>> from sklearn.datasets import load_digits
    >>> X = load_digits().data[:500]
    >>> learned = OnlineDictionaryLearning(n_components=40, alpha=4.0, max_iter=3).fit(X)
    >>> learned.components_.shape, learned.transform(X).shape
    ((40, 64), (500, 40))
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        alpha: float = 1.0,
        transform_coder: Coder | None = None,
        dict_init: ArrayLike | None = None,
        max_iter: int = 20,
        tol: float = 1e-3,
        batch_size: int = 256,
        forget: float = 8.0,
        sparse_output: bool = False,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.transform_coder = transform_coder
        self.dict_init = dict_init
        self.max_iter = max_iter
        self.tol = tol
        self.batch_size = batch_size
        self.forget = forget
        self.sparse_output = sparse_output
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _first(self, rows: Array, seed: int) -> Epitome:
        n_atoms = self.n_components
        if n_atoms is None and self.dict_init is None:
            n_atoms = self.n_features_in_
        return first_dictionary(rows, n_atoms, self.dict_init, seed)

    def _steps(self, rows: Array, first: Epitome, seed: int, batch: int, after: Step | None = None) -> Iterator[Step]:
        return online(
            rows,
            first,
            coder=Lasso(lam=positive("alpha", self.alpha)),
            update=BlockCoordinate(),
            batch=batch,
            forget=self.forget,
            rng=seed,
            after=after,
            threads=threads_of(self.n_jobs),
        )
