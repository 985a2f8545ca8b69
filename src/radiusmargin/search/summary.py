"""A fitted search as text: what was averaged, with which weights, and how well it did on held-out rows."""

from __future__ import annotations

import numpy as np


class Summary(str):
    """Text that an interactive session shows as it is, without quotes and escapes."""

    __slots__ = ()

    def __repr__(self):
        return str(self)


def summary_of(search) -> Summary:
    """Describe the fitted model of a search; see `SearchEstimator.summary`."""
    members = search.members_
    kernels = list(dict.fromkeys(member.get("kernel", search.kernel) for member in members))
    count = f"{len(members)} candidates of {len(kernels)} kernels" if len(members) > 1 else "one candidate"
    lines = [f"{type(search).__name__}: {count}, {search.n_features_in_} columns, {len(search.classes_)} classes"]
    if hasattr(search, "oof_score_"):
        lines.append(
            f"held-out {_score_name(search)} {search.oof_score_:.4g} (best candidate alone {search.best_score_:.4g})"
        )
    lines += ["", *_table(search, kernels), ""]
    lines.append(f"relative duality gap {search.dual_gap_:.1e}, largest of a binary problem {search.max_dual_gap_:.1e}")
    return Summary("\n".join(lines))


def _score_name(search):
    return search.scoring if isinstance(search.scoring, str) else "score" if search.scoring else "accuracy"


def _table(search, kernels):
    """Return aligned lines: a header, and one for each kernel, the heaviest first."""
    rows = []
    for kernel in kernels:
        own = [member for member in search.members_ if member.get("kernel", search.kernel) == kernel]
        weight = sum(member["weight"] for member in own)
        gammas = [member["gamma"] for member in own if not isinstance(member.get("gamma"), (str, type(None)))]
        best = _best_score(search, kernel)
        name = kernel if isinstance(kernel, str) else type(kernel).__name__
        cells = (name, f"{weight:.2f}", str(len(own)), _range([m["C"] for m in own]), _range(gammas), f"{best:.4g}")
        rows.append((weight, cells))
    cells = [("kernel", "weight", "candidates", "C", "gamma", "best score")]
    cells += [own for _, own in sorted(rows, key=lambda row: -row[0])]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in cells]


def _best_score(search, kernel):
    """Return the best mean score on held-out rows of a candidate of a kernel that was not given up."""
    results = search.cv_results_
    own = [params.get("kernel", search.kernel) == kernel for params in results["params"]]
    return np.max(results["mean_test_score"][np.array(own) & ~results["given_up"]])


def _range(values):
    if not values:
        return "-"
    low, high = f"{min(values):.3g}", f"{max(values):.3g}"
    return low if low == high else f"{low} to {high}"
