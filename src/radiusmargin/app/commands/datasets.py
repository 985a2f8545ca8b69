"""``radiusmargin datasets``: what can be loaded, and where it was looked for."""

from __future__ import annotations

import click
from rich.table import Table
from rich.text import Text

from .shared import console, show_json

__all__ = ["command"]

STYLES = {"built in": "green", "found": "green", "changed": "red", "openml": "yellow", "missing": "dim"}


@click.command("datasets")
@click.option("--group", help="Only one group: builtin, sklearn, ida, uci, uci_zscored or large.")
@click.option("--json", "as_json", is_flag=True, help="As JSON, with sources, licences and all places looked at.")
def command(group, as_json):
    """List the data sets: size, whether they are here, and where they were looked for.

    Data folders are found through RADIUSMARGIN_DATA.
    """
    from ...paper.data import available, list_datasets

    names = {dataset.name for dataset in list_datasets(group)}
    rows = [row for row in available() if row.dataset.name in names]
    if as_json:
        show_json([_record(row) for row in rows])
        return 0
    out = console()
    table = Table(box=None, pad_edge=False, padding=(0, 1), header_style="bold dim")
    for name, justify in (
        ("data set", "left"),
        ("rows", "right"),
        ("features", "right"),
        ("classes", "right"),
        ("status", "left"),
        ("where", "left"),
    ):
        table.add_column(name, justify=justify, overflow="fold")
    for row in rows:
        d = row.dataset
        table.add_row(
            d.name,
            f"{d.n_samples:,}",
            f"{d.n_features:,}",
            str(d.n_classes),
            Text(row.status, style=STYLES.get(row.status, "")),
            Text("; ".join(row.looked), style="dim"),
        )
    out.print(table)
    here = sum(row.status in ("built in", "found") for row in rows)
    out.print(f"{here} of {len(rows)} can be loaded without a network", style="bold")
    return 0


def _record(row) -> dict:
    d = row.dataset
    return {
        "name": d.name,
        "samples": d.n_samples,
        "features": d.n_features,
        "classes": d.n_classes,
        "status": row.status,
        "looked": list(row.looked),
        "source": d.source,
        "licence": d.licence,
        "note": d.note,
        "sha256": d.sha256,
    }
