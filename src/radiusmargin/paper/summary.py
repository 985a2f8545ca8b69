"""Records of cells, gathered by data set and model, with the tests between the models."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from .catalogue import model_name
from .metrics import METRICS, Metric
from .references import DUMMIES, DUMMY
from .statistics import (
    FriedmanResult,
    TestResult,
    WinTieLoss,
    cliques,
    corrected_t_test,
    critical_difference,
    friedman,
    holm,
    mean_ranks,
    mean_standard_error,
    resampled_standard_error,
    wilcoxon,
    win_tie_loss,
)

__all__ = ["Entry", "Summary"]

ALPHA = 0.05

#: Nadeau and Bengio take the correlation of two splits for n_test / (n_train + n_test), meant for test parts smaller
#: than training parts. At 7,000 test rows to 400 training rows that is 0.95, though the training parts hardly overlap:
#: the correlation is taken for 1/2 at most.
MAX_RATIO = 1.0


@dataclass(frozen=True)
class Entry:
    """One model on one data set, over all runs that succeeded.

    Attributes
    ----------
    values : dict of int to float
        The metric by run, of which more is better.
    standard_error : float
        Of the mean over resampled splits, with the correction of Nadeau and Bengio for their overlap; the
        plain one for the paper's protocol, whose runs are reported as independent there.
    versus : TestResult or None
        The corrected paired t-test against the baseline, its p-value corrected by Holm for all tests of the summary; None
        for the baseline and for single runs.
    errors : tuple of str
    """

    dataset: str
    model: str
    values: dict[int, float]
    records: tuple[dict, ...]
    standard_error: float
    versus: TestResult | None
    errors: tuple[str, ...]

    @property
    def mean(self) -> float:
        return float(np.mean(list(self.values.values()))) if self.values else float("nan")

    @property
    def mark(self) -> str:
        """▲ significantly better than the baseline, ▼ significantly worse, at 5 % over all tests together."""
        if self.versus is None or not self.versus.pvalue < ALPHA:
            return ""
        return "▲" if self.versus.statistic > 0 else "▼"

    @property
    def over_budget(self) -> bool:
        """Tell whether nothing but the time budget kept the model from a result."""
        return set(self.errors) == {"over the time budget"}

    def mean_of(self, name) -> float:
        """Mean over the runs of a number that the records hold, NaN where none does."""
        values = [record[name] for record in self.records if record.get(name) is not None]
        return float(np.mean(values)) if values else float("nan")

    def median(self, name) -> float:
        """Median over the runs of a number that the records hold, NaN where none does."""
        values = [record[name] for record in self.records if record.get(name) is not None]
        return float(np.median(values)) if values else float("nan")


class Summary:
    """All that tables and plots show of an experiment.

    Parameters
    ----------
    records : list of dict
        Of one plan, in its order, which gives the order of data sets and models.
    baseline : str
        Key of the model that the others are tested against; the first model where it did not take part.
    metric : Metric
        What the values are; accuracy by default.
    """

    def __init__(self, records, baseline="svm", metric: Metric = METRICS["accuracy"]):
        self.records, self.metric = list(records), metric
        self.datasets = list(dict.fromkeys(r["cell"]["dataset"] for r in self.records))
        self.models = list(dict.fromkeys(r["cell"]["model"] for r in self.records))
        self.names = {key: model_name(key) for key in self.models}
        self.baseline = baseline if baseline in self.models else self.models[0]
        self.protocol = self.records[0]["cell"]["protocol"]
        self._entries = self._gathered()

    def _gathered(self):
        groups: dict = {}
        for record in self.records:
            groups.setdefault((record["cell"]["dataset"], record["cell"]["model"]), []).append(record)
        entries = {pair: self._entry(*pair, group, groups) for pair, group in groups.items()}
        tested = [pair for pair, entry in entries.items() if entry.versus is not None]
        for pair, pvalue in zip(tested, holm([entries[pair].versus.pvalue for pair in tested]), strict=True):
            versus = replace(entries[pair].versus, pvalue=float(pvalue))
            entries[pair] = replace(entries[pair], versus=versus)
        return entries

    def _entry(self, dataset, model, group, groups) -> Entry:
        good = [record for record in group if record["status"] == "ok"]
        values = self._by_run(good)
        ratio = self._ratio(good)
        numbers = list(values.values())
        # Of pairs it is the plain one, which everybody reports on LFW; the test is corrected.
        of_folds = 0.0 if self.protocol == "pairs" else ratio
        error = resampled_standard_error(numbers, of_folds) if numbers else float("nan")
        base = self._by_run([r for r in groups.get((dataset, self.baseline), []) if r["status"] == "ok"])
        shared = sorted(values.keys() & base.keys())
        versus = None
        if model != self.baseline and len(shared) > 1:
            versus = corrected_t_test([values[r] for r in shared], [base[r] for r in shared], ratio)
        errors = tuple(record["error"] for record in group if record["status"] != "ok")
        return Entry(dataset, model, values, tuple(good), error, versus, errors)

    def _by_run(self, records) -> dict[int, float]:
        """The metric by run; runs whose record does not have it are left out."""
        key, ordered = self.metric.key, sorted(records, key=lambda r: r["cell"]["run"])
        return {r["cell"]["run"]: self.metric.sign * r[key] for r in ordered if r.get(key) is not None}

    def _ratio(self, records) -> float:
        return _test_ratio(records) if self.protocol in ("nested", "test-fold", "pairs") else 0.0

    def test_ratio(self, entry) -> float:
        """Size of the test part over that of the training part, as the tests have it."""
        return self._ratio(entry.records)

    @property
    def dummy(self) -> str:
        """Key of the model that looks at no feature: the one that took part, if any did."""
        return next((key for key in DUMMIES if key in self.models), DUMMY)

    @property
    def has_several_sets(self) -> bool:
        """Tell whether there is something to test over: recipes for the same pairs are not sets of their own."""
        return len(self.datasets) > 1 and self.protocol != "pairs"

    @property
    def entries(self) -> list[Entry]:
        return list(self._entries.values())

    def entry(self, dataset, model) -> Entry:
        return self._entries[dataset, model]

    @property
    def ranking(self) -> list[str]:
        """The models: on one data set the best first, of a tie the quicker, and below them those that did not finish."""
        if len(self.datasets) > 1:
            return self.models
        entries = {key: self.entry(self.datasets[0], key) for key in self.models}
        score = {key: self.metric.rounded(entry.mean) if entry.values else -np.inf for key, entry in entries.items()}
        return sorted(self.models, key=lambda key: (bool(entries[key].errors), -score[key], self.seconds(key)))

    @property
    def errors(self) -> list[Entry]:
        return [entry for entry in self._entries.values() if entry.errors]

    @cached_property
    def complete_models(self) -> list[str]:
        """The models with a result on every data set: those that can be ranked."""
        return [m for m in self.models if all(self.entry(d, m).values for d in self.datasets)]

    @cached_property
    def scores(self) -> np.ndarray:
        """Mean values of the complete models, of shape (n_datasets, n_models)."""
        return np.array([[self.entry(d, m).mean for m in self.complete_models] for d in self.datasets])

    @cached_property
    def ranks(self) -> dict[str, float]:
        """Mean rank of each complete model over the data sets, of accuracies rounded to 0.01 points."""
        if not self.complete_models:
            return {}
        ranks = mean_ranks(self.scores.round(4))
        return dict(zip(self.complete_models, ranks.tolist(), strict=True))

    @cached_property
    def friedman(self) -> FriedmanResult | None:
        """Friedman's test over the data sets; None for fewer than two sets or three models."""
        if not self.has_several_sets or len(self.complete_models) < 3:
            return None
        return friedman(self.scores.round(4))

    @cached_property
    def critical_difference(self) -> float | None:
        if self.friedman is None:
            return None
        return critical_difference(len(self.complete_models), len(self.datasets), ALPHA)

    @cached_property
    def cliques(self) -> list[tuple[str, ...]]:
        if self.friedman is None:
            return []
        groups = cliques(self.friedman.ranks, self.critical_difference)
        return [tuple(self.complete_models[i] for i in group) for group in groups]

    def mean_accuracy(self, model) -> tuple[float, float]:
        """Mean over the data sets, and the standard error of that mean."""
        return mean_standard_error([self.entry(d, model).mean for d in self.datasets])

    def versus_baseline(self, model) -> tuple[WinTieLoss, TestResult | None] | None:
        """Wins, ties and losses by data set, and Wilcoxon's test over them (from five sets on)."""
        if model == self.baseline or not {model, self.baseline} <= set(self.complete_models):
            return None
        columns = [self.complete_models.index(key) for key in (model, self.baseline)]
        a, b = self.scores.round(4)[:, columns].T
        return win_tie_loss(a, b, 5e-5), wilcoxon(a, b) if len(a) >= 5 else None

    def seconds(self, model) -> float:
        """All processor seconds spent on a model: choosing, fitting and scoring, also where it did not finish."""
        return sum(record["seconds"] for record in self.records if record["cell"]["model"] == model)


def _test_ratio(records) -> float:
    """Size of the test part over that of the training part, at most `MAX_RATIO`."""
    ratios = [r["n_test"] / r["n_train"] for r in records]
    return min(float(np.mean(ratios)), MAX_RATIO) if ratios else 0.0
