"""What FSVM costs beyond the hinge solver it stands on.

python benchmarks/fsvm.py
"""

from __future__ import annotations

import warnings

import common
import numpy as np
from sklearn.datasets import load_digits

from radiusmargin import FSVM
from radiusmargin.paper import data as datasets
from radiusmargin.scatter import scatter_matrix
from radiusmargin.solvers import hinge_svm


def against_the_solver():
    rows = []
    for n, d in ((270, 13), (7_000, 20), (100_000, 20)):
        X, y = datasets.make_twonorm(n, d, random_state=0)
        S, signs = scatter_matrix(X) / n, y.astype(float)
        times = common.interleaved(
            {
                "hinge": lambda: hinge_svm(X, signs, 1.0, S),
                "scatter": lambda: scatter_matrix(X),
                "exact": lambda: FSVM().fit(X, y),
                "eta": lambda: FSVM(eta=0.1).fit(X, y),
                "rho": lambda: FSVM(rho=1.0).fit(X, y),
            },
            30 if n < 1_000 else 7,
        )
        base = times["hinge"] + times["scatter"]
        rows.append([
            f"{n:,} x {d}", common.human(times["hinge"]), common.human(times["scatter"]), common.human(times["exact"]),
            f"{times['exact'] / base:.2f}x, {common.human(times['exact'] - times['hinge'])} above",
            f"{times['eta'] / times['hinge']:.1f}x", f"{times['rho'] / times['hinge']:.1f}x",
        ])  # fmt: skip
    header = [
        "data",
        "hinge_svm",
        "scatter",
        "FSVM",
        "FSVM against hinge_svm + scatter",
        "eta = 0.1 / hinge_svm",
        "rho = 1 / hinge_svm",
    ]
    return common.table(header, rows)


def shared():
    digits = load_digits(return_X_y=True)
    mixture = datasets.make_gaussian_mixture(7_000, 20, n_classes=10, n_clusters=1, random_state=0)
    rows = []
    for name, (X, y) in {"mixture": mixture, "digits": digits}.items():
        separate, together = FSVM(C=0.1, multi_class="ovr"), FSVM(C=0.1, coupling="shared")
        times = common.interleaved({"separate": lambda: separate.fit(X, y), "shared": lambda: together.fit(X, y)}, 3)
        rows.append([
            f"{name} ({len(X):,} x {X.shape[1]}, 10 classes)", common.human(times["separate"]), common.human(times["shared"]),
            f"{times['shared'] / times['separate']:.1f}x", f"{together.dual_gap_:.1e}", len(together.components_),
        ])  # fmt: skip
    return common.table(["data", "separate", "shared", "ratio", "gap of shared", "rank"], rows)


def turns():
    """What descent on the metric leaves on the table."""
    rows = []
    for name in ("twonorm", "waveform", "ill_conditioned"):
        maker = getattr(datasets, f"make_{name}")
        X, y = maker(300, random_state=0)
        for C in (0.1, 1.0):
            row = [name, C]
            for solver in ("exact", "alternating", "projected-gradient"):
                model = FSVM(C=C, solver=solver, max_iter=300)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    took = min(common.seconds(lambda model=model: model.fit(X, y))[0] for _ in range(2))
                row.append(f"{model.dual_gap_:.1e} ({common.human(took)})")
            rows.append(row)
    return common.table(["data (300 rows)", "C", "exact: gap (time)", "alternating", "projected gradient"], rows)


def main():
    np.seterr(all="ignore")
    text = [
        f"## FSVM\n\n`python benchmarks/fsvm.py`: {common.provenance()}",
        "### Against the solver it stands on (tol 1e-6, C = 1, twonorm)\n\n" + against_the_solver(),
        "### One metric for ten classes\n\n" + shared(),
        "### Taking turns with the metric, on F-SVM itself (eta = 0)\n\n" + turns(),
    ]
    common.write_section("fsvm", "\n\n".join(text))
    print("\n\n".join(text))


if __name__ == "__main__":
    main()
