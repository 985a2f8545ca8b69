"""Hinge problems on chunks, solved together in passes over all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..solvers import Options
from . import strategy
from .iterate import ChunkedResult, Search
from .known import Known
from .overview import Look, Overview
from .probe import Questions
from .problem import ChunkedProblem, Source
from .strategy import Limits

DEFAULT = Limits()


def look(source: Source, limits: Limits = DEFAULT, *, full: bool = True) -> Overview:
    """The first pass: classes, moments and a sample.

    Parameters
    ----------
    source : Source
    limits : Limits, optional
    full : bool, default=True
        Whether scatter matrices are needed.
    """
    d, n = source.n_features or 1, source.n_rows
    rows = limits.sample(n, d)
    share = 2 * rows / n if n else float("inf")
    overview = source.reduce(Look(rows, share, full), "first-look")
    if not overview.seen:
        raise ValueError("there is no row of positive weight in any chunk.")
    return overview


def solve_chunked(
    source: Source,
    problems: Sequence[ChunkedProblem],
    overview: Overview,
    options: Options | None = None,
    limits: Limits = DEFAULT,
    report: Callable | None = None,
) -> list[ChunkedResult]:
    """Solve hinge problems on all rows of a source to a certified relative gap, every pass serving all of them.

    Parameters
    ----------
    source : Source
        Its chunks are read once for every pass, and checked to be the same each time.
    problems : sequence of ChunkedProblem
        In the order of ``overview.classes``.
    overview : Overview
        Of the same source (`look`).
    options : Options, optional
        `max_iter` bounds the passes, and the steps of every reduced problem.
    limits : Limits, optional
    report : callable, optional
        Called after every pass with its number and the searches that took part.

    Returns
    -------
    list of ChunkedResult
        With a `history` of one entry per pass after the first: the gap over all rows, and how many were near the margin.

    Raises
    ------
    ChangedChunkError
        Where a chunk was not the same when it was read again.
    """
    options = options or Options()
    most_near = limits.near(overview.n_features, len(problems))
    samples = _samples(problems, overview, limits)
    searches = [
        Search(problem, samples[problem.signs.tobytes()].priced(problem.costs), options, overview.rows, most_near)
        for problem in problems
    ]
    number = 1
    while active := [search for search in searches if not search.finished]:
        number += 1
        probes = tuple(search.probe for search in active)
        name = "newton-step" if all(search.newton for search in active) else "near-the-margin"
        answers = source.reduce(Questions(probes, overview.classes), f"{name}-{number}")
        overview.check(answers.fingerprints)
        for k, search in enumerate(active):
            search.take(answers.answers[k], float(answers.low[k]), float(answers.high[k]))
        if report:
            report(number, active)
    return [search.result() for search in searches]


def _samples(problems, overview, limits):
    """The sampled rows of every labelling, which its problems share; of many labellings fewer for each."""
    labellings = {problem.signs.tobytes(): problem.signs for problem in problems}
    rows = sum(len(s) for signs in labellings.values() for s, y in zip(overview.samples(), signs, strict=True) if y)
    share = min(1.0, limits.sample_numbers / ((overview.n_features + 1) * rows))
    if share < 1.0:
        overview = overview.cut(max(strategy.BALANCE, int(share * max(len(s) for s in overview.samples()))))
    return {key: Known.of(signs, overview) for key, signs in labellings.items()}


__all__ = ["look", "solve_chunked"]
