"""Which model to take, how sure that is, and what another would cost: the answer of a comparison in a few sentences."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .references import DUMMY
from .statistics import corrected_t_test, holm
from .summary import ALPHA, Summary

__all__ = ["Recommendation", "recommend"]


@dataclass(frozen=True)
class Recommendation:
    """The model to take, None where there is none, and the sentences that say why."""

    model: str | None
    lines: tuple[str, ...]


def recommend(summary: Summary) -> Recommendation:
    """The answer of a comparison, on one data set by its metric, on several by mean rank."""
    if not any(entry.values for entry in summary.entries):
        errors = summary.errors
        first = errors[0].errors[0] if errors else "nothing was run"
        return Recommendation(None, (f"Every cell failed, so there is nothing to recommend. The first error: {first}",))
    if len(summary.datasets) > 1:
        return _over_sets(summary)
    return _on_one_set(summary, summary.datasets[0])


def _on_one_set(summary, dataset) -> Recommendation:
    n_runs = max(len(summary.entry(dataset, key).values) for key in summary.models)
    whole = {key: summary.entry(dataset, key) for key in summary.models}
    whole = {key: entry for key, entry in whole.items() if len(entry.values) == n_runs}
    real = {key: entry for key, entry in whole.items() if key != DUMMY}
    if not real:
        return Recommendation(None, ("Only the dummy has an answer on every split: there is nothing to recommend.",))
    if DUMMY in whole and not _beats(summary, real, whole[DUMMY]):
        return Recommendation(None, (_none_beats(summary, real, whole[DUMMY]),))
    best = max(real, key=lambda key: round(real[key].mean, 6))
    pvalues = _holm_against(summary, real[best], [real[key] for key in real if key != best])
    lines = [_headline(summary, real[best], whole.get(DUMMY))]
    if pvalues is None:
        lines.append("There is one split only, so nothing says how sure this is.")
    else:
        lines += _how_sure(summary, real, best, pvalues)
    return Recommendation(best, tuple(lines))


def _headline(summary, entry, dummy):
    value = summary.metric.text(entry.mean, entry.standard_error)
    unit = f" {summary.metric.unit}".rstrip()
    dummy = "" if dummy is None else f"; without the features one has {summary.metric.text(dummy.mean)}{unit}"
    return f"Take {summary.names[entry.model]}: {summary.metric.inside} {value}{unit} on rows it had not seen{dummy}."


def _holm_against(summary, best, others) -> dict | None:
    """p-values of the best against the others, corrected for their number; None where nothing can be tested."""
    if len(best.values) < 2:
        return None
    tests = [_versus(summary, best, other).pvalue for other in others]
    return dict(zip((other.model for other in others), holm(tests), strict=True))


def _versus(summary, a, b):
    return corrected_t_test(list(a.values.values()), list(b.values.values()), summary.test_ratio(a))


def _beats(summary, real, dummy) -> bool:
    """Whether the best model is better than the dummy beyond chance; by its mean alone where nothing can be tested.

    One test on one side, uncorrected: that the features say nothing is a strong claim, and is made on little evidence else.
    A gain that is the same on every split, such as all rows right, is no chance, however few splits there are.
    """
    best = max(real.values(), key=lambda entry: entry.mean)
    if best.mean <= dummy.mean or len(dummy.values) < 2:
        return best.mean > dummy.mean
    test = _versus(summary, best, dummy)
    return test.statistic == np.inf or test.pvalue / 2 < ALPHA


def _none_beats(summary, real, dummy) -> str:
    best = max(real.values(), key=lambda entry: entry.mean)
    return (
        f"None beats the dummy: guessing without a look at the features has {summary.metric.inside} "
        f"{summary.metric.text(dummy.mean)}, the best model, {summary.names[best.model]}, "
        f"{summary.metric.text(best.mean, best.standard_error)}, which may be chance. The features do not tell the classes apart."
    )


def _how_sure(summary, real, best, pvalues):
    """Who is worse beyond chance, who is not, and what the quickest of those would cost."""
    worse = [key for key, p in pvalues.items() if p < ALPHA]
    equal = [key for key in pvalues if key not in worse]
    corrected = "t-tests over the splits, corrected for their overlap and by Holm for their number"
    if worse:
        yield f"Worse beyond chance: {_with_costs(summary, real, best, worse)} ({corrected})."
    if not equal:
        return
    yield f"Not told apart from it: {_with_costs(summary, real, best, equal)}{'' if worse else f' ({corrected})'}."
    quickest = min(equal, key=lambda key: _seconds(real[key]))
    times = _seconds(real[best]) / _seconds(real[quickest])
    if times > 2:
        yield f"Among those {summary.names[quickest]} takes least time, 1/{times:.0f} of {summary.names[best]}'s."


def _seconds(entry) -> float:
    """Of choosing and fitting, on one split."""
    return max(float(np.nansum([entry.median("tune_seconds"), entry.median("fit_seconds")])), 1e-6)


def _with_costs(summary, real, best, keys):
    """Models with what taking them in place of the best would cost."""
    metric = summary.metric
    costs = {key: metric.scale * (real[best].mean - real[key].mean) for key in keys}
    digits = 2 if metric.scale == 100 else 4
    return ", ".join(f"{summary.names[key]} (−{costs[key]:.{digits}f})" for key in sorted(costs, key=costs.get))


def _over_sets(summary) -> Recommendation:
    ranks = {key: rank for key, rank in summary.ranks.items() if key != DUMMY}
    if not ranks:
        return Recommendation(None, ("No model has an answer on every data set: there is nothing to recommend.",))
    best = min(ranks, key=ranks.get)
    if summary.ranks.get(DUMMY, np.inf) <= ranks[best]:
        return Recommendation(None, (f"None beats the dummy over the {len(summary.datasets)} data sets.",))
    lines = [f"Take {summary.names[best]}: best mean rank, {ranks[best]:.2f}, over {len(summary.datasets)} data sets."]
    test = summary.friedman
    if test is not None and test.F_pvalue >= ALPHA:
        lines.append(f"But the models cannot be told apart over all sets (Iman–Davenport p = {test.F_pvalue:.3f}).")
    elif test is not None:
        near = [key for key in ranks if key != best and ranks[key] - ranks[best] <= summary.critical_difference]
        names = ", ".join(summary.names[key] for key in sorted(near, key=ranks.get))
        lines.append(f"Not told apart from it by Nemenyi's test: {names or 'none'}.")
    return Recommendation(best, tuple(lines))
