"""F-SVM: a max-margin separator and a metric, learned together.

The model is that of Wu, Zuo, Zhu and Lin, "F-SVM: Combination of feature transformation and SVM learning via convex
relaxation". The metric is eliminated, as docs/mathematics.md derives, and the remaining problem is solved exactly.
"""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np
from scipy import sparse

from .._blocks import split
from .._checks import check_choice, check_number, check_positive
from .._linalg import lstsq
from .._types import ClassWeight, Gamma, KernelLike, RandomState
from ..geometry import minimum_enclosing_ball
from ..scatter import NO_SPREAD, RANK_TOL, standardised_range
from ..solvers import Batch, Options, rows_of
from ..solvers.metric.alternating import solve_alternating, solve_projected_gradient
from ..solvers.metric.exact import solve_exact
from ..solvers.metric.problem import Constrained, MetricNorm, Penalised, RadiusMarginProblem
from .base import MarginClassifier, check_common, estimator
from .expansion import expansion_root, fit_kernel_machine
from .family import Family, MetricTransformerMixin, hinge_losses, metric_root, metric_root_of_blocks
from .features import FeatureChoice, Raw

SOLVERS = {
    "exact": solve_exact,
    "alternating": solve_alternating,
    "projected-gradient": solve_projected_gradient,
}

NEARLY_WHITE = 0.9  # from this exponent on, all components of a kernel fit any labels


@estimator
class FSVM(MetricTransformerMixin, MarginClassifier):
    """Support vector machine that learns a feature transformation together with its separator.

    Minimises, over separators w, b and metrics M, ::

        1/2 w'M^{-1}w + C sum_i s_i max(0, 1 - y_i (w'x_i + b))    subject to    tr(MT) <= n

    where T is the scatter of the (standardised) features, tempered by `whitening`. Without a kernel the features need no scaling:
    the decision function does not change if features are shifted or rescaled, nor, with ``whitening=1``, under any invertible
    linear map. A kernel takes the rows as they are, as in `SVC`: scale them first.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the loss. It means what it means in `SVC` on standardised features.
    rho : float or None, default=None
        None selects the constrained form above. A number selects the penalised form ``... + rho tr(MT)`` of the paper's Eq. 12,
        in which only ``C / sqrt(rho)`` matters, and small values of it give w = 0.
    eta : float, default=0.0
        Smoothing: adds ``eta/2 tr(M^{-1})``, which gives M full rank. Zero is F-SVM, whose M has rank one; large values
        approach the semi-whitening of the paper's initialisation.
    whitening : float in [-1, 1], default=1.0
        Exponent p of T = n R^p: 1 is F-SVM, 0 the SVM on standardised features, 1/2 the semi-whitened SVM. Below 0 features are
        divided by the power 1 + p of their deviation: -1 is the SVM in the units of the data, as `SVM` is. More than 5,000
        columns cannot be whitened unless rows are few: use 0 or less.
    rank_tol : float, default=1e-4
        With whitening above 0, directions in which the standardised rows deviate by no more than this are left out (an absolute
        threshold of singular values, as in `LinearDiscriminantAnalysis`): whitening would amplify what is mostly the rounding
        of numbers in a file. Components of a kernel are compared with the largest one. 0 leaves out only directions that
        double precision cannot distinguish from zero.
    scatter : {"total", "within"}, default="total"
        Scatter about the overall mean, or pooled within the classes.
    coupling : {"separate", "shared"}, default="separate"
        With more than two classes: one metric per binary problem, or one for all, which makes `coef_` of low rank.
    multi_class : {"ovo", "ovr"} or None, default=None
        Several classes as binary problems: "ovo" compares every pair of classes and predicts by votes, as `SVC`; "ovr" compares
        every class with the rest, as `LinearSVC`, and can fail if no class outweighs the others. None is "ovo" with the
        exceptions in Notes.
    kernel : str, callable or transformer, default="linear"
        Any kernel of `KernelMap`, of the rows as they are. With a transformer, such as a `KernelMap` with other options, the model
        is linear in the features that it returns.
    gamma, degree, coef0, n_components
        Parameters of the kernel. At a whitening near 1 choose `n_components`: if all components are kept, any labels are fitted
        exactly, whatever the kernel, and a warning says so. See Notes.
    solver : {"exact", "alternating", "projected-gradient"}, default="exact"
        "alternating" alternates between M in closed form and the separator. "projected-gradient" takes gradient steps on M, as
        Algorithm 1 of the paper, and stops short of the optimum; `dual_gap_` bounds by how much.
    fit_intercept : bool, default=True
        Whether separators have an intercept. It is not penalised.
    class_weight : dict, "balanced" or None, default=None
        Class weights: factors of `sample_weight`, in the loss and in the scatter.
    tol : float, default=1e-6
        Relative duality gap to reach.
    max_iter : int, default=1000
        Newton steps, or rounds of the other solvers, for each problem.
    warm_start : bool, default=False
        Start from the previous solution if `fit` is called again on as many rows (``solver="exact"``). With a kernel at whitening
        0 only if C has not grown: otherwise it does not help.
    cache_size : float, default=500
        Megabytes of kernel values to keep in memory at whitening 0.
    n_jobs : int or None, default=None
        Threads over the binary problems of several classes, and over rows scored by a kernel; -1 takes every core.
    random_state : int, RandomState or None, default=None
        Draws the landmarks of kernel maps; not used otherwise.
    verbose : int, default=0
        1 prints a line per problem and keeps `history_`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape (n_problems, n_features)
        Separators in the user's units (with a kernel, in the features of the kernel map). Two classes have one, several classes
        one per pair of classes i < j, positive on the side of j, or one per class.
    intercept_ : ndarray of shape (n_problems,)
    components_ : ndarray of shape (rank, n_features)
        L with M = L'L. With a metric per problem, M is their mean. If M has full rank, L is symmetric in standardised units, so
        that `transform` does not depend on the user's units; else its rows are scaled eigenvectors.
    objective_, dual_objective_, dual_gap_, max_dual_gap_ : float
        Objective at the returned separators with the best metric for each, a certified lower bound of its minimum, and their
        relative difference, all summed over the binary problems; and the largest relative gap of one problem. With
        ``solver="projected-gradient"`` the metric is that at which the solver stopped.
    radius_, margin_ : ndarray of shape (n_problems,)
        Radius of the enclosing ball of the data and margin ``1 / |v|`` of the separator, in the learned metric.
    n_dropped_ : int
        Number of directions that `rank_tol` left out, such as a column that is the sum of others up to rounding.
    n_iter_ : int
        Iterations of the solver, over all problems.
    support_, support_vectors_, dual_coef_, n_support_
        With a kernel at whitening 0, as in `SVC`. There is no `coef_` then, and `components_` are combinations of the support
        vectors. `dual_objective_` is NaN if the kernel turned out not to be positive semi-definite.
    history_ : list of dict
        Objective, dual objective and gap of each round, problem after problem. Only with ``verbose`` or a solver other than
        "exact"; with rows in chunks always, the gap of all rows after each pass.
    n_passes_ : int
        Number of passes over the rows, if they come in chunks.

    Notes
    -----
    **Several classes.** ``multi_class=None`` is "ovr" instead of "ovo" in four cases: for a sparse matrix of 1,000 columns or more
    and no more rows than columns, such as text, where it is more accurate; with more than ten pairs per row (with 20 rows a
    class: more than 400 classes); if the separators of all pairs would hold more than 64 MB and ten times the numbers that X
    stores; and with ``coupling="shared"``, whose time grows with the cube of the number of problems.

    **Kernels.** At whitening 0, with the total scatter and no `eta`, `rho` or `n_components`, features are not formed: the model is
    that of `SVC`, and the certificate that of the kernel problem. Otherwise the model is linear in the components of a `KernelMap`,
    and the certificate is that of the model in those.

    **Rank.** T is a power of R on the range of R: rank-deficient data (fewer rows than features, collinear or constant features) are
    solved there. Its rank is that of the standardised rows up to `rank_tol`. At whitening 0 and below all features that vary are
    used, and sparse input of any width stays sparse. Above 0 it stays sparse if the scatter clearly has full rank; else the
    rows are projected to dense ones of that rank.

    **Threads.** Different models may be fitted in threads at the same time. One object must not be fitted by several threads at
    once, as with all estimators of scikit-learn.

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
    _previous: ClassVar[Previous | None] = None  # the previous solution, for a warm start

    C: float = 1.0
    _: KW_ONLY
    rho: float | None = None
    eta: float = 0.0
    whitening: float = 1.0
    rank_tol: float = RANK_TOL
    scatter: str = "total"
    coupling: str = "separate"
    multi_class: str | None = None
    kernel: KernelLike = "linear"
    gamma: Gamma = "scale"
    degree: int = 3
    coef0: float = 0.0
    n_components: float | None = None
    solver: str = "exact"
    fit_intercept: bool = True
    class_weight: ClassWeight = None
    tol: float = 1e-6
    max_iter: int = 1000
    warm_start: bool = False
    cache_size: float = 500
    n_jobs: int | None = None
    random_state: RandomState = None
    verbose: int = 0

    def _check_parameters(self):
        check_common(self)
        if self.rho is not None:
            check_positive("rho", self.rho)
        check_number("eta", self.eta, 0)
        check_number("whitening", self.whitening, -1, 1, high_allowed=True)
        check_number("rank_tol", self.rank_tol, 0, 1)
        check_choice("scatter", self.scatter, ("total", "within"))
        check_choice("coupling", self.coupling, ("separate", "shared"))
        check_choice("multi_class", self.multi_class, (None, "ovo", "ovr"))
        check_choice("solver", self.solver, tuple(SOLVERS))
        plain = self._is_plain and self.scatter == "total" and self.coupling == "separate"
        if self.whitening < 0 and not (plain and FeatureChoice.of(self).is_linear):
            raise ValueError(
                f"whitening={self.whitening!r} is below 0, which needs kernel='linear', eta=0, rho=None, scatter='total', "
                "coupling='separate' and solver='exact'."
            )

    def _fit_data(self, training, callbacks):
        choice = FeatureChoice.of(self)
        plain = self._is_plain and not self._is_shared(training)
        if plain and choice.has_kernel and self.whitening == 0 and self.scatter == "total":
            return self._fit_expansion(choice, training, callbacks)
        space = choice.explicit(self.whitening)
        rows = space.fit(training.X, training.costs)
        self._warn_if_degenerate(space, *rows.shape)
        if plain:
            return self._fit_plain(space, rows, training, callbacks)
        return self._fit_metric(space, rows, training, callbacks)

    @property
    def _in_pairs(self):
        return False if self.multi_class is None and self.coupling == "shared" else super()._in_pairs

    @property
    def _is_plain(self):
        """Whether the model reduces to hinge problems: no `rho`, no `eta`, exact solver."""
        return self.rho is None and self.eta == 0 and self.solver == "exact"

    def _is_shared(self, training):
        return self.coupling == "shared" and training.reduction.n_classes > 2

    def _warn_if_degenerate(self, space, n, d):
        """Warn if all n - 1 components are whitened: the Gram matrix is then I - 11'/n, whatever the kernel."""
        if isinstance(space, Raw) or self.eta > 0 or self.whitening < NEARLY_WHITE or d < n - 1:
            return
        warnings.warn(
            f"FSVM keeps all {d} components of the kernel at whitening={self.whitening:g}: it can only reproduce the labels "
            f"of its {n} training rows. Set n_components to fewer, eta > 0, or less whitening.",
            UserWarning,
            stacklevel=5,
        )

    @property
    def _rank_tol(self):
        return float(self.rank_tol) if self.whitening > 0 else 0.0

    # -- plain F-SVM: one hinge problem per binary problem ------------------------------------------------------------

    def _fit_plain(self, space, rows, training, callbacks):
        labels, costs, p = training.labels, training.costs, self.whitening
        family = Family.on(space, rows, training, self.scatter, (p,), self._rank_tol)
        keep_dropped(self, family.scatter.n_dropped)
        start = self._start(training, rows.shape[1])
        with callbacks.problems(labels):
            fit = family.fit(labels, costs, [float(self.C)], self._options, start and family.start(*start))
        results = fit.problems()
        self._keep(space, training, results, (fit.coef[0, 0], fit.intercept[0, 0]))
        self._describe(results, callbacks)
        self._remember(fit.results.alpha, (self.coef_, self.intercept_))
        self._keep_metric(family.scatter, _ranges(rows, self.coef_))

    def _keep_metric(self, scatter, ranges):
        """Set the root of the mean metric, radii and margins, from the scatter and the ranges of the scores."""
        # The metric of a problem has rank one: the radius of the enclosing ball is half the range of the scores.
        K, d = self.coef_.shape
        blocks = split(K, d) if d < K else [slice(None)]
        if len(blocks) == 1:
            white = self._white(scatter)
            unit = self._measure(ranges, np.linalg.norm(white, axis=1))
            # Taken in standardised units, so that it does not depend on the user's.
            root = metric_root(self.coef_ * scatter.scale * unit, white * unit if K > 1 else None)
        else:  # many separators: in blocks of bounded memory
            lengths = [np.linalg.norm(self._white(scatter, block), axis=1) for block in blocks]
            unit = self._measure(ranges, np.concatenate(lengths))
            root = metric_root_of_blocks(
                (self.coef_[block] * scatter.scale * unit[block], self._white(scatter, block) * unit[block])
                for block in blocks
            )
        self.components_ = root * scatter.inverse_scale

    def _white(self, scatter, block=slice(None)):
        return scatter.whitened(self.coef_[block], self.whitening) / np.sqrt(scatter.total)

    def _measure(self, ranges, lengths):
        """Set radii and margins from the ranges of scores and the norms of w; return factors of w in the mean metric's root."""
        inverse = np.divide(1.0, lengths, out=np.zeros(len(lengths)), where=lengths > 0)
        self.radius_ = ranges / 2 * inverse
        self.margin_ = np.where(lengths > 0, inverse, np.inf)
        return inverse[:, None] / np.sqrt(len(lengths))

    @property
    def _options(self):
        # 5 % of the tolerance is left for the rounding of the change to the user's units.
        return Options(0.95 * float(self.tol), int(self.max_iter), self.n_jobs, keep_alpha=bool(self.warm_start))

    def _scatter_in_chunks(self):
        if not self._is_plain or self.coupling == "shared" or self.warm_start:
            raise ValueError(
                "FSVM takes rows in chunks only with rho=None, eta=0, solver='exact', coupling='separate' and "
                "warm_start=False; for the others fit to a sample in memory."
            )
        return self.whitening > 0 or self.scatter == "within"

    def _fit_chunked(self, training):
        scatter = training.scatter(self.scatter, self._rank_tol)
        keep_dropped(self, scatter.n_dropped)
        results = self._solve_chunks(training, training.tempered(scatter, float(self.whitening)), float(self.tol))
        self._keep_metric(scatter, np.array([r.high - r.low for r in results]))
        return results

    # -- a kernel without whitening: the model of SVC, features are not formed -----------------------------------------

    def _fit_expansion(self, choice, training, callbacks):
        options = Options(float(self.tol), int(self.max_iter), self.n_jobs, keep_alpha=bool(self.warm_start))
        # Multipliers of a smaller C are a worse start than zeros: those at their bound leave it one by one.
        alpha = self._multipliers(training) if self._previous and self.C <= self._previous.C else None
        fit = fit_kernel_machine(choice, training, self.C, options, callbacks, alpha=alpha)
        self._keep_expansion(fit, training)
        keep_dropped(self, 0)
        self._remember(fit.found.alpha)
        scores, coef = (fit.found.scores[:, 0] - fit.found.intercept).T, np.asarray(fit.found.coef[:, 0])
        unit = self._measure(np.ptp(scores, axis=0), np.sqrt(np.einsum("kn,nk->k", coef, scores).clip(0)))
        self.components_ = expansion_root(scores, coef, unit)[:, fit.support]

    # -- rho, eta, a shared metric or another solver: the metric is found by iteration, in standardised units ----------

    def _fit_metric(self, space, rows, training, callbacks):
        labels, costs = training.labels, training.costs
        scatter = self._metric_scatter(space, rows, training)
        keep_dropped(self, scatter.n_dropped)
        # Centring conditions the problem, but only an intercept can undo it.
        centred = bool(self.fit_intercept) and not (sparse.issparse(rows) and scatter.regular)
        norm = MetricNorm(scatter.standardised_matrix(self.whitening), float(self.eta))
        groups = [np.arange(len(labels))] if self._is_shared(training) else np.arange(len(labels))[:, None]
        problems = self._metric_problems((rows, scatter, norm, centred), training, groups)
        results = []
        for problem in problems:
            with callbacks.problems([problem.Y]):
                results.append(SOLVERS[self.solver](problem))
        coef, intercept = scatter.lift(
            np.concatenate([r.coef for r in results]),
            np.concatenate([r.intercept for r in results]),
            centred=centred,
        )
        returned = scatter.lower(coef, intercept, centred=centred)[0]
        losses = self.C * hinge_losses(rows, (coef, intercept), labels, costs)
        results = [
            problem.returned(result, returned[group].T, losses[group].sum())
            for result, problem, group in zip(results, problems, groups, strict=True)
        ]
        self._keep(space, training, results, (coef, intercept))
        self._describe(results, callbacks)
        self._remember(np.concatenate([r.alpha for r in results]), (coef, intercept))
        roots = np.concatenate([r.root for r in results]) / np.sqrt(len(results))
        white = None if len(results) == 1 else roots @ norm.root
        root = metric_root(roots if scatter.regular else roots @ scatter.eigenvectors.T, white)
        self.components_ = root * scatter.inverse_scale
        measures = [_radius_and_margins(problem.X, norm, r) for problem, r in zip(problems, results, strict=True)]
        self.radius_ = np.concatenate([np.full(len(margins), radius) for radius, margins in measures])
        self.margin_ = np.concatenate([margins for _, margins in measures])

    def _metric_scatter(self, space, rows, training):
        if self.whitening == 0 and self.scatter == "total" and isinstance(space, Raw) and not self.fit_intercept:
            scatter = standardised_range(rows, training.costs)
        else:
            scatter = space.tempered(rows, training.codes, training.costs, self.scatter, self._rank_tol)
        if not len(scatter.eigenvalues):
            raise ValueError(NO_SPREAD)
        return scatter

    def _metric_problems(self, geometry, training, groups):
        rows, scatter, norm, centred = geometry
        penalty = Constrained(scatter.total) if self.rho is None else Penalised(float(self.rho))
        start = self._start(training, rows.shape[1])
        if start is not None:
            start = (*scatter.lower(*start[:2], centred=centred), start[2])
        X = scatter.project(rows, centred=centred)
        X, C = rows_of(sparse.csr_array(X) if sparse.issparse(X) else X), np.array([float(self.C)])
        problems = []
        for group in groups:
            losses = Batch(X, training.labels[group], training.costs, C, intercept=training.intercept)
            own = None if start is None else tuple(part[group] for part in start)
            problems.append(RadiusMarginProblem(losses, norm, penalty, self._options, own))
        return problems

    def _describe(self, results, callbacks):
        for k, result in enumerate(results):
            callbacks.report(k, result)
        if self.verbose or self.solver != "exact":
            self.history_ = [dict(entry, column=k) for k, r in enumerate(results) for entry in r.history]

    # -- warm starts ------------------------------------------------------------------------------------------------

    def _reset(self):
        """Delete fitted attributes, but keep the start of a warm start."""
        super()._reset()
        if not self.warm_start:
            self.__dict__.pop("_previous", None)

    def _remember(self, alpha, separators=()):
        if self.warm_start:  # copies: the fitted attributes are the user's
            kept = tuple(part.copy() for part in separators)
            self._previous = Previous(self.C, alpha.reshape(len(alpha), -1), kept)

    def _start(self, training, d):
        """Return (coef, intercept, alpha) of the previous fit; None if shapes differ or a separator is zero."""
        alpha = self._multipliers(training)
        if alpha is None or not self._previous.separators:
            return None
        coef, intercept = self._previous.separators
        return (coef, intercept, alpha) if coef.shape == (len(alpha), d) and coef.any(axis=1).all() else None

    def _multipliers(self, training):
        """Return the multipliers of the previous fit, rescaled to this C; None if shapes differ."""
        previous = self._previous
        if previous is None or self.solver != "exact" or previous.alpha.shape != training.labels.shape:
            return None
        # Multipliers at their bound stay there if C changes. If weights have shrunk, all multipliers shrink.
        alpha = previous.alpha / previous.C
        with np.errstate(divide="ignore", invalid="ignore"):
            excess = max(1.0, np.nanmax(alpha / training.costs))
        return alpha * (self.C / excess)


def keep_dropped(model, n_dropped):
    """Set `n_dropped_`, and print it with `verbose`."""
    model.n_dropped_ = n_dropped
    if model.verbose and n_dropped:
        print(
            f"[{type(model).__name__}] {n_dropped} direction(s) left out: the rows deviate by no more than "
            f"rank_tol={model.rank_tol:g} there"
        )


@dataclass(frozen=True, eq=False)
class Previous:
    """Solution for a warm start: C, multipliers (K, n), and (coef, intercept), which is empty for a kernel machine."""

    C: float
    alpha: np.ndarray
    separators: tuple[np.ndarray, ...]


def _ranges(rows, coef):
    """Return the ranges of the scores of separators (K, d), computed in blocks."""
    blocks = split(len(coef), rows.shape[0])
    return np.concatenate([np.ptp(np.asarray(rows @ coef[block].T), axis=0) for block in blocks])


def _radius_and_margins(rows, norm, result):
    """Return the radius of the data and the margins in the metric M = A'A: ``1 / |v|`` for ``A'v = w``."""
    # Solved in coordinates in which T is the identity: A is large in directions of little spread.
    v = lstsq((result.root @ norm.root).T, norm.root @ result.coef.T, rcond=None)[0]
    with np.errstate(divide="ignore"):
        return minimum_enclosing_ball(np.asarray(rows @ result.root.T)).radius, 1.0 / np.linalg.norm(v, axis=0)
