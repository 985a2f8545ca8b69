"""``radiusmargin describe``: what a model file holds, without using it."""

from __future__ import annotations

from pathlib import Path

import click

from .shared import console, show_json

__all__ = ["command", "describe"]


@click.command("describe")
@click.argument("model", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def command(model, as_json):
    """Say what the file MODEL holds: the model, its certificate, its columns, and where it comes from."""
    from ..model_file import load_bundle

    bundle = load_bundle(model)
    if as_json:
        show_json(bundle.facts)
    else:
        describe(bundle, console())
    return 0


def describe(bundle, out) -> None:
    """A model file in a dozen lines; of one that was saved with few facts, fewer."""
    facts = bundle.facts
    for name, make in LINES.items():
        try:
            text = make(facts)
        except KeyError:
            continue
        out.print(f"{name:<12} {text}", markup=False)


def _model(facts) -> str:
    parameters = ", ".join(f"{name}={value}" for name, value in facts["parameters"].items())
    features = "" if "kernel" in facts["parameters"] else f"{facts['kernel']} features"  # a search names its best one
    return ", ".join(filter(None, (facts["name"], features, parameters)))


def _columns(facts) -> str:
    kinds = facts.get("kinds") or dict.fromkeys(facts["columns"], "number")
    columns = [f"{name} ({kind.partition(' ')[0]})" for name, kind in kinds.items()]
    return ", ".join(columns[:20]) + (f", … ({len(columns)})" if len(columns) > 20 else "")


def _scores(facts) -> str:
    best, average = facts["cross_validated_score"], facts.get("out_of_fold_score")
    of_average = "" if average is None else f"; average, out of fold: {average:.4f}"
    metric = facts.get("scoring", "score").replace("_", " ")
    if "quantity" in facts:
        return f"{metric} {best:.4f} of held-out rows"
    return f"{metric} {best:.4f} (the largest of many, so too high{of_average})"


def _certificate(values) -> str:
    if not values:
        return "none: the model is scikit-learn's"
    worst = f" ({values['max_dual_gap']:.2g} for the worst of its problems)" if "max_dual_gap" in values else ""
    return f"objective {values['objective']:.6g}, at most {values['dual_gap']:.2g} of it above the optimum{worst}"


#: Name -> text of the facts, a KeyError where they are not known.
LINES = {
    "model": _model,
    "chosen by": lambda facts: f"{facts['chosen_by']}: {_scores(facts)}",
    "certificate": lambda facts: _certificate(facts["certificate"]),
    "quantity": lambda facts: "from {:g} to {:g}".format(*facts["quantity"]),
    "classes": lambda facts: ", ".join(f"{name} ({count})" for name, count in facts["classes"].items()),
    "columns": _columns,
    "table": lambda facts: f"{facts['table']}, {facts['rows']} rows, fingerprint {facts['data']}",
    "made": lambda facts: (
        f"{facts['provenance']['time']}, radiusmargin {facts['provenance']['versions']['radiusmargin']}"
    ),
}
