"""Scores of candidates on held-out rows, and the choice from them.

In this order: the data of a search, the table of scores, the rules that choose from it, progress and callbacks while a search
runs, and the held-out decision values that calibration and the score of an ensemble need.
"""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from .._blocks import split
from .._compat import callback_context, reported_task
from ..estimators.base import TrainingData
from ..estimators.decision import parts_of_problems, sigmoids
from ..multiclass import class_weights
from .candidates import Candidate
from .scorers import score_values

BLOCK = 1 << 20  # decision values that are formed at a time
# Most candidates of one kernel in an average: no worse than all near-best ones (benchmarks/auto_choices.py), and on a fine grid
# better than eight (benchmarks/kernel_search.py).
MOST_CANDIDATES = 16
# Of each of several kernels, by log-loss on held-out rows, and how their likelihoods become weights. On the sets to choose on the
# log-loss is .008 lower than with equal weights of all near-best candidates, on the others level (benchmarks/kernel_weights.py);
# an average holds less than half as many candidates.
MOST_OF_EACH = 4
LIKELIHOOD = 0.25  # power of the likelihood of a kernel that is its weight
LEAST_WEIGHT = 0.2  # against the largest: kernels below it are left out
# Rows times candidates of a final fit. With 5 candidates at 20,000 rows the average is as accurate as with 24, and with one per
# kernel 0.1 to 0.3 points less. Up to 2,000 rows it leaves every average as it is.
FITTED_ROWS = 100_000
# Standard errors by which the band is wider for candidates that go on to more rows: theirs are half as large there.
MARGIN = 1.0
TIE = 1e-12  # scores closer than this are equal
BAR_WIDTH = 30


# -- The data of a search ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SearchData:
    """Validated training data, and splits (train, test) of its rows.

    Attributes
    ----------
    training : TrainingData
    splits : list of (train, test) row numbers
    classes : ndarray
    class_weight : as in `FSVM`
        Computed for every training part.
    scoring : str, callable or None
    criterion : str
        "cv", or a criterion that needs no folds.
    pairwise : bool
        Whether X is a precomputed kernel, whose columns are training rows too.
    """

    training: TrainingData
    splits: list
    classes: np.ndarray
    class_weight: Any = None
    scoring: Any = None
    criterion: str = "cv"
    pairwise: bool = False

    @property
    def by_accuracy(self) -> bool:
        return self.scoring is None or self.scoring == "accuracy"

    @property
    def scores_are_shares(self) -> bool:
        """Whether a score is the share of held-out rows that are classified correctly."""
        return self.criterion == "cv" and self.by_accuracy

    def rows(self, index, train):
        """Return rows of X; of a precomputed kernel, their kernel values with the rows `train`."""
        X = self.training.X
        return X[np.ix_(index, train)] if self.pairwise else X[index]

    def factors(self, train):
        """Compute the class weights of a training part."""
        return class_weights(self.class_weight, self.classes, self.training.codes[train], self.training.weight[train])

    def part(self, i) -> TrainingData:
        """Return the training part of split i."""
        train, whole = self.splits[i][0], self.training
        return replace(
            whole, X=self.rows(train, train), codes=whole.codes[train], weight=whole.weight[train], kept=train,
            factors=self.factors(train),
        )  # fmt: skip

    def held_out(self, i) -> HeldOut:
        test = self.splits[i][1]
        return HeldOut(self, self.training.codes[test], self.training.weight[test])


@dataclass(frozen=True, eq=False)
class HeldOut:
    """True classes and weights of the rows that a split holds out."""

    data: SearchData
    codes: np.ndarray
    weight: np.ndarray

    def score(self, coef, intercept, rows, on_scores=None):
        """Score candidates with separators (P, C, K, d) on these rows, given in the space of the separators; returns (P, C)."""
        shape, (K, d), found = coef.shape[:2], coef.shape[2:], []
        coef, intercept = coef.reshape(-1, K, d), intercept.reshape(-1, K)
        for block in split(len(coef), K * len(self.codes), BLOCK):
            values = _products(coef[block].reshape(-1, d), rows).reshape(-1, K, len(self.codes))
            values += intercept[block][..., None]
            found.append(self.score_values(values, on_scores, block))
        return np.concatenate(found).reshape(shape)

    def score_values(self, values, on_scores=None, block=slice(None)):
        """Score a block of M candidates by their decision values (M, K, n) on these rows.

        `on_scores`, if given, is called with the block, the values and which rows are classified correctly.
        """
        if self.data.by_accuracy:
            correct = self.data.training.reduction.predict(values.swapaxes(1, 2)) == self.codes
            if on_scores:
                on_scores(block, values, correct)
            return correct @ self.weight / self.weight.sum()
        if on_scores:
            on_scores(block, values, [None] * len(values))
        return score_values(values, self)


def _products(coef, rows):
    """Return products of shape (separators, rows)."""
    return np.asarray(rows @ coef.T).T if sparse.issparse(rows) else coef @ rows.T


# -- The table of scores -------------------------------------------------------------------------------------------------


class ScoreTable:
    """Scores of candidates on splits; NaN where there is none yet.

    Attributes
    ----------
    scores : dict of Candidate to ndarray of shape (n_splits,)
    rows : dict of Candidate to int
        Number of rows that a candidate was scored on, those of its training parts included.
    dropped : set of Candidate
        Candidates that racing or an earlier round has eliminated; they are not chosen.
    """

    def __init__(self, n_splits, n_rows=0):
        self.n_splits, self.n_rows = n_splits, n_rows
        self.rows: dict[Candidate, int] = {}
        self.scores: dict[Candidate, np.ndarray] = {}
        self.dropped: set[Candidate] = set()
        self._ordered: list[Candidate] = []

    def set(self, candidate, splits, values):
        """Set the score of a candidate on one split, or its scores on several."""
        scores = self.scores.get(candidate)
        if scores is None:
            scores = self.scores[candidate] = np.full(self.n_splits, np.nan)
            self.rows[candidate] = self.n_rows
        scores[splits] = values

    def keep_eliminated(self, earlier, survivors):
        """Take over the candidates that a round on fewer rows has eliminated, with their scores there."""
        out = [c for c in earlier.scores if c not in survivors]
        shared = min(self.n_splits, earlier.n_splits)
        for candidate in out:
            self.set(candidate, slice(shared), earlier.scores[candidate][:shared])
            self.rows[candidate] = earlier.rows[candidate]
        self.dropped |= set(out)

    def candidates(self) -> list[Candidate]:
        """Return all candidates in order of preference."""
        if len(self._ordered) != len(self.scores):
            self._ordered = sorted(self.scores, key=lambda candidate: candidate.preference)
        return self._ordered

    def standing(self) -> list[Candidate]:
        """Return the candidates that were not dropped, in order of preference."""
        return [c for c in self.candidates() if c not in self.dropped]

    def values(self) -> np.ndarray:
        """Return an array with a row per candidate, in order of preference, and a column per split."""
        return np.array([self.scores[c] for c in self.candidates()])

    def finished(self) -> np.ndarray:
        """Return the mask of splits on which every candidate that was not dropped has a score."""
        return ~np.isnan([self.scores[c] for c in self.standing()]).any(axis=0)

    def remove_unfinished(self):
        """After an interrupt: remove candidates that have only some of their scores, if others have all."""
        whole = {c: values for c, values in self.scores.items() if c in self.dropped or not np.isnan(values).any()}
        self.scores = whole if whole.keys() - self.dropped else self.scores

    def means(self, candidates) -> np.ndarray:
        """Average scores over the finished splits."""
        return self._finished_values(candidates).mean(axis=1)

    def errors(self, candidates) -> np.ndarray:
        """Return standard errors of the mean scores; zero for a single split."""
        values = self._finished_values(candidates)
        n = values.shape[1]
        return values.std(axis=1, ddof=1) / np.sqrt(n) if n > 1 else np.zeros(len(values))

    def _finished_values(self, candidates):
        return np.array([self.scores[c] for c in candidates])[:, self.finished()]

    def cv_results(self, searched, seconds) -> dict:
        """Convert to GridSearchCV's ``cv_results_``; `seconds` maps "fit" and "score" to the time of each split."""
        candidates, done = self.candidates(), self.finished()
        values = self.values()[:, done]
        mean = np.nanmean(values, axis=1)
        dropped = np.array([c in self.dropped for c in candidates])
        rounded = np.round(mean - (mean.max() + 1) * dropped, 12)  # dropped candidates rank last
        results = {"params": [c.params(searched) for c in candidates]}
        for name in searched:
            column = [getattr(c, name) for c in candidates]
            dtype = None if len({type(value) for value in column}) == 1 else object
            results[f"param_{name}"] = np.ma.array(np.array(column, dtype=dtype))
        for what, spent in seconds.items():  # candidates were fitted together: each has an equal share
            shares = spent[: len(done)][done] / len(candidates)
            results[f"mean_{what}_time"] = np.full(len(candidates), shares.mean())
            results[f"std_{what}_time"] = np.full(len(candidates), shares.std())
        results |= {f"split{i}_test_score": values[:, i] for i in range(values.shape[1])}
        return results | {
            "mean_test_score": mean,
            "std_test_score": np.nanstd(values, axis=1),
            "rank_test_score": (1 + (rounded > rounded[:, None]).sum(axis=1)).astype(np.int32),
            "given_up": dropped,
            "n_rows": np.array([self.rows[c] for c in candidates]),
        }


def largest_problem(training: TrainingData) -> int:
    """Return the number of rows of the largest binary problem."""
    counts = np.bincount(training.codes)
    return int(np.sort(counts)[-2:].sum() if training.reduction.pairs else counts.sum())


# -- Choosing -----------------------------------------------------------------------------------------------------------


def best_candidate(table: ScoreTable, among=None) -> Candidate:
    """Return the candidate with the best mean score; ties go to the preferred one."""
    candidates = table.standing() if among is None else among
    mean = table.means(candidates)
    return candidates[int(np.argmax(mean >= mean.max() - TIE))]


def near_best(table: ScoreTable, band, among=None) -> list[Candidate]:
    """Return every candidate within `band` standard errors of the best mean score."""
    candidates = table.standing() if among is None else among
    mean, error = table.means(candidates), table.errors(candidates)
    top = int(np.argmax(mean))
    return [c for c, value in zip(candidates, mean, strict=True) if value >= mean[top] - band * error[top] - TIE]


def ensemble_weights(table: ScoreTable, band, rows=0, held_out: HeldOutValues | None = None) -> dict[Candidate, float]:
    """Return the candidates to average, with their weights.

    Kernels take part whose best candidate is within `band` standard errors of the best of all; within a kernel, the candidates
    near its best with equal shares. Of kernels that are not linear these are at most the best sixteen of each, and fewer if they
    are to be fitted to many `rows`. Several kernels have weights by their likelihood on held-out rows, if values are given.
    """
    kernels: dict[Any, list[Candidate]] = {}
    for candidate in table.standing():
        kernels.setdefault(candidate.kernel, []).append(candidate)
    leaders = {best_candidate(table, own): own for own in kernels.values()}
    chosen = [near_best(table, band, leaders[leader]) for leader in near_best(table, band, list(leaders))]
    most = _most_candidates(rows, sum(own[0].kernel != "linear" for own in chosen))
    if len(kernels) > 1 and held_out:
        return _weights_by_likelihood([_few(table, own, most) for own in chosen], held_out)
    near = [_few(table, own, most) for own in chosen]
    return {candidate: 1 / (len(near) * len(own)) for own in near for candidate in own}


def _weights_by_likelihood(kernels, held_out) -> dict[Candidate, float]:
    """Return weights of the likeliest few of the given candidates of every kernel, and of the kernels by their averages."""
    candidates = [c for own in kernels for c in own]
    losses = dict(zip(candidates, held_out.log_losses([{c: 1.0} for c in candidates]), strict=True))
    likely = [sorted(own, key=lambda c: losses[c])[:MOST_OF_EACH] for own in kernels]
    averages = np.array(held_out.log_losses([held_out.over_sizes(own) for own in likely]))
    weights = np.exp(-LIKELIHOOD * held_out.counts.sum() * (averages - averages.min()))
    weights[weights < LEAST_WEIGHT] = 0.0
    weights /= weights.sum()
    some = {c: weight / len(own) for own, weight in zip(likely, weights, strict=True) for c in own if weight}
    return {c: some[c] for c in candidates if c in some}


def survivors(table: ScoreTable, band) -> list[Candidate]:
    """Return the candidates to score on more rows: of every kernel that may be averaged those that may be, in a wider band."""
    wide = band + MARGIN
    kernels: dict[Any, list[Candidate]] = {}
    for candidate in table.standing():
        kernels.setdefault(candidate.kernel, []).append(candidate)
    leaders = {best_candidate(table, own): own for own in kernels.values()}
    return [
        c
        for leader in near_best(table, wide, list(leaders))
        for c in _few(table, near_best(table, wide, leaders[leader]))
    ]


def _most_candidates(rows, kernels):
    """Return how many candidates of each of some kernels to fit to many rows: one or more, at most sixteen."""
    return int(min(MOST_CANDIDATES, max(1, FITTED_ROWS // max(1, rows * kernels))))


def _few(table, candidates, most=MOST_CANDIDATES):
    """Return the best candidates of a kernel. All linear candidates: their average is one model."""
    if candidates[0].kernel == "linear" or len(candidates) <= most:
        return candidates
    best = np.argsort(-table.means(candidates), kind="stable")[:most]
    return [candidates[i] for i in sorted(best)]


# -- While a search runs --------------------------------------------------------------------------------------------------


class Progress:
    """A progress bar on standard error, scikit-learn's callbacks, and the seconds spent on each split."""

    def __init__(self, search):
        self.search, self.context = search, callback_context(search)
        self.known, self.expected, self.drawn, self.start = 0, 0, None, time.perf_counter()
        self.seconds, self.n_rows = {"fit": np.zeros(0), "score": np.zeros(0)}, 0

    def begin_round(self, n_splits, n_rows):
        """Begin a bar for scores on some splits of some rows; the seconds of a split are added to those of the rounds before."""
        self._end_line()
        self.known, self.expected, self.start, self.n_rows = 0, 0, time.perf_counter(), n_rows
        for what, spent in self.seconds.items():
            self.seconds[what] = np.pad(spent, (0, max(0, n_splits - len(spent))))

    @property
    def is_complete(self):
        return 0 < self.expected <= self.known

    @contextmanager
    def whole(self):
        """Context manager around the whole fit."""
        with self._reported(self.context):
            try:
                yield
            finally:
                self._end_line()

    def begin_refit(self, n_rows):
        """Tell that the final fit begins, if that is to more rows than the search."""
        if self.search.verbose and n_rows > self.n_rows:
            self._end_line()
            self.expected, name = 0, type(self.search).__name__
            print(f"[{name}] fitting the chosen candidates to {n_rows:,} rows", file=sys.stderr, flush=True)

    def _end_line(self):
        if self.drawn is not None:
            print(file=sys.stderr)
        self.drawn = None

    @contextmanager
    def task(self, name):
        """Context manager around a piece of work, reported to callbacks."""
        with self._reported(self.context and self.context.subcontext(task_name=name)):
            self.draw()
            yield
        self.draw()

    @contextmanager
    def work(self, what, splits):
        """Context manager around "fit" or "score" on some splits, which records the time."""
        start = time.perf_counter()
        with self.task(what):
            yield
        self.seconds[what][splits] += (time.perf_counter() - start) / np.size(splits)

    def _reported(self, context):
        return nullcontext() if context is None else reported_task(context, self.search)

    def draw(self):
        """Draw the bar: on a terminal after every change, elsewhere once all scores are known."""
        if (
            not (self.search.verbose and self.expected)
            or self.drawn == self.known
            or not (sys.stderr.isatty() or self.is_complete)
        ):
            return
        self.drawn = self.known
        share = min(1.0, self.known / max(1, self.expected))
        seconds = time.perf_counter() - self.start
        left = f", {seconds / share - seconds:.0f} s left" if 0 < share < 1 else ""
        bar = ("#" * round(BAR_WIDTH * share)).ljust(BAR_WIDTH, ".")
        text = f"[{type(self.search).__name__}] {bar} {self.known} of {self.expected} scores on {self.n_rows:,} rows, {seconds:.0f} s{left}"
        print(f"\r{text:<99}", end="", file=sys.stderr, flush=True)


class Recorder:
    """Pass the scores that fold strategies find to the table, the progress bar and callbacks.

    Parameters
    ----------
    table : ScoreTable
    progress : Progress
    callbacks : sequence
        Objects with a method ``on_scores(candidate, split, values, correct)``. It gets the decision values (K, n) of the held-out
        rows, and which of them are classified correctly (None if the score is not accuracy).
    """

    def __init__(self, table, progress, callbacks=()):
        self.table, self.progress, self.callbacks = table, progress, callbacks
        self.work = progress.work

    def record(self, candidates, splits, values):
        """Record scores of candidates on one split, or on several (splits, candidates)."""
        if not np.isfinite(values).all():
            i = int(np.argmin(np.isfinite(values).reshape(-1, len(candidates)).all(axis=0)))
            raise ValueError(
                f"scoring gave {values[..., i]!r} for {candidates[i]} on split {splits}; it must be a finite number."
            )
        for i, candidate in enumerate(candidates):
            self.table.set(candidate, splits, values[..., i])
        self.progress.known += len(candidates) * np.size(splits)

    def drop(self, candidates):
        """Mark candidates as eliminated."""
        new = candidates - self.table.dropped
        self.progress.known += sum(int(np.isnan(self.table.scores[c]).sum()) for c in new)
        self.table.dropped |= new

    def on_scores(self, candidates, split):
        """Return the callback that receives decision values (M, K, n) and correctness of blocks of candidates on a split."""
        if not self.callbacks:
            return None

        def call(block, values, correct):
            for candidate, *own in zip(candidates[block], values, correct, strict=True):
                for callback in self.callbacks:
                    callback.on_scores(candidate, split, *own)

        return call


# -- Held-out decision values, for probabilities and for the score of an ensemble ----------------------------------------


LARGEST = 1e30  # decision value that is kept in single precision: an outlier may be beyond it
MOST_VALUES = 1 << 20  # per candidate: 4 MB. Beyond it only every second held-out row is kept, or fewer


class HeldOutValues:
    """Decision values of every candidate on the held-out rows of each split, to score and calibrate sums of candidates.

    Parameters
    ----------
    data : SearchData
    """

    def __init__(self, data):
        self.data, self._values = data, {}
        count = len(data.training.labels) * sum(len(test) for _, test in data.splits)
        step = -(-count // MOST_VALUES) if data.by_accuracy else 1  # other scorers may need every row
        self._kept = slice(None, None, step)
        self._rows = [test[self._kept] for _, test in data.splits]
        self._times = np.bincount(np.concatenate(self._rows), minlength=len(data.training.codes))

    def on_scores(self, candidate, split, values, correct):
        """Keep values (K, n_test) on the rows that a split holds out."""
        kept = values[:, self._kept].clip(-LARGEST, LARGEST).astype(np.float32)
        self._values.setdefault(candidate, {})[split] = kept

    def score(self, weights) -> float:
        """Return the mean score over the splits of a weighted sum of candidates."""
        return float(np.mean([self._score(weights, i) for i in range(len(self._rows))]))

    def _score(self, weights, i):
        codes, weight = self.data.training.codes[self._rows[i]], self.data.training.weight[self._rows[i]]
        return HeldOut(self.data, codes, weight).score_values(self._sum(weights, i)[None])[0]

    def _sum(self, weights, i):
        return sum(weight * self._values[candidate][i] for candidate, weight in weights.items())

    @cached_property
    def counts(self) -> np.ndarray:
        """Weights of `rows` in units of a typical one: weights may sum to one, or repeat some rows."""
        weight = self.data.training.weight[self.rows]
        return weight / np.median(weight)

    def over_sizes(self, candidates) -> dict[Candidate, float]:
        """Return one over the root mean square of each candidate's values."""
        sizes = [np.sqrt(self.counts @ self.mean({c: 1.0}) ** 2).mean() for c in candidates]
        return {c: 1 / size if size > 0 else 0.0 for c, size in zip(candidates, sizes, strict=True)}

    def log_losses(self, sums) -> list[float]:
        """Return the mean log-loss of the calibrated binary problems for weighted sums of candidates."""
        training = self.data.training
        problem, row, signs = parts_of_problems(training.reduction.columns(training.codes[self.rows]))
        K, weight = training.reduction.n_problems, self.counts[row]
        step = max(1, BLOCK // len(row))
        found = []
        for some in (sums[start : start + step] for start in range(0, len(sums), step)):  # together, which is quicker
            M, scores = len(some), np.concatenate([self.mean(own)[row, problem] for own in some])
            place = (K * np.arange(M)[:, None] + problem).ravel()
            slopes, offsets = sigmoids(scores, np.tile(signs, M), np.tile(weight, M), place, M * K)
            losses = np.logaddexp(0, -np.tile(signs, M) * (slopes[place] * scores + offsets[place]))
            found += (losses.reshape(M, -1) @ weight / weight.sum()).tolist()
        return found

    @cached_property
    def rows(self) -> np.ndarray:
        """Rows that are held out at least once, as numbers of training rows."""
        return np.flatnonzero(self._times)

    def mean(self, weights) -> np.ndarray:
        """Average the values of a weighted sum of candidates over the splits that hold a row out; (len(rows), K)."""
        total = np.zeros((len(self._times), len(self.data.training.labels)))
        for i, rows in enumerate(self._rows):
            np.add.at(total, rows, self._sum(weights, i).T)  # a row may be held out twice by one split
        return total[self.rows] / self._times[self.rows, None]
