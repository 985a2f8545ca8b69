"""Where a result comes from: versions, processor, threads, time."""

from __future__ import annotations

import json
import os
import platform
import re
import time
from collections import Counter
from functools import cache
from importlib import metadata
from pathlib import Path

from .._writing import write_file

PACKAGES = ("radiusmargin", "numpy", "scipy", "scikit-learn", "joblib", "clarabel")


@cache
def package_versions() -> dict[str, str]:
    """Versions of Python and of the packages a number depends on."""
    versions = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            versions[name] = "not installed"
    return versions


@cache
def processor() -> str:
    """The processor's name, as well as the system tells it."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


@cache
def compiled_core() -> bool:
    """Tell whether the compiled core serves, rather than its NumPy twin."""
    from ..solvers import COMPILED

    return COMPILED


def usable_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def provenance() -> dict:
    """What goes with every record of the store."""
    return {
        "versions": package_versions(),
        "compiled_core": compiled_core(),
        "cpu": processor(),
        "cores": usable_cores(),
        "system": f"{platform.system()} {platform.machine()}",
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


# -- Captions: how often, with how many configurations and by which version the cells behind a table were run ---------


UNITS = {"nested": "splits", "paper": "runs", "test-fold": "splits", "timing": "runs", "pairs": "folds"}
PROTOCOLS = {
    "nested": "nested cross-validation",
    "paper": "the paper's (chosen and reported on the same folds)",
    "test-fold": "chosen on the reported test part, beside nested cross-validation",
    "timing": "timing (one fit)",
    "pairs": "nested cross-validation on pairs",
}
UNKNOWN = "not recorded"


def run_facts(spec, summary) -> dict:
    """Collect what the records of a run say: runs of every cell, configurations of every model, versions, days."""
    names, sources = summary.names, [record["provenance"] for record in summary.records]
    tried: dict = {names[key]: set() for key in summary.models}
    for record in summary.records:
        tried[names[record["cell"]["model"]]].add(record.get("n_configurations"))
    return {
        "protocol": spec.protocol,
        "runs": {d: {names[m]: len(summary.entry(d, m).values) for m in summary.models} for d in summary.datasets},
        "configurations": {name: sorted(found - {None}) for name, found in tried.items()},
        "models": list(names.values()),
        "datasets": list(summary.datasets),
        "versions": sorted({source["versions"].get("radiusmargin", UNKNOWN) for source in sources}),
        "days": sorted({source["time"][:10] for source in sources}),
    }


def single_facts() -> dict:
    """Facts of a table that is made without splits and without a choice, now."""
    source = provenance()
    versions, day = [source["versions"]["radiusmargin"]], source["time"][:10]
    return {"protocol": "no splits, nothing is chosen", "versions": versions, "days": [day]}


def caption(facts: dict) -> str:
    """Write the facts as one line of ``key: value``; a fact that is None is said to be not recorded.

    >>> facts = {"protocol": "paper", "runs": {"heart": {"SVM": 100, "RMM": 5}}, "models": ["SVM", "RMM"]}
    >>> caption(facts | {"configurations": {"SVM": [24], "RMM": [24]}, "versions": ["0.1.0"], "days": None})
    "Runs: 100 (RMM: 5); configurations: 24; protocol: the paper's (chosen and reported on the same folds); models: SVM, RMM; version: radiusmargin 0.1.0; date: not recorded."
    """
    protocol, parts = facts.get("protocol"), {}
    if "runs" in facts:
        parts[UNITS.get(protocol, "runs")] = _by_model(_runs_of_models(facts["runs"]))
    if "configurations" in facts:
        parts["configurations"] = _by_model(facts["configurations"])
    parts["protocol"] = PROTOCOLS.get(protocol, protocol)
    if "models" in facts:
        parts["models"] = ", ".join(facts["models"])
    if "datasets" in facts:
        parts["data sets"] = str(len(facts["datasets"]))
    parts["version"] = None if facts.get("versions") is None else f"radiusmargin {', '.join(facts['versions'])}"
    parts["date"] = facts.get("days") and " to ".join(dict.fromkeys((facts["days"][0], facts["days"][-1])))
    if "remark" in facts:
        parts["remark"] = facts["remark"]
    line = "; ".join(f"{key}: {value or UNKNOWN}" for key, value in parts.items())
    return f"{line[:1].upper()}{line[1:]}."


def _runs_of_models(runs):
    """Turn counts by data set and model into the counts of every model."""
    if not isinstance(runs, dict):
        return runs
    models = dict.fromkeys(model for counts in runs.values() for model in counts)
    return {model: sorted({counts[model] for counts in runs.values() if model in counts}) for model in models}


def _by_model(counts):
    """Write the most frequent count, then the models that have another; text and None are passed on."""
    if not isinstance(counts, dict):
        return counts
    texts = {model: " to ".join(str(n) for n in dict.fromkeys((found[0], found[-1]))) if found else UNKNOWN
             for model, found in counts.items()}  # fmt: skip
    usual = Counter(texts.values()).most_common(1)[0][0]
    others = ", ".join(f"{model}: {text}" for model, text in texts.items() if text != usual)
    return f"{usual} ({others})" if others else usual


def render_block(record: dict) -> str:
    """Write the Markdown of a record: its command, its table, its caption."""
    return "\n".join(["", f"    {record['command']}", "", *record["table"], "", f"*{caption(record['facts'])}*", ""])


def _pattern(name):
    return re.compile(rf"(?<=<!-- begin {re.escape(name)} -->\n).*?(?=<!-- end {re.escape(name)} -->)", re.DOTALL)


def pick_block(text: str, name: str) -> str | None:
    """Return what stands between the markers of a block; None where there are none."""
    found = _pattern(name).search(text)
    return found and found[0]


def replace_block(text: str, name: str, block: str) -> str:
    """Put a block between its markers, which must be there."""
    return _pattern(name).sub(lambda _: block, text)


def save_block(page: Path, name: str, record: dict) -> list[Path]:
    """Rewrite a block of a page and the record beside it, ``tables/<name>.json``; returns the paths."""
    text = replace_block(page.read_text(encoding="utf-8"), name, render_block(record))
    document = json.dumps(record, ensure_ascii=False, indent=1) + "\n"
    return [write_file(page.parent / "tables" / f"{name}.json", document), write_file(page, text)]


__all__ = [
    "caption",
    "compiled_core",
    "package_versions",
    "pick_block",
    "provenance",
    "render_block",
    "replace_block",
    "run_facts",
    "save_block",
    "single_facts",
]
