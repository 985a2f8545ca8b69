"""``radiusmargin info``: versions, the compiled core, threads and processor, for bug reports."""

from __future__ import annotations

import click

from .shared import console, show_json

__all__ = ["command"]


@click.command("info")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def command(as_json):
    """Say what this installation is made of."""
    facts = _facts()
    if as_json:
        show_json(facts)
        return 0
    out = console()
    for name, value in facts.items():
        text = ", ".join(f"{k} {v}" for k, v in value.items()) if isinstance(value, dict) else value
        out.print(f"[bold]{name:<14}[/bold] {text}")
    return 0


def _facts() -> dict:
    import os

    from threadpoolctl import threadpool_info

    from ...estimators import list_models
    from ...paper import builtin_specs
    from ...paper.captions import provenance

    source = provenance()
    pools = sorted({f"{pool['internal_api']} ({pool['num_threads']})" for pool in threadpool_info()})
    return {
        "versions": source["versions"],
        "compiled core": "yes" if source["compiled_core"] else "no: the NumPy twin serves",
        "processor": source["cpu"],
        "cores": source["cores"],
        "system": source["system"],
        "thread pools": ", ".join(pools) or "none",
        "data folder": os.environ.get("RADIUSMARGIN_DATA") or "RADIUSMARGIN_DATA is not set",
        "models": ", ".join(entry.key for entry in list_models()),
        "experiments": ", ".join(builtin_specs()),
    }
