"""Cross-validation over kernels and C: folds are masks over the shared rows of each kernel matrix."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import NamedTuple

import numpy as np

from .._checks import check_rows
from .hinge import one_blas_thread
from .kernel import PairOptions, in_threads, kernel_rows, make_rows, problem_of, solve_one
from .problem import Batch, ClassLabels, Options, Targets

# From this tolerance on, fits are only scored: their gap is estimated in single precision, relative to the loss of the zero
# separator, and they stop after a few sweeps.
SCORED, SWEEPS = 1e-4, 20
MOST_ROUNDS = 10  # racing after every row of leave-one-out, say, would take longer than it saves
_MEGABYTES_PER_VALUE = 4 / 2**20  # in single precision


class FoldScores(NamedTuple):
    """Decision values of the held-out rows of one fold.

    Attributes
    ----------
    kernel : int
        Number of the kernel.
    Cs : ndarray of int
        Numbers of the values of C.
    fold : int
        Number of the training part.
    values : ndarray of shape (len(Cs), labellings, held-out rows)
        A row labelled 0 in a labelling is scored by it all the same, as voting between pairs of classes needs.
    """

    kernel: int
    Cs: np.ndarray
    fold: int
    values: np.ndarray


class KernelSearch:
    """Decision values of held-out rows for every kernel, C and labelling.

    All folds and all values of C of one kernel share its computed rows. A fold is a mask: the scores of the rows that it
    leaves out come with the solution. With a tolerance of 1e-4 or more fits are only scored: the gap is estimated in single
    precision, relative to the loss of the zero separator, and fits that have not met it after twenty sweeps stop there. No
    certificates are returned: fit anew what is chosen.

    Parameters
    ----------
    batch : Batch
        Rows of kind `Kernel` (whose own function is not used), labellings, weights, Cs, and the training parts as
        `subsets`.
    held_out : sequence of integer arrays
        The rows that each training part leaves out and is scored on.
    kernels : sequence of KernelFunction
        Such as one for each gamma; None is the matrix that the rows are.
    options : Options
        `n_threads` is over kernels, each with its share of the cache.

    Examples
    --------
    >>> import numpy as np
    >>> from radiusmargin.kernels import KernelFunction
    >>> from radiusmargin.solvers import Batch, Kernel, KernelSearch, Options
    >>> X = np.array([[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]])
    >>> y = np.array([[-1.0, -1.0, -1.0, 1.0, 1.0, 1.0]])
    >>> folds, held_out = ([1, 2, 4, 5], [0, 1, 3, 4]), (np.array([0, 3]), np.array([2, 5]))
    >>> batch = Batch(Kernel(X), y, np.ones(6), np.array([1.0, 10.0]), subsets=folds)
    >>> search = KernelSearch(batch, held_out, [KernelFunction("rbf", gamma=g) for g in (0.1, 1.0)], Options(1e-3))
    >>> [bool((np.sign(found.values[:, 0]) == y[0, held_out[found.fold]]).all()) for found in search.scores()]
    [True, True, True, True]
    """

    def __init__(self, batch: Batch, held_out: Sequence, kernels: Sequence, options: Options):
        if len(held_out) != len(batch.subsets):
            raise ValueError(
                f"held_out must have one entry for each of {len(batch.subsets)} subsets, got {len(held_out)}."
            )
        if not len(kernels):
            raise ValueError("kernels must hold at least one kernel, got none.")
        held_out = check_rows(held_out, batch.rows.shape[0], "held_out")
        rows = kernel_rows(batch)
        for kernel in kernels:
            rows.with_function(kernel).check_values()
        order = _in_runs(batch, held_out)
        back = np.argsort(order)
        self.batch = _reordered(batch, kernels[0], order, back)
        self.held_out, self.kernels = [back[part] for part in held_out], kernels
        self.ascending = np.argsort(batch.Cs, kind="stable")
        self.options = _pair_options(options, batch.intercept)
        self.threads = min(options.threads, len(kernels))
        fits = len(kernels) * batch.rows.shape[0] ** 2 * _MEGABYTES_PER_VALUE <= rows.cache_size / 2
        self._rows_of_kernels: dict | None = {} if fits else None  # kept from one call to the next

    def rounds(self) -> list[range]:
        """Folds to score at a time, where candidates are to be dropped in between.

        Where the rows of all kernels do not fit in half of the cache there are two rounds only, since every round computes
        them anew.
        """
        n = len(self.held_out)
        if self._rows_of_kernels is None:
            return [range(1), range(1, n)] if n > 1 else [range(n)]
        return [range(part[0], part[-1] + 1) for part in np.array_split(np.arange(n), min(n, MOST_ROUNDS))]

    def scores(self, folds: Sequence[int] | None = None, candidates: np.ndarray | None = None) -> Iterator[FoldScores]:
        """Fit and yield the scores of each kernel and fold.

        Parameters
        ----------
        folds : sequence of int, optional
            Numbers of training parts; default: all.
        candidates : bool array of shape (kernels, Cs), optional
            Which combinations to fit; default: all.
        """
        folds = range(len(self.held_out)) if folds is None else folds
        if candidates is None:
            candidates = np.ones((len(self.kernels), len(self.batch.Cs)), dtype=bool)
        kernels = np.flatnonzero(candidates.any(axis=1)).tolist()
        with one_blas_thread():
            if self.threads == 1:
                for g in kernels:
                    yield from self._score_kernel(g, folds, candidates[g])
            else:
                found = in_threads(
                    lambda g, check: list(self._score_kernel(g, folds, candidates[g], check)), kernels, self.threads
                )
                yield from chain.from_iterable(found)

    def _score_kernel(self, g, folds, wanted, check=lambda: None):
        """Yield the scores of one kernel; `check` raises where another thread has failed."""
        rows, chosen = self._rows(g), self.ascending[wanted[self.ascending]]
        options = replace(self.options, callback=lambda pairs, gap: check())
        solve = partial(solve_one, rows, Cs=self.batch.Cs[chosen], options=options)
        for fold in folds:
            test, problems = self.held_out[fold], np.flatnonzero(self.batch.cells[:, 0] == fold)
            values = np.empty((len(chosen), len(self.batch.labels), len(test)))
            for p in problems:
                values[:, self.batch.cells[p, 1]] = solve(*problem_of(self.batch, p), None)[1][:, test]
            yield FoldScores(g, chosen, fold, values)

    def _rows(self, g):
        kept = self._rows_of_kernels
        if kept is not None and g in kept:
            return kept[g]
        form = self.batch.rows.with_function(self.kernels[g])
        rows = make_rows(form, form.cache_size / (self.threads if kept is None else len(self.kernels)))
        if kept is not None:
            kept[g] = rows
        return rows


def _in_runs(batch, held_out):
    """An order of the rows in which those that take part in a problem come in few runs."""
    fold = np.zeros(batch.rows.shape[0], dtype=int)
    for i, rows in enumerate(held_out):
        fold[rows] = i
    if len(batch.labels) == 1 or isinstance(batch.labels, Targets):
        return np.argsort(fold, kind="stable")
    classes = (batch.labels.codes,) if isinstance(batch.labels, ClassLabels) else batch.labels
    return np.lexsort((fold, *classes))


def _reordered(batch, kernel, order, back):
    """The batch with its rows in another order."""
    rows = batch.rows.with_function(kernel).part(order)
    labels = batch.labels
    if isinstance(labels, Targets):
        labels = labels.reordered(order)
    else:
        labels = replace(labels, codes=labels.codes[order]) if isinstance(labels, ClassLabels) else labels[:, order]
    subsets = tuple(back[part] for part in batch.subsets)
    return replace(batch, rows=rows, labels=labels, weights=batch.weights[order], subsets=subsets)


def _pair_options(options, intercept):
    is_strict = options.tol < SCORED
    sweeps = options.max_iter if is_strict else min(SWEEPS, options.max_iter)
    return PairOptions(options.tol, sweeps, intercept, is_strict)


__all__ = ["FoldScores", "KernelSearch"]
