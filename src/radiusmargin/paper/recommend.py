"""Which model to take, how sure that is, and what another would cost: the answer of a comparison in a few sentences."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

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
    entries = {key: summary.entry(dataset, key) for key in summary.models}
    n_runs = max(len(entry.values) for entry in entries.values())
    whole = {key: entry for key, entry in entries.items() if len(entry.values) == n_runs and not entry.errors}
    real = {key: entry for key, entry in whole.items() if key != summary.dummy}
    unfinished = {key: entry for key, entry in entries.items() if entry.errors and key != summary.dummy}
    if not real:
        why = _unfinished(summary, unfinished) if unfinished else "only the dummy was run"
        return Recommendation(None, (f"No model finished every split, so there is nothing to recommend: {why}.",))
    best = next(key for key in summary.ranking if key in real)
    leaders = [entry for entry in unfinished.values() if _leads(entry, real[best])]
    if leaders:
        return Recommendation(None, tuple(_not_yet(summary, leaders, real[best])))
    if summary.dummy in whole and not _beats(summary, real[best], whole[summary.dummy]):
        return Recommendation(None, (_none_beats(summary, real[best], whole[summary.dummy]),))
    pvalues = _holm_against(summary, real[best], [real[key] for key in real if key != best])
    lines = [_headline(summary, real[best], whole.get(summary.dummy), unfinished)]
    if pvalues is None:
        lines.append("There is one split only, so nothing says how sure this is.")
    else:
        lines += _how_sure(summary, real, best, pvalues)
    return Recommendation(best, tuple(lines))


def _on_shared_splits(a, b) -> tuple[float, float]:
    """Mean values of two models over the splits that both finished; NaN where there is none."""
    shared = sorted(a.values.keys() & b.values.keys())
    if not shared:
        return float("nan"), float("nan")
    return tuple(float(np.mean([entry.values[run] for run in shared])) for entry in (a, b))


def _leads(entry, best) -> bool:
    """Tell whether a model that did not finish is ahead of the best that did: on shared splits, or by its mark alone."""
    mine, its = _on_shared_splits(entry, best)
    return mine > its or (entry.mark == "▲" and best.mark != "▲")


def _not_yet(summary, leaders, best):
    """Sentences about models that lead and did not finish, and what to do."""
    metric = summary.metric
    for entry in leaders:
        mine, its = (metric.text(value) for value in _on_shared_splits(entry, best))
        yield (
            f"No recommendation yet: {summary.names[entry.model]} leads with {metric.inside} {mine}{_unit(metric)} on the"
            f" {_finished(entry)} that it finished, where {summary.names[best.model]}, the best that finished all, has {its}."
        )
    if any("over the time budget" in entry.errors for entry in leaders):
        yield "It ran out of time: give every model more (--budget), or fewer rows (--max-rows)."
    for entry in leaders:
        failure = next((error for error in entry.errors if error != "over the time budget"), None)
        if failure is not None:
            yield f"{summary.names[entry.model]} failed on the others: {failure}. Leave it out (--models) to decide without it."


def _finished(entry) -> str:
    return f"{len(entry.values)} of {len(entry.values) + len(entry.errors)} splits"


def _unfinished(summary, entries) -> str:
    """Models that did not finish, with the splits that they did."""
    return ", ".join(f"{summary.names[key]} ({_finished(entry)})" for key, entry in entries.items())


def _unit(metric) -> str:
    return f" {metric.unit}".rstrip()


def _headline(summary, entry, dummy, unfinished):
    metric = summary.metric
    value = metric.text(entry.mean, entry.standard_error)
    baseline = "" if dummy is None else f"; without the features one has {metric.text(dummy.mean)}{_unit(metric)}"
    rest = ""
    if unfinished:
        with_values = any(other.values for other in unfinished.values())
        rest = (
            f" Not finished{', and behind on the splits they did' * with_values}: {_unfinished(summary, unfinished)}."
        )
    whom = f"{summary.names[entry.model]}{', of the models that finished' * bool(unfinished)}"
    return f"Take {whom}: {metric.inside} {value}{_unit(metric)} on rows it had not seen{baseline}.{rest}"


def _holm_against(summary, best, others) -> dict | None:
    """p-values of the best against the others, corrected for their number; None where nothing can be tested."""
    if len(best.values) < 2:
        return None
    tests = [_versus(summary, best, other).pvalue for other in others]
    return dict(zip((other.model for other in others), holm(tests), strict=True))


def _versus(summary, a, b):
    return corrected_t_test(list(a.values.values()), list(b.values.values()), summary.test_ratio(a))


def _beats(summary, best, dummy) -> bool:
    """Tell whether the best model is better than the dummy beyond chance; by its mean alone where nothing can be tested.

    One test on one side, uncorrected: that the features say nothing is a strong claim, and is made on little evidence else.
    A gain that is the same on every split, such as all rows right, is no chance, however few splits there are.
    """
    if best.mean <= dummy.mean or len(dummy.values) < 2:
        return best.mean > dummy.mean
    test = _versus(summary, best, dummy)
    return test.statistic == np.inf or test.pvalue / 2 < ALPHA


def _none_beats(summary, best, dummy) -> str:
    what = "predict the target" if summary.metric.of_quantity else "tell the classes apart"
    return (
        f"None beats the dummy: guessing without a look at the features has {summary.metric.inside} "
        f"{summary.metric.text(dummy.mean)}, the best model, {summary.names[best.model]}, "
        f"{summary.metric.text(best.mean, best.standard_error)}, which may be chance. The features do not {what}."
    )


def _how_sure(summary, real, best, pvalues):
    """Yield sentences on the models that are significantly worse, not significantly different, and level."""
    rounded = summary.metric.rounded
    costs = {key: rounded(real[best].mean) - rounded(real[key].mean) for key in pvalues}
    worse = [key for key, p in pvalues.items() if p < ALPHA]
    level = [key for key in pvalues if key not in worse and costs[key] == 0]
    equal = [key for key in pvalues if key not in worse and key not in level]
    corrected = "t-tests over the splits, corrected for their overlap and by Holm for their number"
    if level:
        yield f"Level with it, and slower: {', '.join(summary.names[key] for key in level)}."
    if worse:
        yield f"Worse beyond chance: {_with_costs(summary, real[best].mean, costs, worse)} ({corrected})."
    if not equal:
        return
    yield f"Not told apart from it: {_with_costs(summary, real[best].mean, costs, equal)}{'' if worse else f' ({corrected})'}."
    quickest = min(equal, key=summary.seconds)
    times = summary.seconds(best) / max(summary.seconds(quickest), 1e-6)
    if times > 2:
        yield f"Among those {summary.names[quickest]} takes least time, 1/{times:.0f} of {summary.names[best]}'s."


def _with_costs(summary, value, costs, keys):
    """Models with what taking them in place of the best, which has this value, would cost."""
    shown = {key: summary.metric.cost_text(costs[key], value) for key in keys}
    return ", ".join(f"{summary.names[key]} ({shown[key]})" for key in sorted(keys, key=costs.get))


def _over_sets(summary) -> Recommendation:
    unfinished = {entry.model for entry in summary.errors} - {summary.dummy}
    ranks = {key: rank for key, rank in summary.ranks.items() if key != summary.dummy and key not in unfinished}
    if not ranks:
        return Recommendation(None, ("No model has an answer on every split: there is nothing to recommend.",))
    best = min(ranks, key=ranks.get)
    leaders = [key for key in unfinished if _wins(summary, key, best)]
    if leaders:
        names = ", ".join(summary.names[key] for key in leaders)
        said = (
            f"No recommendation yet: {names} did not finish, and won against {summary.names[best]}, the best that did."
        )
        return Recommendation(None, (f"{said} Give more time (--budget), fewer rows (--max-rows), or leave it out.",))
    if summary.ranks.get(summary.dummy, np.inf) <= ranks[best]:
        return Recommendation(None, (f"None beats the dummy over the {len(summary.datasets)} data sets.",))
    lines = [f"Take {summary.names[best]}: best mean rank, {ranks[best]:.2f}, over {len(summary.datasets)} data sets."]
    if unfinished:
        lines[0] += f" Not finished, and behind where they did: {', '.join(summary.names[key] for key in unfinished)}."
    test = summary.friedman
    if test is not None and test.F_pvalue >= ALPHA:
        lines.append(f"But the models cannot be told apart over all sets (Iman–Davenport p = {test.F_pvalue:.3f}).")
    elif test is not None:
        near = [key for key in ranks if key != best and ranks[key] - ranks[best] <= summary.critical_difference]
        names = ", ".join(summary.names[key] for key in sorted(near, key=ranks.get))
        lines.append(f"Not told apart from it by Nemenyi's test: {names or 'none'}.")
    return Recommendation(best, tuple(lines))


def _wins(summary, key, best) -> bool:
    """Tell whether a model is ahead on more of the data sets than it is behind, judged by the splits that it finished."""
    pairs = [_on_shared_splits(summary.entry(name, key), summary.entry(name, best)) for name in summary.datasets]
    return sum(np.sign(mine - its) for mine, its in pairs if mine == mine) > 0
