"""F-SVM and its family: a max-margin separator in a metric that is learned with it.

The model is that of Wu, Zuo, Zhu and Lin, "F-SVM: Combination of feature transformation and SVM learning via convex
relaxation", eliminated to the form that the mathematics page derives and solved exactly.
"""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
from scipy import sparse

from ..geometry import minimum_enclosing_ball, tempered_scatter
from ..geometry.tempered import NO_SPREAD, standardised, standardised_range, uncorrelated_scatter
from ..kernels import KernelMap
from ..solvers.alternating import solve_alternating
from ..solvers.hinge import _solve as solve_hinge
from ..solvers.metric_norm import Constrained, MetricNorm, Penalised
from ..solvers.projected_gradient import solve_projected_gradient
from ..solvers.radius_margin import RadiusMarginProblem, solve_exact
from .base import MarginClassifier, as_dense, check_choice, check_common, check_number, without_columns
from .metric import MetricTransformerMixin, metric_root

SOLVERS = {
    "exact": solve_exact,
    "alternating": solve_alternating,
    "projected-gradient": solve_projected_gradient,
}

NEARLY_WHITE = 0.9  # exponents from which all components of a kernel are too many


class FSVM(MetricTransformerMixin, MarginClassifier):
    """Support vector machine that learns a feature transformation together with its separator.

    Minimises, over separators w, b and metrics M,

        1/2 w'M^{-1}w + C sum_i s_i max(0, 1 - y_i (w'x_i + b))    subject to    tr(MT) <= n

    where T is the scatter of the (standardised) features, tempered by `whitening`. No scaling of the features is
    needed: the decision function does not change when features are shifted or rescaled, nor, with ``whitening=1``,
    under any invertible linear map.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the loss. It means what it means in `SVC` on standardised features.
    rho : float or None, default=None
        None selects the constrained form above; a number the penalised form ``... + rho tr(MT)`` of the paper's
        Eq. 12, in which only ``C / sqrt(rho)`` matters and small values give w = 0.
    eta : float, default=0.0
        Smoothing: adds ``eta/2 tr(M^{-1})``, which gives M full rank. Zero is F-SVM, whose M has rank one; large values
        approach the semi-whitening of the paper's initialisation.
    whitening : float in [0, 1], default=1.0
        Exponent p of T = n R^p: 1 is F-SVM, 0 the SVM on standardised features, 1/2 the semi-whitened SVM.
    scatter : {"total", "within"}, default="total"
        Scatter about the overall mean, or pooled within the classes.
    coupling : {"separate", "shared"}, default="separate"
        With more than two classes: a metric per problem of two, or one metric for all, which makes `coef_` of low rank.
    multi_class : {"ovo", "ovr"} or None, default=None
        More than two classes as problems of two: every pair of classes (the model of `SVC`; its predictions are votes),
        or every class against the rest (that of `LinearSVC`), which can fail where no class outweighs the others. None is
        "ovo", but "ovr" with ``coupling="shared"``, whose time grows with the cube of the number of problems.
    kernel : str, callable or transformer, default="linear"
        Any kernel of `KernelMap`; the model is then linear in the features of that map. A transformer (such as a
        `KernelMap` with options of its own) is used in place of one.
    gamma, degree, coef0, n_components
        Parameters of the kernel map. With a kernel the number of components is a real parameter at a whitening near 1:
        if all are kept, every labelling is fitted exactly, whatever the kernel, and a warning says so. At whitening 0
        the default keeps all components up to 1500 rows (500 of a precomputed or callable kernel), and above where the
        labels turn out to need more than the default of `KernelMap` (up to ``9e6 / n_samples``): the model is then that
        of `SVC`.
    solver : {"exact", "alternating", "projected-gradient"}, default="exact"
        "alternating" takes turns between M in closed form and the separator; "projected-gradient" descends on M by
        gradient steps, as Algorithm 1 of the paper, and stops short of the optimum: `dual_gap_` bounds by how much.
    fit_intercept : bool, default=True
    class_weight : dict, "balanced" or None, default=None
        Factors of `sample_weight`, in the loss and in the scatter.
    tol : float, default=1e-6
        Relative duality gap to reach.
    max_iter : int, default=1000
        Newton steps, or rounds of the other solvers, for each problem.
    warm_start : bool, default=False
        Start from the previous solution when `fit` is called again on as many rows (``solver="exact"``).
    random_state : int, RandomState or None, default=None
        Used only by kernel maps that draw landmarks.
    verbose : int, default=0
        1 prints a line per problem and keeps `history_`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape (n_problems, n_features)
        Separators in the user's units (in the features of the kernel map, with a kernel): one for two classes, else one
        per pair of classes i < j, positive on the side of j, or one per class.
    intercept_ : ndarray of shape (n_problems,)
    components_ : ndarray of shape (rank, n_features)
        L with M = L'L. With a metric per problem, M is their mean. L is symmetric in standardised units where M has full
        rank, so that `transform` does not depend on the user's; else its rows are scaled eigenvectors.
    objective_, dual_objective_, dual_gap_ : float
        Value of the problem above at the separators that were found and their metrics (the best one for its separator;
        with ``solver="projected-gradient"`` that at which it stopped), a lower bound of the minimum over separators and
        metrics, and the relative difference. Summed over the problems.
    radius_, margin_ : ndarray of shape (n_problems,)
        Radius of the enclosing ball of the data and margin ``1 / |v|`` of the separator, in the learned metric.
    n_iter_ : int
    history_ : list of dict
        Objective, dual objective and gap of each round, one list after the other for the problems. Only with ``verbose``
        or a solver other than "exact".

    Notes
    -----
    Rank-deficient data (fewer rows than features, collinear or constant features) are solved in the range of the
    scatter. Sparse input stays sparse where the scatter has (clearly) full rank; else, and with a kernel, the rows are projected
    to dense ones of that rank.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from radiusmargin import FSVM
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = FSVM(C=0.1, whitening=0.5).fit(X, y)
    >>> bool(model.score(X, y) > 0.97), bool(model.dual_gap_ < 1e-6)
    (True, True)
    """

    _accepts_sparse = True

    def __init__(
        self, C=1.0, *, rho=None, eta=0.0, whitening=1.0, scatter="total", coupling="separate", multi_class=None,
        kernel="linear", gamma="scale", degree=3, coef0=0.0, n_components=None, solver="exact", fit_intercept=True,
        class_weight=None, tol=1e-6, max_iter=1000, warm_start=False, random_state=None, verbose=0,
    ):  # fmt: skip
        self.C = C
        self.rho = rho
        self.eta = eta
        self.whitening = whitening
        self.scatter = scatter
        self.coupling = coupling
        self.multi_class = multi_class
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_components = n_components
        self.solver = solver
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    def _check_parameters(self):
        check_common(self)
        if self.rho is not None:
            check_number("rho", self.rho, 0, low_allowed=False)
        check_number("eta", self.eta, 0)
        check_number("whitening", self.whitening, 0, 1, high_allowed=True)
        check_choice("scatter", self.scatter, ("total", "within"))
        check_choice("coupling", self.coupling, ("separate", "shared"))
        check_choice("multi_class", self.multi_class, (None, "ovo", "ovr"))
        check_choice("solver", self.solver, tuple(SOLVERS))

    def _solve(self, X, columns, weight, y):
        self._warn_if_degenerate(*X.shape)
        space = self._scatter(X, weight, y)
        if not space.scale.any() or len(space.eigenvalues) == 0:
            raise ValueError(NO_SPREAD)
        if self._is_plain and space.regular:
            self._solve_plain(X, columns, weight, space)
        else:
            self._solve_family(X, columns, weight, space)

    def _scatter(self, X, weight, y):
        kernel_map = getattr(self, "kernel_map_", None)
        if self.whitening == 0 and self.scatter == "total" and kernel_map is None:
            if self._is_plain:
                return standardised(X, weight)
            if not self.fit_intercept:
                return standardised_range(X, weight)
        return feature_scatter(kernel_map, X, y, weight, self.scatter)

    @property
    def _in_pairs(self):
        return self.multi_class == "ovo" if self.multi_class else self.coupling == "separate"

    @property
    def _is_shared(self):
        return self.coupling == "shared" and len(self.classes_) > 2

    @property
    def _is_plain(self):
        return self.rho is None and self.eta == 0 and self.solver == "exact" and not self._is_shared

    @property
    def _is_euclidean(self):
        return self._is_plain and self.whitening == 0 and self.scatter == "total"

    def _warn_if_degenerate(self, n, d):
        """With all n - 1 components the whitened Gram matrix is I - 11'/n, whatever the kernel: nothing is learnt."""
        if self._is_linear or self.eta > 0 or self.whitening < NEARLY_WHITE or d < n - 1:
            return
        warnings.warn(
            f"FSVM keeps all {d} components of the kernel at whitening={self.whitening:g}: it can only reproduce the labels "
            f"of its {n} training rows. Set n_components to fewer, eta > 0, or less whitening.",
            UserWarning,
            stacklevel=4,
        )

    # -- the plain F-SVM: one hinge problem per column, in the user's units ---------------------------------------

    def _solve_plain(self, X, columns, weight, space):
        T = space.matrix(self.whitening)
        K = len(columns)
        rows = X
        if not space.scale.all():  # constant features take no part
            T, rows = np.where(space.scale > 0, T, 1.0), without_columns(X, space.scale == 0)
        coef, intercept, alpha = self._start(K, *X.shape, weight) or (None, None, None)
        theta = coef if coef is None or not self.fit_intercept else np.column_stack([coef, intercept])
        B = None if T.ndim == 1 and np.all(space.total == T) else T[None] / space.total
        mapping = getattr(self, "kernel_map_", None)
        gram = mapping.gram_ if self._may_grow and isinstance(mapping, KernelMap) else None
        with self._told_of_problems(X, columns):
            batch = solve_hinge(
                rows, columns, weight, np.array([float(self.C)]), B=B, gram=gram,
                problems=np.array([[0, k, 0] for k in range(K)]), start=(theta, alpha),
                keep_alpha=True, fit_intercept=self.fit_intercept, tol=0.99 * self.tol, max_iter=int(self.max_iter),
            )  # fmt: skip
        results = [batch[k, 0] for k in range(K)]
        for k, result in enumerate(results):
            self._report(k, result)
        coef = batch.coef[:, 0]
        self._multipliers = batch.alpha[:, 0]
        self._remember(batch.alpha[:, 0])
        # w'M^+w for every column, whose M has rank one: the enclosing ball is then half the range of the scores.
        white = space.whitened(coef, self.whitening) / np.sqrt(space.total)
        lengths = np.linalg.norm(white, axis=1)
        inverse = np.divide(1.0, lengths, out=np.zeros(K), where=lengths > 0)
        unit = inverse[:, None] / np.sqrt(K)
        # The root is unique in standardised units, so that it does not depend on the user's.
        self.components_ = metric_root(coef * space.scale * unit, white * unit if K > 1 else None) * space.inverse_scale
        scores = np.asarray(X @ coef.T)
        self.radius_ = np.ptp(scores, axis=0) / 2 * inverse
        self.margin_ = np.where(lengths > 0, inverse, np.inf)
        self._set_history(results)
        self._keep(
            results,
            coef,
            batch.intercept[:, 0],
            lengths**2 / 2 + self._losses(scores, columns, weight, batch.intercept[:, 0]),
        )

    # -- the rest of the family, in standardised units --------------------------------------------------------------

    def _solve_family(self, X, columns, weight, space):
        # Centring conditions the problem, but only an intercept can undo it.
        centred = bool(self.fit_intercept) and not (sparse.issparse(X) and space.regular)
        rows = space.project(X, centred=centred)
        if sparse.issparse(rows):
            rows = sparse.csr_array(rows)
        norm = MetricNorm(space.standardised_matrix(self.whitening), float(self.eta))
        penalty = Constrained(space.total) if self.rho is None else Penalised(float(self.rho))
        build = partial(
            RadiusMarginProblem, rows, C=float(self.C), norm=norm, penalty=penalty, weights=weight,
            fit_intercept=self.fit_intercept, tol=0.99 * self.tol, max_iter=int(self.max_iter),
        )  # fmt: skip
        start = self._start(len(columns), *X.shape, weight)
        if start is not None:
            start = (*space.lower(*start[:2], centred=centred), start[2])
        groups = [np.arange(len(columns))] if self._is_shared else np.arange(len(columns))[:, None]
        problems = [
            build(Y=columns[group], start=None if start is None else tuple(part[group] for part in start))
            for group in groups
        ]
        results = [self._one_column(problem, problem.Y, weight, k) for k, problem in enumerate(problems)]
        coef, intercept = space.lift(
            np.concatenate([r.coef for r in results]),
            np.concatenate([r.intercept for r in results]),
            centred=centred,
        )
        self._remember(np.concatenate([r.alpha for r in results]))
        roots = np.concatenate([r.root for r in results]) / np.sqrt(len(results))
        white = None if len(results) == 1 else roots @ norm.root
        self.components_ = metric_root(roots if space.regular else roots @ space.eigenvectors.T, white)
        self.components_ *= space.inverse_scale
        measures = [_radius_and_margins(rows, norm, r) for r in results]
        self.radius_ = np.concatenate([np.full(len(margins), radius) for radius, margins in measures])
        self.margin_ = np.concatenate([margins for _, margins in measures])
        self._set_history(results)
        returned = space.lower(coef, intercept, centred=centred)[0]
        losses = self._losses(np.asarray(X @ coef.T), columns, weight, intercept)
        objectives = [
            result.objective + problem.change(result, returned[group].T, losses[group].sum())
            for result, problem, group in zip(results, problems, groups, strict=True)
        ]
        self._keep(results, coef, intercept, objectives)

    def _solve_column(self, problem, columns, weight, k):
        return SOLVERS[self.solver](problem)

    def _set_history(self, results):
        self.__dict__.pop("history_", None)
        if self.verbose or self.solver != "exact":
            self.history_ = [dict(entry, column=k) for k, r in enumerate(results) for entry in r.history]

    # -- warm starts ------------------------------------------------------------------------------------------------

    def _remember(self, alpha):
        self.__dict__.pop("_alpha", None)
        if self.warm_start:
            self._alpha = alpha / self.C

    def _start(self, K, n, d, weight):
        """(coef, intercept, alpha) of the previous fit where it fits this one's shapes and learnt something."""
        if not self.warm_start or self.solver != "exact":
            return None
        coef, alpha = getattr(self, "coef_", np.empty(0)), getattr(self, "_alpha", np.empty(0))
        if coef.shape != (K, d) or alpha.shape != (K, n) or not coef.any(axis=1).all():
            return None
        # Multipliers at their bound stay there when C changes; where weights have shrunk, so do all.
        with np.errstate(divide="ignore", invalid="ignore"):
            excess = max(1.0, np.nanmax(alpha / weight))
        return coef.copy(), self.intercept_.copy(), alpha * (self.C / excess)


def feature_scatter(kernel_map, X, y, weight, kind):
    """Scatter of the data (without a map), or of features, which keep their units; that of kernel components is known."""
    if kind == "total" and isinstance(kernel_map, KernelMap):
        values, d = kernel_map.eigenvalues_, X.shape[1]
        # Without them the basis is any, and the whitening zero: the power 0 of every scatter is the identity.
        return uncorrelated_scatter(np.ones(d) if values is None else values[:d], weight.sum())
    return tempered_scatter(X, y, sample_weight=weight, kind=kind, standardise=kernel_map is None)


def _radius_and_margins(rows, norm, result):
    """Radius of the data and margins of the separators in the metric M = A'A: ``1 / |v|`` for ``A'v = w``."""
    # Solved where T is the identity: A is large where the data are thin.
    v = np.linalg.lstsq((result.root @ norm.root).T, norm.root @ result.coef.T, rcond=None)[0]
    with np.errstate(divide="ignore"):
        return minimum_enclosing_ball(as_dense(rows) @ result.root.T).radius, 1.0 / np.linalg.norm(v, axis=0)
