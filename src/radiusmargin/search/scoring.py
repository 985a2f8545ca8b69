"""What a search tells while it runs: a bar on standard error, and scikit-learn's callbacks."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import check_scoring

from .._blocks import split
from .._compat import callback_context, told
from ..estimators.base import TrainingData
from ..estimators.decision import LinearModel
from ..estimators.features import Raw
from ..multiclass import class_weights
from .candidates import Candidate

WIDTH = 30


class Progress:
    """Tells how many of the expected scores are known."""

    def __init__(self, search):
        self.search, self.context = search, callback_context(search)
        self.known, self.expected, self.drawn, self.start = 0, 0, None, time.perf_counter()

    @property
    def is_complete(self):
        return 0 < self.expected <= self.known

    @contextmanager
    def whole(self):
        """Around the search and what follows it."""
        with self._told(self.context):
            try:
                yield
            finally:
                if self.search.verbose:
                    print(file=sys.stderr)

    @contextmanager
    def task(self, name):
        """Around a piece of work."""
        with self._told(self.context and self.context.subcontext(task_name=name)):
            self.draw()
            yield
        self.draw()

    def _told(self, context):
        return nullcontext() if context is None else told(context, self.search)

    def draw(self):
        """On a terminal whenever something has changed, elsewhere when all is known."""
        if not self.search.verbose or self.drawn == self.known or not (sys.stderr.isatty() or self.is_complete):
            return
        self.drawn = self.known
        share = min(1.0, self.known / max(1, self.expected))
        seconds = time.perf_counter() - self.start
        left = f", {seconds / share - seconds:.0f} s left" if 0 < share < 1 else ""
        bar = ("#" * round(WIDTH * share)).ljust(WIDTH, ".")
        text = f"[FSVMCV] {bar} {self.known} of {self.expected} scores, {seconds:.0f} s{left}"
        print(f"\r{text:<79}", end="", file=sys.stderr, flush=True)


# -- Decision values of rows by models that have not seen them, kept while members are scored -------------------------


LARGEST = 1e30  # value of a row that is kept in single precision: an outlier may be beyond it
MOST_VALUES = 1 << 18  # of a member: 2 MB. Beyond it every other held-out row is kept, or fewer


class FoldValues:
    """Decision values of every member on the rows that each split holds out, to score an average of members.

    Parameters
    ----------
    data : SearchData
    """

    def __init__(self, data):
        self.data, self._values = data, {}
        count = len(data.training.labels) * sum(len(test) for _, test in data.splits)
        self.step = -(-count // MOST_VALUES) if data.by_accuracy else 1  # other scorers may need every row

    def hear(self, member, split, values, right):
        """Take values (K, n_test) on the rows that a split holds out."""
        self._values.setdefault(member, {})[split] = values[:, :: self.step].copy()

    def score(self, weights) -> float:
        """Mean score over the splits of the sum of members times their weights."""
        return float(np.mean([self._score(weights, i) for i in range(len(self.data.splits))]))

    def _score(self, weights, i):
        values = sum(weight * self._values[member][i] for member, weight in weights.items())
        rows = self.data.held_out(i)
        rows = replace(rows, codes=rows.codes[:: self.step], weight=rows.weight[:: self.step])
        return rows.score_values(values[None])[0]


class HeldOutScores:
    """Of every member one number for each problem and row that takes part in it; rows held out more than once have their mean.

    Parameters
    ----------
    labels : ndarray or ClassLabels of shape (K, n)
    splits : list of (train, test)

    Attributes
    ----------
    problem, row, label : ndarrays of one length
        Where each number belongs, and the label there.
    """

    def __init__(self, labels, splits):
        parts = [np.flatnonzero(label) for label in labels]
        self.problem, self.row = np.repeat(np.arange(len(parts)), [len(J) for J in parts]), np.concatenate(parts)
        self.label = np.concatenate([label[J] for label, J in zip(labels, parts, strict=True)])
        self.times = np.zeros(len(self.row))
        self._places, self._sums = [], {}
        place = np.full(labels.shape[1], -1)
        for _, test in splits:
            place[test] = np.arange(len(test))
            held = np.flatnonzero(place[self.row] >= 0)
            self._places.append((held, self.problem[held], place[self.row[held]]))
            self.times[held] += 1
            place[test] = -1

    def hear(self, member, split, values, right):
        """Take values (K, n_test) on the rows that a split holds out."""
        held, problem, row = self._places[split]
        sums = self._sums.setdefault(member, np.zeros(len(self.row), dtype=np.float32))
        sums[held] += values[problem, row].clip(-LARGEST, LARGEST)

    def mean(self, weights) -> np.ndarray:
        """Values of the sum of members times their weights; NaN for a row that was never held out."""
        total = sum(weight * self._sums[member] for member, weight in weights.items())
        return np.divide(total, self.times, out=np.full(len(total), np.nan), where=self.times > 0)


# -- The data of a search: training rows, splits of them, and how members are scored on the rows that a split holds out


BLOCK = 1 << 20  # scores of members that are formed at a time


@dataclass(frozen=True, eq=False)
class SearchData:
    """Checked training rows, and splits (train, test) of them.

    Attributes
    ----------
    training : TrainingData
    splits : list of (train, test) row numbers
    classes : ndarray
    class_weight : as in `FSVM`
        Computed anew for every training part.
    scoring : str, callable or None
    criterion : str
        "cv", or what scores members without splits.
    pairwise : bool
        Whether X is a precomputed kernel, whose columns are rows too.
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
        """Whether a score is the share of held-out rows that are right."""
        return self.criterion == "cv" and self.by_accuracy

    def rows(self, index, train):
        """Rows of X; of a precomputed kernel their values with the training rows `train`."""
        X = self.training.X
        return X[np.ix_(index, train)] if self.pairwise else X[index]

    def factors(self, train):
        """Class weights of a training part."""
        return class_weights(self.class_weight, self.classes, self.training.codes[train], self.training.weight[train])

    def part(self, i) -> TrainingData:
        """The training part of split i."""
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
    """The true codes and the weights of the rows that a split tests on."""

    data: SearchData
    codes: np.ndarray
    weight: np.ndarray

    def score(self, coef, intercept, rows, keep=None):
        """Scores (P, C) of members with separators (P, C, K, d) on these rows, in what the members are linear in."""
        shape, (K, d), found = coef.shape[:2], coef.shape[2:], []
        coef, intercept = coef.reshape(-1, K, d), intercept.reshape(-1, K)
        for block in split(len(coef), K * len(self.codes), BLOCK):
            values = _products(coef[block].reshape(-1, d), rows).reshape(-1, K, len(self.codes))
            values += intercept[block][..., None]
            found.append(self.score_values(values, keep, block))
        return np.concatenate(found).reshape(shape)

    def score_values(self, values, keep=None, block=slice(None)):
        """Scores (M,) of members, a block of all, by their decision values (M, K, n) on these rows, which `keep` may have."""
        if self.data.by_accuracy:
            right = self.data.training.reduction.predict(values.swapaxes(1, 2)) == self.codes
            if keep:
                keep(block, values, right)
            return right @ self.weight / self.weight.sum()
        if keep:
            keep(block, values, [None] * len(values))
        K = values.shape[1]
        return np.array([self.score_one(np.eye(K), np.zeros(K), member.T) for member in values])

    def score_one(self, coef, intercept, rows):
        """Any scorer, on one member."""
        model = FittedClassifier(LinearModel(Raw(), coef, intercept, self.data.training.reduction), self.data.classes)
        scorer = check_scoring(model, scoring=self.data.scoring)
        truth = self.data.classes[self.codes]
        weights = {} if (self.weight == 1).all() or not takes_weights(scorer) else {"sample_weight": self.weight}
        try:
            return scorer(model, rows, truth, **weights)
        except AttributeError as error:
            if "predict_proba" not in str(error):
                raise
            raise ValueError(
                f"scoring={self.data.scoring!r} needs probabilities, which the members of a search do not have: take one of "
                "classes or scores, such as 'balanced_accuracy' or 'roc_auc'."
            ) from error


def _products(coef, rows):
    """Of separators with rows: those of one separator side by side."""
    return np.asarray(rows @ coef.T).T if sparse.issparse(rows) else coef @ rows.T


def takes_weights(scorer) -> bool:
    """Whether a scorer has a `sample_weight`: those of scikit-learn have, a function of the user's may not."""
    parameters = signature(scorer).parameters
    return "sample_weight" in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())


class FittedClassifier(ClassifierMixin, BaseEstimator):
    """Separators as scikit-learn's scorers want them: a classifier that is fitted already."""

    def __init__(self, model, classes):
        self.model, self.classes = model, classes
        self.classes_ = classes

    def fit(self, X, y):
        return self

    def decision_function(self, X):
        return self.model.decisions(X)

    def predict(self, X):
        return self.classes[self.model.reduction.predict(self.model.scores(X))]


# -- The scores of a search, and the rules that pick among them -------------------------------------------------------


# Of a kernel in an average: no worse than all that are near the best (benchmarks/auto_choices.py), and of a fine grid better
# than eight (benchmarks/kernel_search.py).
MOST_CANDIDATES = 16
TIE = 1e-12  # scores closer than this are equal


class Scores:
    """Scores of members on splits, filled in split by split; what was not reached is NaN.

    `seconds` is the time that the fits and the scores of each split took, of all members together; `listeners` hear of the
    decision values behind the scores.
    """

    def __init__(self, n_splits, progress, listeners=()):
        self.n_splits, self.progress, self.listeners = n_splits, progress, listeners
        self.table: dict[Candidate, np.ndarray] = {}
        self.given_up: set[Candidate] = set()
        self.seconds = {"fit": np.zeros(n_splits), "score": np.zeros(n_splits)}
        self._ordered: list[Candidate] = []

    @contextmanager
    def work(self, what, splits):
        """Around work on some splits: "fit" or "score"."""
        start = time.perf_counter()
        with self.progress.task(what):
            yield
        self.seconds[what][splits] += (time.perf_counter() - start) / np.size(splits)

    def set(self, member, split, value):
        """Put the score of a member on one split, or its scores on several."""
        self.set_all([member], split, [value])

    def set_all(self, members, split, values):
        """The same for some members."""
        if not np.isfinite(values).all():
            self._refuse(members, split, values)
        for member, value in zip(members, values, strict=True):
            scores = self.table.get(member)
            if scores is None:
                scores = self.table[member] = np.full(self.n_splits, np.nan)
            scores[split] = value
        self.progress.known += len(members) * np.size(split)

    def _refuse(self, members, split, values):
        member, value = next((m, v) for m, v in zip(members, values, strict=True) if not np.isfinite(v).all())
        raise ValueError(f"scoring gave {value!r} for {member} on split {split}; it must be a finite number.")

    def keeper(self, members, split):
        """What is told decision values (M, K, n) of members on a split, in blocks of these, and which rows they have right."""
        if not self.listeners:
            return None

        def keep(block, *told):
            for member, *own in zip(members[block], *told, strict=True):
                for listener in self.listeners:
                    listener.hear(member, split, *own)

        return keep

    def members(self):
        """Members in order of preference."""
        if len(self._ordered) != len(self.table):
            self._ordered = sorted(self.table, key=lambda member: member.preference)
        return self._ordered

    def standing(self):
        """Members that were not given up, in order of preference."""
        return [m for m in self.members() if m not in self.given_up]

    def give_up(self, members):
        """Score some members no further: they are not chosen."""
        self.progress.known += sum(int(np.isnan(self.table[m]).sum()) for m in members - self.given_up)
        self.given_up |= members

    def values(self):
        """One row per member, in order of preference, one column per split."""
        return np.array([self.table[m] for m in self.members()])

    def finished(self):
        """Which splits have every score, but for members that were given up."""
        return ~np.isnan([self.table[m] for m in self.standing()]).any(axis=0)

    def drop_unfinished(self):
        """After an interrupt: without the members that were only begun, if others have all their scores."""
        whole = {m: values for m, values in self.table.items() if m in self.given_up or not np.isnan(values).any()}
        self.table = whole if whole.keys() - self.given_up else self.table

    def summary(self, among=None):
        """(members in order of preference, mean, standard error) over the finished splits, of all that stand or of some."""
        members = self.standing() if among is None else among
        values = np.array([self.table[m] for m in members])[:, self.finished()]
        error = values.std(axis=1, ddof=1) / np.sqrt(values.shape[1]) if values.shape[1] > 1 else np.zeros(len(values))
        return members, values.mean(axis=1), error

    def best(self, one_standard_error=False, among=None):
        """The preferred member among those with the best mean, or within one standard error of it."""
        members, mean, error = self.summary(among)
        top = int(np.argmax(mean >= mean.max() - TIE))
        reach = error[top] if one_standard_error else TIE
        return members[int(np.argmax(mean >= mean[top] - reach))]

    def near_best(self, band, among=None):
        """Every member within `band` standard errors of the best mean."""
        members, mean, error = self.summary(among)
        top = int(np.argmax(mean))
        return [m for m, value in zip(members, mean, strict=True) if value >= mean[top] - band * error[top] - TIE]

    def weights(self, band) -> dict[Candidate, float]:
        """What is averaged, and with which weight.

        Kinds of kernels whose best member is within `band` standard errors of the best of all have equal shares; within a
        kind the members near its best have, of a kernel the best few of them.
        """
        kinds = {}
        for member in self.standing():
            kinds.setdefault(member.kernel, []).append(member)
        leaders = {self.best(among=members): members for members in kinds.values()}
        chosen = [leaders[leader] for leader in self.near_best(band, among=list(leaders))]
        near = [self._few(self.near_best(band, among=members)) for members in chosen]
        return {member: 1 / (len(near) * len(own)) for own in near for member in own}

    def _few(self, members):
        """The best of some members of one kind, as many as are worth their rows; linear members become one."""
        if members[0].kernel == "linear" or len(members) <= MOST_CANDIDATES:
            return members
        _, mean, _ = self.summary(members)
        return [members[i] for i in sorted(np.argsort(-mean, kind="stable")[:MOST_CANDIDATES])]

    def results(self, searched):
        """A dict in the form of GridSearchCV's ``cv_results_``."""
        members, values = self.members(), self.values()[:, self.finished()]
        mean = np.nanmean(values, axis=1)
        given_up = np.array([m in self.given_up for m in members])
        rounded = np.round(mean - (mean.max() + 1) * given_up, 12)  # behind all that were not
        results = {"params": [m.params(searched) for m in members]}
        for name in searched:
            values_of = [getattr(m, name) for m in members]
            kind = None if len({type(value) for value in values_of}) == 1 else object
            results[f"param_{name}"] = np.ma.array(np.array(values_of, dtype=kind))
        for what, seconds in self.seconds.items():  # the members were fitted together: each has its share
            shares = seconds[self.finished()] / len(members)
            results[f"mean_{what}_time"] = np.full(len(members), shares.mean())
            results[f"std_{what}_time"] = np.full(len(members), shares.std())
        results |= {f"split{i}_test_score": values[:, i] for i in range(values.shape[1])}
        return results | {
            "mean_test_score": mean,
            "std_test_score": np.nanstd(values, axis=1),
            "rank_test_score": (1 + (rounded > rounded[:, None]).sum(axis=1)).astype(np.int32),
            "given_up": given_up,
        }
