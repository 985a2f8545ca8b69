"""What the face experiments leave: Table 6 beside the paper's numbers, and Figures 4 and 5 with theirs."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path

import numpy as np

from ..pairs import roc
from .catalogue import is_conic, model_name, paper_column
from .faces import FaceOutcome
from .tables import Table, TableCell, to_csv, to_latex, to_markdown, write_text

__all__ = ["dimension_table", "face_table", "paper_rows", "roc_curves", "roc_table", "write_faces"]

#: Rows of the paper's table that are other systems, on other features: quoted, not run.
OTHER_SYSTEMS = ("Nowak", "LDML", "V1-like/MKL", "MERL+Nowak")
LOW_FPR = 0.1


def paper_rows() -> dict[str, float]:
    """The paper's Table 6.

    >>> paper_rows()["F-SVM-combined"]
    83.25
    """
    text = resources.files(__package__).joinpath("paper_tables.json").read_text(encoding="utf-8")
    return json.loads(text)["table6_lfw_accuracy"]


def mean_error(records) -> tuple[float, float]:
    """Mean accuracy in % over the folds and its standard error, as LFW has it; NaN without records."""
    values = 100 * np.array([record["accuracy"] for record in records])
    if not len(values):
        return np.nan, np.nan
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def face_table(outcome: FaceOutcome) -> Table:
    """Accuracy ± standard error over the folds, beside the paper's; its other systems follow, quoted."""
    paper, data = paper_rows(), []
    for kind in outcome.kinds:
        for model in outcome.models:
            mean, error = mean_error(outcome.chosen(kind, model))
            printed = paper.get(f"{paper_column(model)}-{kind}") if outcome.task.name == "lfw" else None
            data.append({"features": kind, "model": model, "name": f"{model_name(model)}-{kind}", "accuracy": mean,
                         "standard_error": error, "dimensions": _chosen_dimensions(outcome, kind, model),
                         "paper": "" if printed is None else printed, "quoted": False})  # fmt: skip
    best = np.nanmax([row["accuracy"] for row in data], initial=-np.inf)
    rows = [_measured_row(row, row["accuracy"] == best) for row in data]
    quoted = OTHER_SYSTEMS if outcome.task.name == "lfw" else ()
    for name in quoted:
        rows.append(
            [TableCell(f"{name} (quoted)"), TableCell("not run"), TableCell(f"{paper[name]:.2f}"), TableCell("")]
        )
        data.append({"name": name, "paper": paper[name], "quoted": True})
    header = ("method", "accuracy (%)", "paper", "dimensions chosen")
    return Table(_title(outcome), header, rows, notes(outcome), data, len(data) - len(quoted) if quoted else None)


def _title(outcome):
    lfw = outcome.task.name == "lfw"
    return outcome.spec.title if lfw else f"{outcome.spec.title} (on {outcome.task.name} pairs: not LFW)"


def _measured_row(row, best):
    known = np.isfinite(row["accuracy"])
    text = f"{row['accuracy']:.2f}" if known else "failed"
    printed = f"{row['paper']:.2f}" if row["paper"] != "" else "–"
    small = f"± {row['standard_error']:.2f}" if known else ""
    return [
        TableCell(row["name"]),
        TableCell(text, best, small=small),
        TableCell(printed),
        TableCell(row["dimensions"]),
    ]


def _chosen_dimensions(outcome, kind, model):
    sizes = sorted({record["cell"]["dimension"] for record in outcome.chosen(kind, model)})
    return ", ".join(map(str, sizes))


def notes(outcome: FaceOutcome) -> tuple[str, ...]:
    """How the numbers came about, and what differs from the paper."""
    spec, task = outcome.spec, outcome.task
    told = [
        *(f"{line}." for line in task.messages),
        f"{task.n_folds} folds, one tested at a time. PCA is fitted to the images of the training pairs only, "
        f"anew in every part of a choice; hyper-parameters (and the dimension, where there is one number for all) by {spec.inner_folds} parts of the "
        "training folds, each fold, and so each person, kept whole. ± is the standard error over the folds.",
        f"Pair features: {' or '.join(spec.pair_features)}; {spec.budget} configurations per model and dimension.",
    ]
    conic = [model_name(key) for key in outcome.models if is_conic(key)]
    if conic:
        told.append(f"{', '.join(conic)}: at most {spec.conic_dimension} dimensions and {spec.conic_budget} "
                    "configurations, for time.")  # fmt: skip
    if "fsvm-cv" in outcome.models:
        told.append("FSVMCV is its best member here, not its average: C, whitening and scatter from a grid of its own.")
    if task.name == "lfw":
        told.append(
            "The paper does not say how it chose the dimension, and names those of its best test accuracy. Its SIFT "
            "features and real-valued attributes are not public: levels need not agree. Quoted rows are other systems, "
            "printed as in the paper and not run here; LDML too."
        )
    failed = [record for record in outcome.records if record["status"] != "ok"]
    return (*told, *[f"{len(failed)} cells failed, the first with {failed[0]['error']}" for _ in failed[:1]])


def dimension_table(outcome: FaceOutcome) -> Table:
    """Accuracy by kind, model and dimension: the numbers behind Figure 4."""
    data = []
    for kind, model, size, records in by_dimension(outcome):
        mean, error = mean_error(records)
        data.append({"features": kind, "model": model, "dimension": size, "accuracy": mean, "standard_error": error})
    rows = [
        [TableCell(f"{model_name(row['model'])}-{row['features']}"), TableCell(str(row["dimension"])),
         TableCell(f"{row['accuracy']:.2f}", small=f"± {row['standard_error']:.2f}")]
        for row in data
    ]  # fmt: skip
    return Table(_title(outcome), ("method", "dimension", "accuracy (%)"), rows, notes(outcome), data)


def by_dimension(outcome):
    """(kind, model, dimension, records), one record for every fold; those with a failure are left out."""
    groups = {}
    for record in outcome.records:
        cell = record["cell"]
        folds = groups.setdefault((cell["kind"], cell["model"], cell["dimension"]), {})
        folds.setdefault(cell["run"], []).append(record)
    for key, folds in groups.items():
        if all(record["status"] == "ok" for records in folds.values() for record in records):
            yield *key, [max(records, key=lambda r: r["inner_accuracy"]) for records in folds.values()]


def roc_curves(outcome: FaceOutcome) -> dict:
    """ROC curves by name, over the pairs of all folds together."""
    task, curves = outcome.task, {}
    for kind in outcome.kinds:
        for model in outcome.models:
            records = outcome.chosen(kind, model)
            if records:
                y = np.concatenate([task.y[task.folds == record["cell"]["run"]] for record in records])
                scores = np.concatenate([_comparable(record["scores"]) for record in records])
                curves[f"{model_name(model)}-{kind}"] = roc(y, scores)
    return curves


def _comparable(scores):
    """Scores of a fold in units of their root mean square: the models of different folds have different C."""
    scores = np.asarray(scores)
    return scores / (np.sqrt(np.mean(scores**2)) or 1.0)


def roc_table(outcome: FaceOutcome) -> Table:
    """Area, equal error rate and TPR at a low FPR of every curve: the numbers beside Figure 5."""
    data = [
        {"name": name, "auc": curve.auc, "eer": curve.equal_error_rate, f"tpr_at_{LOW_FPR:g}": curve.tpr_at(LOW_FPR)}
        for name, curve in roc_curves(outcome).items()
    ]
    rows = [[TableCell(r["name"]), *(TableCell(f"{100 * v:.2f}") for v in list(r.values())[1:])] for r in data]
    header = ("method", "area (%)", "equal error rate (%)", f"TPR at {100 * LOW_FPR:g} % FPR (%)")
    return Table(_title(outcome), header, rows, notes(outcome), data)


def main_table(outcome: FaceOutcome) -> Table:
    """The table of an experiment."""
    make = {"figure4": dimension_table, "figure5": roc_table}.get(outcome.spec.name, face_table)
    return make(outcome)


def write_faces(outcome: FaceOutcome, folder) -> list[Path]:
    """Markdown, LaTeX and CSV of the table, and the figure as SVG and PNG; returns the paths."""
    folder, name = Path(folder), outcome.spec.name
    if outcome.task.name != "lfw":
        name = f"{name}-{outcome.task.name}"
    table = main_table(outcome)
    texts = {"md": to_markdown(table), "tex": to_latex(table), "csv": to_csv(table)}
    paths = [write_text(folder / f"{name}.{suffix}", text) for suffix, text in texts.items()]
    figure = _figure(outcome)
    if figure is not None:
        for suffix in ("svg", "png"):
            paths.append(folder / f"{name}.{suffix}")
            figure.savefig(paths[-1], dpi=150, facecolor="white")
    return paths


def _figure(outcome):
    from ..plots.pairs import plot_roc, plot_verification_dimensions

    if outcome.spec.name == "figure4":
        points = [(kind, model_name(model), size, *mean_error(records))
                  for kind, model, size, records in by_dimension(outcome)]  # fmt: skip
        return plot_verification_dimensions(points) if points else None
    curves = roc_curves(outcome) if outcome.spec.name == "figure5" else {}
    return plot_roc(curves) if curves else None
