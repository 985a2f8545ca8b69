"""Cross-validation over kernels and C: folds are masks over shared rows of each kernel."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np

from ...problems import Batch, Options, Start
from .entry import Ways, solve_in_ways

SEARCH = Options(
    tol=1e-2, max_iter=5
)  # what choosing between members needs; five sweeps are enough where that is not met


def held_out_scores(batch: Batch, held_out, kernels, options: Options = SEARCH) -> np.ndarray:
    """Decision values of held-out rows, for every kernel, C and labelling.

    All training parts and all Cs of one kernel share its computed rows. A training part is a mask: the scores of the rows
    that it leaves out come with the solution. The gap is that of single precision, and no certificates are returned:
    what is chosen is to be fitted anew.

    Parameters
    ----------
    batch : Batch
        Rows of kind `Kernel` (whose own function is not looked at), labellings, weights, Cs, and the training parts as
        `subsets`; all combinations are solved.
    held_out : sequence of integer arrays
        The rows that each training part leaves out and is scored on. A row may be held out once.
    kernels : sequence of KernelFunction
    options : Options, default: tol=1e-2, at most 5 sweeps of n pairs
        `n_threads` is over kernels, each with its share of the cache.

    Returns
    -------
    ndarray of shape (len(kernels), len(Cs), K, n)
        NaN for rows that were never held out. A row labelled 0 in a labelling is scored by it all the same, as voting
        between pairs of classes needs.

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
    threads = min(options.threads, len(kernels))

    def of_kernel(kernel):
        rows = replace(batch.rows, function=kernel, cache_size=batch.rows.cache_size / threads)
        ways = Ways(keep_scores=True, strict=False)
        results = solve_in_ways(replace(batch, rows=rows), replace(options, n_threads=1), Start(), ways)
        out = np.full((len(batch.Cs), len(batch.labels), batch.labels.shape[1]), np.nan)
        for p, (part, label, _) in enumerate(batch.cells):
            out[:, label, held_out[part]] = results.scores[p][:, held_out[part]]
        return out

    if threads == 1:
        return np.stack([of_kernel(kernel) for kernel in kernels])
    with ThreadPoolExecutor(threads) as pool:
        return np.stack(list(pool.map(of_kernel, kernels)))


__all__ = ["SEARCH", "held_out_scores"]
