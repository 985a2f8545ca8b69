"""Cross-validation over kernels and C: folds are masks over shared rows of each kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from ...problems import Batch, ClassLabels, Options
from ..hinge.backend import one_blas_thread
from .backend import make_rows
from .entry import in_threads, problem_of, solve_one

# What choosing between members needs: at 1e-3 the choice is that of tight fits (benchmarks/kernel_search.py), at 1e-2 it is
# not. Twenty sweeps are enough where that is not met.
SEARCH = Options(tol=1e-3, max_iter=20)
_FOUR_BYTES = 4 / 2**20  # megabytes that a kernel value takes


def held_out_scores(
    batch: Batch, held_out: Sequence, kernels: Sequence, options: Options = SEARCH, race: Callable | None = None
) -> np.ndarray:
    """Decision values of held-out rows, for every kernel, C and labelling.

    All training parts and all Cs of one kernel share its computed rows. A training part is a mask: the scores of the rows
    that it leaves out come with the solution. The gap is that of single precision, and no certificates are returned:
    what is chosen is to be fitted anew.

    Parameters
    ----------
    batch : Batch
        Rows of kind `Kernel` (whose own function is not looked at), labellings (of all pairs of classes, say), weights,
        Cs, and the training parts as `subsets`; all combinations are solved.
    held_out : sequence of integer arrays
        The rows that each training part leaves out and is scored on. A row may be held out once.
    kernels : sequence of KernelFunction
        Such as one for each gamma. A member of the search is a kernel with a C.
    options : Options, default: tol=1e-3, at most 20 sweeps of n pairs
        `n_threads` is over kernels, each with its share of the cache.
    race : callable, optional
        ``race(scores, seen)`` is called after the first training part and from time to time later, with the scores so far
        in the form that is returned and the numbers of the rows that were held out so far. It returns the members that go
        on, a boolean array of shape (len(kernels), len(Cs)); a member that was dropped stays so. `unbeaten` is made for
        it. Without, all members go through all parts.

    Returns
    -------
    ndarray of shape (len(kernels), len(Cs), K, n)
        NaN for rows that were never held out, and those of training parts that a member did not go through. A row labelled
        0 in a labelling is scored by it all the same, as voting between pairs of classes needs.

    Examples
    --------
    >>> import numpy as np
    >>> from radiusmargin.features.functions import KernelFunction
    >>> from radiusmargin.problems import Batch, Kernel
    >>> from radiusmargin.solvers import held_out_scores
    >>> X = np.array([[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]])
    >>> y = np.array([[-1.0, -1.0, -1.0, 1.0, 1.0, 1.0]])
    >>> parts, held_out = ([1, 2, 4, 5], [0, 1, 3, 4]), ([0, 3], [2, 5])
    >>> batch = Batch(Kernel(X), y, np.ones(6), np.array([1.0, 10.0]), subsets=parts)
    >>> scores = held_out_scores(batch, held_out, [KernelFunction("rbf", gamma=g) for g in (0.1, 1.0, 10.0)])
    >>> scores.shape, (np.sign(scores[..., [0, 2, 3, 5]]) == y[:, [0, 2, 3, 5]]).all()
    ((3, 2, 1, 6), np.True_)
    """
    if len(held_out) != len(batch.subsets):
        raise ValueError(f"held_out must have one entry for each of {len(batch.subsets)} subsets, got {len(held_out)}.")
    order = _in_runs(batch, held_out)
    back = np.argsort(order)
    search = _Search(_reordered(batch, order, back), [back[rows] for rows in held_out], kernels, options)
    left = np.ones(search.scores.shape[:2], dtype=bool)
    for parts in search.rounds(race is not None):
        search.run(parts, left)
        if race is not None and parts[-1] + 1 < len(held_out):
            left &= race(search.scores[..., back], np.concatenate(held_out[: parts[-1] + 1]))
    return search.scores[..., back]


def _in_runs(batch, held_out):
    """An order of the rows in which those that take part in a problem come in few runs."""
    part = np.zeros(batch.rows.shape[0], dtype=int)
    for p, rows in enumerate(held_out):
        part[rows] = p
    if len(batch.labels) == 1:
        return np.argsort(part, kind="stable")
    classes = (batch.labels.codes,) if isinstance(batch.labels, ClassLabels) else batch.labels
    return np.lexsort((part, *classes))


def _reordered(batch, order, back):
    rows = replace(batch.rows, X=batch.rows.X[order])
    labels = batch.labels
    labels = replace(labels, codes=labels.codes[order]) if isinstance(labels, ClassLabels) else labels[:, order]
    parts = tuple(back[part] for part in batch.subsets)
    return replace(batch, rows=rows, labels=labels, weights=batch.weights[order], subsets=parts)


class _Search:
    def __init__(self, batch, held_out, kernels, options):
        self.batch, self.held_out, self.kernels = batch, held_out, kernels
        self.ascending = np.argsort(batch.Cs, kind="stable")
        self.how = options.tol, options.max_iter, batch.intercept, False
        self.threads = min(options.threads, len(kernels))
        self.scores = np.full((len(kernels), len(batch.Cs), *batch.labels.shape), np.nan)
        self.kept = {} if self._all_fit() else None  # rows of kernels, for the next round

    def _all_fit(self):
        return len(self.kernels) * self.batch.rows.shape[0] ** 2 * _FOUR_BYTES <= self.batch.rows.cache_size / 2

    def rounds(self, racing):
        """Training parts that are gone through at a time: rows of a kernel that are not kept are computed in each round."""
        P = len(self.held_out)
        if not racing or P == 1:
            return [range(P)]
        return [range(p, p + 1) for p in range(P)] if self.kept is not None else [range(1), range(1, P)]

    def run(self, parts, members):
        """Score the members on some parts."""
        with one_blas_thread():
            in_threads(partial(self._score_kernel, parts, members), np.flatnonzero(members.any(axis=1)), self.threads)

    def _score_kernel(self, parts, members, g, check):
        rows, chosen = self._rows(g), self.ascending[members[g][self.ascending]]
        solve = partial(solve_one, rows, Cs=self.batch.Cs[chosen], how=self.how, callback=lambda pairs, gap: check())
        for p, (part, label, _) in enumerate(self.batch.cells):
            if part in parts:
                _, scores, *_ = solve(*problem_of(self.batch, p), None)
                test = self.held_out[part]
                self.scores[np.ix_([g], chosen, [label], test)] = scores[None, :, None, test]

    def _rows(self, g):
        if self.kept is not None and g in self.kept:
            return self.kept[g]
        form = replace(self.batch.rows, function=self.kernels[g])
        rows = make_rows(form, form.cache_size / (self.threads if self.kept is None else len(self.kernels)))
        if self.kept is not None:
            self.kept[g] = rows
        return rows


def unbeaten(right: np.ndarray, n: int, *, band: float = 1.0, z: float = 2.0) -> np.ndarray:
    """Members of a search that may still be the best, or near it, by the rows that were scored so far.

    A member is beaten if the best so far is right on more rows than it, beyond chance (the sign test on the rows that one
    of the two has right and the other wrong), and beyond what may be averaged with the best in the end.

    Parameters
    ----------
    right : ndarray of bool, of shape (..., m)
        Whether a member is right on each of m rows; False for members that were dropped before.
    n : int
        Rows that there are to score in all.
    band : float, default=1
        Standard errors (of an accuracy on n rows) around the best within which members are wanted.
    z : float, default=2
        Standard deviations that count as beyond chance.

    Returns
    -------
    ndarray of bool, of the shape of `right` without its last axis

    Examples
    --------
    >>> import numpy as np
    >>> from radiusmargin.solvers.kernel import unbeaten
    >>> unbeaten(np.arange(40) < np.array([[36], [34], [10]]), 200)
    array([ True,  True, False])
    """
    hits, m = right.sum(axis=-1), right.shape[-1]
    best = right[np.unravel_index(np.argmax(hits), hits.shape)]
    differ = (right != best).sum(axis=-1)
    share = (hits.max() + 1) / (m + 2)
    near = band * m * np.sqrt(share * (1 - share) / n)
    return hits.max() - hits <= near + z * np.sqrt(differ)


__all__ = ["SEARCH", "held_out_scores", "unbeaten"]
