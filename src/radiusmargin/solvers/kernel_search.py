"""Cross-validation over kernels and C: folds are masks over shared rows of each kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from threading import Lock

import numpy as np

from .._checks import check_rows
from .hinge import one_blas_thread
from .kernel import PairOptions, in_threads, make_rows, problem_of, solve_one
from .problem import Batch, ClassLabels, Options

# Tolerance from which members are only scored, and not asked for their last digit: their gap is then estimated in single
# precision, relative to the loss of a separator that is zero, and so many sweeps are enough.
SCORED, SWEEPS = 1e-4, 20
_MOST_ROUNDS = 10  # of a race: of leave-one-out, say, to ask after every row would take longer than it saves
_FOUR_BYTES = 4 / 2**20  # megabytes that a kernel value takes


def search_kernels(
    batch: Batch, held_out: Sequence, kernels: Sequence, options: Options, tell: Callable, race: Callable | None = None
) -> None:
    """Decision values of held-out rows, for every kernel, C and labelling.

    All training parts and all Cs of one kernel share its computed rows. A training part is a mask: the scores of the rows
    that it leaves out come with the solution. With a tolerance of 1e-4 or more members are only scored: the gap is estimated
    in single precision, relative to the loss of a separator that is zero, and members that have not met it after twenty
    sweeps stop there. No certificates are returned: what is chosen is to be fitted anew.

    Parameters
    ----------
    batch : Batch
        Rows of kind `Kernel` (whose own function is not looked at), labellings (of all pairs of classes, say), weights,
        Cs, and the training parts as `subsets`; all combinations are solved.
    held_out : sequence of integer arrays
        The rows that each training part leaves out and is scored on.
    kernels : sequence of KernelFunction
        Such as one for each gamma; None is the matrix that the rows are. A member of the search is a kernel with a C.
    options : Options
        `n_threads` is over kernels, each with its share of the cache.
    tell : callable
        ``tell(kernel, Cs, part, scores)`` is called, by one thread at a time, with the number of a kernel, numbers of Cs, the
        number of a training part and an array of shape (len(Cs), K, len(held_out[part])). A row labelled 0 in a labelling is
        scored by it all the same, as voting between pairs of classes needs.
    race : callable, optional
        ``race(parts)`` is called after the first training part, with the numbers of the parts that were gone through, and
        after the others too (after every tenth of very many) where rows of all kernels fit into half of the cache. It
        returns the members that go on, a boolean array of shape (len(kernels), len(Cs)); one that was dropped stays
        so. Without, all members go through all parts.

    Examples
    --------
    >>> import numpy as np
    >>> from radiusmargin.kernels import KernelFunction
    >>> from radiusmargin.solvers import Batch, Kernel, Options
    >>> from radiusmargin.solvers import search_kernels
    >>> X = np.array([[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]])
    >>> y = np.array([[-1.0, -1.0, -1.0, 1.0, 1.0, 1.0]])
    >>> parts, held_out = ([1, 2, 4, 5], [0, 1, 3, 4]), (np.array([0, 3]), np.array([2, 5]))
    >>> batch = Batch(Kernel(X), y, np.ones(6), np.array([1.0, 10.0]), subsets=parts)
    >>> right = []
    >>> def tell(kernel, Cs, part, scores):
    ...     right.append(bool((np.sign(scores[:, 0]) == y[0, held_out[part]]).all()))
    >>> search_kernels(batch, held_out, [KernelFunction("rbf", gamma=g) for g in (0.1, 1.0)], Options(1e-3), tell)
    >>> right
    [True, True, True, True]
    """
    if len(held_out) != len(batch.subsets):
        raise ValueError(f"held_out must have one entry for each of {len(batch.subsets)} subsets, got {len(held_out)}.")
    if not len(kernels):
        raise ValueError("kernels must hold at least one kernel, got none.")
    held_out = check_rows(held_out, batch.rows.shape[0], "held_out")
    for kernel in kernels:
        replace(batch.rows, function=kernel).check_values()
    order = _in_runs(batch, held_out)
    back = np.argsort(order)
    search = _Search(
        _reordered(batch, kernels[0], order, back), [back[rows] for rows in held_out], kernels, options, tell
    )
    left = np.ones((len(kernels), len(batch.Cs)), dtype=bool)
    for parts in search.rounds(race is not None):
        search.run(parts, left)
        if race is not None and parts[-1] + 1 < len(held_out):
            left &= race(range(parts[-1] + 1))


def _in_runs(batch, held_out):
    """An order of the rows in which those that take part in a problem come in few runs."""
    part = np.zeros(batch.rows.shape[0], dtype=int)
    for p, rows in enumerate(held_out):
        part[rows] = p
    if len(batch.labels) == 1:
        return np.argsort(part, kind="stable")
    classes = (batch.labels.codes,) if isinstance(batch.labels, ClassLabels) else batch.labels
    return np.lexsort((part, *classes))


def _reordered(batch, kernel, order, back):
    rows = replace(batch.rows, function=kernel).part(order)
    labels = batch.labels
    labels = replace(labels, codes=labels.codes[order]) if isinstance(labels, ClassLabels) else labels[:, order]
    parts = tuple(back[part] for part in batch.subsets)
    return replace(batch, rows=rows, labels=labels, weights=batch.weights[order], subsets=parts)


def _how(options, intercept):
    is_strict = options.tol < SCORED
    sweeps = options.max_iter if is_strict else min(SWEEPS, options.max_iter)
    return PairOptions(options.tol, sweeps, intercept, is_strict)


class _Search:
    def __init__(self, batch, held_out, kernels, options, tell):
        self.batch, self.held_out, self.kernels = batch, held_out, kernels
        self.ascending = np.argsort(batch.Cs, kind="stable")
        self.how = _how(options, batch.intercept)
        self.threads = min(options.threads, len(kernels))
        self.tell, self.lock = tell, Lock()
        self.kept = {} if self._all_fit() else None  # rows of kernels, for the next round

    def _all_fit(self):
        return len(self.kernels) * self.batch.rows.shape[0] ** 2 * _FOUR_BYTES <= self.batch.rows.cache_size / 2

    def rounds(self, racing):
        """Training parts that are gone through at a time: rows of a kernel that are not kept are computed in each round."""
        P = len(self.held_out)
        if not racing or P == 1:
            return [range(P)]
        if self.kept is None:
            return [range(1), range(1, P)]
        return [range(part[0], part[-1] + 1) for part in np.array_split(np.arange(P), min(P, _MOST_ROUNDS))]

    def run(self, parts, members):
        """Score the members on some parts."""
        with one_blas_thread():
            in_threads(partial(self._score_kernel, parts, members), np.flatnonzero(members.any(axis=1)), self.threads)

    def _score_kernel(self, parts, members, g, check):
        rows, chosen = self._rows(g), self.ascending[members[g][self.ascending]]
        how = replace(self.how, callback=lambda pairs, gap: check())
        solve = partial(solve_one, rows, Cs=self.batch.Cs[chosen], options=how)
        for part in parts:
            test, problems = self.held_out[part], np.flatnonzero(self.batch.cells[:, 0] == part)
            scores = np.empty((len(chosen), len(self.batch.labels), len(test)))
            for p in problems:
                scores[:, self.batch.cells[p, 1]] = solve(*problem_of(self.batch, p), None)[1][:, test]
            with self.lock:
                self.tell(g, chosen, part, scores)

    def _rows(self, g):
        if self.kept is not None and g in self.kept:
            return self.kept[g]
        form = replace(self.batch.rows, function=self.kernels[g])
        rows = make_rows(form, form.cache_size / (self.threads if self.kept is None else len(self.kernels)))
        if self.kept is not None:
            self.kept[g] = rows
        return rows


__all__ = ["search_kernels"]
