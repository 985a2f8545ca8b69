"""Face verification, the paper's Table 6 and Figures 3 to 5: the tasks, the other systems, and the figures."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..tables import UnknownNameError
from .faces.lfw import find_lfw
from .faces.recipes import RECIPES, lfw_tasks
from .faces.scores import RocCurve, roc
from .faces.task import PairTask, offline_pairs
from .printed import other_systems
from .tables import Table, TableCell

__all__ = [
    "examples_table",
    "load_pair_tasks",
    "make_figure",
    "published_curves",
    "roc_curves",
    "roc_table",
    "systems_table",
]

LOW_FPR = 0.1
#: The deposited curves, by the names of the systems; the paper prints an accuracy for the first four.
CURVES = {
    "Nowak": "nowak-funneled.txt",
    "MERL+Nowak": "merl+nowak-funneled.txt",
    "LDML": "ldml-funneled.txt",
    "V1-like/MKL": "v1-like-mkl-funneled.txt",
    "Kumar's attributes": "kumar-attributes-iccv2009.txt",
    "DML-eig SIFT": "dml-eig-sift.txt",
}


def load_pair_tasks(names, *, data_home=None, cache=None, progress=None) -> dict[str, PairTask]:
    """Tasks by name: ``lfw/RECIPE``, ``view1/RECIPE``, and ``offline/pairs``, which needs no download."""
    tasks = {}
    for group, view in (("lfw", 2), ("view1", 1)):
        wanted = [name.partition("/")[2] for name in names if name.startswith(f"{group}/")]
        unknown = [name for name in wanted if name not in RECIPES]
        if unknown:
            raise UnknownNameError(f"there is no recipe {unknown[0]!r}; known are {', '.join(RECIPES)}")
        if wanted:
            tasks |= lfw_tasks(wanted, data_home, view=view, cache=cache, progress=progress)
    if "offline/pairs" in names:
        task = offline_pairs(random_state=0)
        tasks[f"offline/{task.name}"] = task
    return tasks


def roc_curves(outcome) -> dict[str, RocCurve]:
    """ROC curves by name, over the pairs of all folds together; none where a fold is missing."""
    summary, curves = outcome.summary, {}
    for dataset in summary.datasets:
        splits = outcome.tasks[dataset].splits
        for model in summary.models:
            records = summary.entry(dataset, model).records
            if len(records) == len(splits):
                y = np.concatenate([outcome.tasks[dataset].y[splits[r["cell"]["run"]][1]] for r in records])
                scores = np.concatenate([_comparable(r["scores"]) for r in records])
                curves[f"{summary.names[model]}, {dataset.partition('/')[2]}"] = roc(y, scores)
    return curves


def _comparable(scores):
    """Scores of a fold in units of their root mean square: the models of different folds have different C."""
    scores = np.asarray(scores)
    return scores / (np.sqrt(np.mean(scores**2)) or 1.0)


def published_curves(folder) -> dict[str, RocCurve]:
    """Curves that the authors of other systems deposited, from LFW's folder ``roc``; those that are there.

    A file has the columns TPR and FPR, in either direction, with repeats; it tells no thresholds.
    """
    found = {}
    for name, file in CURVES.items():
        path = Path(folder, file)
        if path.is_file():
            tpr, fpr = np.loadtxt(path).T
            points = np.unique(np.column_stack([np.append(fpr, [0, 1]), np.append(tpr, [0, 1])]), axis=0)
            found[name] = RocCurve(*points.T, np.full(len(points), np.nan), 3000, 3000)
    return found


def _deposited(outcome):
    """The curves beside the data of an outcome on LFW."""
    if not any(name.startswith("lfw/") for name in outcome.tasks):
        return {}
    return published_curves(find_lfw()[0].parent / "roc")


def roc_table(outcome) -> Table:
    """Area, equal error rate and TPR at a low FPR of every curve: the numbers beside Figure 5."""
    curves = roc_curves(outcome) | {f"{name} (deposited)": curve for name, curve in _deposited(outcome).items()}
    data = [
        {"name": name, "auc": curve.auc, "eer": curve.equal_error_rate, f"tpr_at_{LOW_FPR:g}": curve.tpr_at(LOW_FPR)}
        for name, curve in curves.items()
    ]
    rows = [[TableCell(r["name"]), *(TableCell(f"{100 * v:.2f}") for v in list(r.values())[1:])] for r in data]
    header = ("method", "area (%)", "equal error rate (%)", f"TPR at {100 * LOW_FPR:g} % FPR (%)")
    return Table(outcome.spec.title, header, rows, (), data)


def examples_table(outcome) -> Table:
    """The pairs of Figure 3 by the names of their images."""
    data = [
        {"pairs": name, "first": a.stem, "second": b.stem, "score": round(score, 2)}
        for name, pairs in _examples(outcome).items()
        for a, b, score in pairs
    ]
    rows = [[TableCell(str(value)) for value in row.values()] for row in data]
    notes = ('Scores are positive for "same", in units of their root mean square in the fold.',)
    return Table(outcome.spec.title, ("pairs", "first image", "second image", "score"), rows, notes, data)


def systems_table(folder) -> Table:
    """Other systems: the accuracy that the paper quotes, and what their deposited curves tell.

    The best accuracy of a point of the curve is a little more than that at thresholds from training folds.
    """
    quoted, data = other_systems(), []
    for name, curve in published_curves(folder).items():
        data.append({"system": name, "paper": quoted.get(name, ""), "best_accuracy": 100 * float(curve.accuracy.max()),
                     "auc": 100 * curve.auc, "eer": 100 * curve.equal_error_rate})  # fmt: skip
    rows = [[TableCell(f"{v:.2f}" if isinstance(v, float) else str(v) or "–") for v in row.values()] for row in data]
    header = ("system, quoted", "paper (%)", "best point of its curve (%)", "area (%)", "equal error rate (%)")
    notes = ("Other systems, on other features: quoted, not run. Their curves are those that their authors deposited.",)
    return Table("Other systems", header, rows, notes, data)


def make_figure(outcome):
    """Figure 3, 4 or 5 of a finished experiment; None for a table."""
    from ..plots.comparison import plot_dimensions
    from ..plots.pairs import plot_examples, plot_roc

    spec, summary = outcome.spec, outcome.summary
    if spec.components:
        return plot_dimensions(outcome.records, summary.names, label="dimension of PCA")
    if spec.quantity == "roc" and (curves := roc_curves(outcome)):
        return plot_roc(curves, _deposited(outcome))
    if spec.quantity == "examples" and (examples := _examples(outcome)):
        return plot_examples(examples)
    return None


def _examples(outcome, n=6):
    """The easiest and the hardest pairs, of one person and of two, of the first model and task: rows of Figure 3."""
    summary, (dataset, task) = outcome.summary, next(iter(outcome.tasks.items()))
    records = summary.entry(dataset, summary.models[0]).records
    if not task.files or len(records) < len(task.splits):
        return {}
    scores = np.full(len(task.y), np.nan)
    for record in records:
        scores[task.splits[record["cell"]["run"]][1]] = _comparable(record["scores"])
    towards = np.where(task.y == 1, scores, -scores)  # how far on the right side
    rows = {}
    for same, name in ((1, "same person"), (0, "two people")):
        order = np.flatnonzero(task.y == same)
        order = order[np.argsort(towards[order])]
        rows[f"{name}, surest"] = order[: -n - 1 : -1]
        rows[f"{name}, most mistaken"] = order[:n]
    return {
        name: [(*(task.files[i] for i in task.pairs[pair]), float(scores[pair])) for pair in pairs]
        for name, pairs in rows.items()
    }
