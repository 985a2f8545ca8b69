"""Face verification on LFW, the paper's Table 6 and Figures 4 and 5: all three are read from the same cells.

A cell is one model on one kind of features at one dimension of PCA, tested on one official fold. Its hyper-parameters are
chosen inside the other folds, and so is, for the table and the ROC curves, the dimension.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

from ..datasets import DataError
from ..models.grids import Powers
from ..pairs import PairTask, load_lfw, offline_pairs
from .catalogue import grid_of, is_conic, resolve_models
from .face_cells import run_group
from .plan import Cell
from .store import Store

__all__ = ["FACES", "FaceCell", "FaceOutcome", "FaceSpec", "load_faces", "make_face_plan", "run_faces"]

#: Raised when the meaning of a cell changes.
FACES_VERSION = 1
#: Values of C. Thousands of rows and hundreds of features want smaller ones than the registry's.
FACE_C = Powers(centre=-10, spacing=3, reach=12, most=8)


@dataclass(frozen=True)
class FaceSpec:
    """One of the face experiments.

    Attributes
    ----------
    name, title : str
    models : tuple of str
        Keys of the registry.
    dimensions : dict of str to tuple of int
        Dimensions of PCA for each kind of features; kinds that the data do not have are passed over.
    pair_features : tuple of str
        Choices of `PairFeatures`, the best of which is chosen inside.
    inner_folds : int
        Parts that the nine training folds are divided into.
    budget : int
        Configurations tried for each model, at each dimension.
    conic_dimension, conic_budget : int
        For models solved by a conic program, which can take over a minute at 146 features: one dimension, fewer configurations.
    """

    name: str
    title: str
    models: tuple[str, ...]
    dimensions: dict = field(hash=False)
    pair_features: tuple[str, ...] = ("both",)
    inner_folds: int = 3
    budget: int = 8
    conic_dimension: int = 30
    conic_budget: int = 4

    def with_options(self, **options) -> FaceSpec:
        """The specification with what is not None changed."""
        return replace(self, **{key: value for key, value in options.items() if value is not None})


ALL = {"attribute": (73,), "combined": (100, 200, 300, 400), "generated": (20,), "pixels": (40,)}
ALONG = {
    "attribute": (10, 20, 40, 73),
    "combined": (50, 100, 200, 300, 400, 500),
    "generated": (5, 10, 20),
    "pixels": (10, 40),
}

FACES = {
    spec.name: spec
    for spec in (
        FaceSpec("table6", "Table 6: face verification", ("paper", "fsvm-tempered", "fsvm-cv"), ALL),
        FaceSpec("figure4", "Figure 4: accuracy against the dimension of PCA", ("svm", "fsvm"), ALONG),
        FaceSpec("figure5", "Figure 5: ROC curves", ("svm", "fsvm", "fsvm-cv"), ALL),
    )
}  # fmt: skip


@dataclass(frozen=True)
class FaceCell:
    """One model, kind, dimension and fold; the hash of the fields is its identity."""

    dataset: str
    kind: str
    data: str
    run: int
    model: str
    dimension: int
    pair_features: str
    folds: int
    inner_folds: int
    budget: int
    grid: dict = field(hash=False)
    version: int = FACES_VERSION

    @cached_property
    def key(self) -> str:
        text = json.dumps(asdict(self), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def plain(self) -> Cell:
        """The cell of the harness that chooses this one's hyper-parameters."""
        return Cell(
            dataset=self.dataset, data=self.data, run=self.run, model=self.model, protocol="honest", kernel="linear",
            splits="official", folds=self.folds, inner_folds=self.inner_folds, budget=self.budget, timing_rows=0,
            grid=self.grid,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class FaceOutcome:
    """A finished experiment: its records, and the task that they belong to."""

    spec: FaceSpec
    task: PairTask
    records: list[dict]

    @property
    def n_failed(self) -> int:
        return sum(record["status"] != "ok" for record in self.records)

    @property
    def models(self) -> list[str]:
        return list(dict.fromkeys(record["cell"]["model"] for record in self.records))

    @property
    def kinds(self) -> list[str]:
        return list(dict.fromkeys(record["cell"]["kind"] for record in self.records))

    def chosen(self, kind: str, model: str) -> list[dict]:
        """For every fold the record whose dimension and pair features did best inside its training folds.

        Empty if a cell failed: a mean over some of the folds would not be the protocol's.
        """
        mine = [r for r in self.records if (r["cell"]["kind"], r["cell"]["model"]) == (kind, model)]
        if any(record["status"] != "ok" for record in mine):
            return []
        folds = sorted({record["cell"]["run"] for record in mine})
        return [max((r for r in mine if r["cell"]["run"] == k), key=lambda r: r["inner_accuracy"]) for k in folds]


def load_faces(data_home=None, *, offline=False, cache=None, attributes=None, sift=None, progress=None) -> PairTask:
    """LFW with attributes and SIFT, or, with ``offline``, Olivetti's faces or generated pairs."""
    if offline:
        return offline_pairs(random_state=0)
    return load_lfw(data_home, attributes=attributes, sift=sift, cache=cache, progress=progress)


def make_face_plan(spec: FaceSpec, task: PairTask) -> list[FaceCell]:
    """All cells, fold by fold."""
    kinds = [kind for kind in spec.dimensions if kind in task.tables]
    if not kinds:
        raise DataError(f"{task.name} has {', '.join(task.tables)}, none of {', '.join(spec.dimensions)}")
    prints = {kind: _fingerprint(task, kind) for kind in kinds}
    return [
        _cell(spec, task, kind, prints[kind], fold, model, dimension, pair_features)
        for fold in range(task.n_folds)
        for kind in kinds
        for model in resolve_models(spec.models)
        for dimension in _dimensions(spec, task, kind, model)
        for pair_features in spec.pair_features
    ]


def _cell(spec, task, kind, data, fold, model, dimension, pair_features):
    budget = spec.conic_budget if is_conic(model) else spec.budget
    grid = grid_of(model, "linear", budget, C=FACE_C)
    return FaceCell(
        f"{task.name}/{kind}", kind, data, fold, model, dimension, pair_features, task.n_folds, spec.inner_folds,
        budget, grid,
    )  # fmt: skip


def _dimensions(spec, task, kind, model):
    """Those of the kind, no more than it has features; for conic models their own."""
    wanted = spec.dimensions[kind] if not is_conic(model) else (min(spec.conic_dimension, *spec.dimensions[kind]),)
    return sorted({min(int(d), task.tables[kind].shape[1]) for d in wanted})


def _fingerprint(task, kind):
    digest = hashlib.sha256(json.dumps(task.blocks.get(kind)).encode())
    for array in (task.tables[kind], task.pairs, task.y, task.folds):
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]


def run_faces(
    spec: FaceSpec,
    task: PairTask,
    store: Store | Path | None = None,
    *,
    jobs: int | None = None,
    progress: Callable[[int], Callable[[dict], None]] | None = None,
) -> FaceOutcome:
    """Run what the store does not hold yet; arguments as of `radiusmargin.experiments.workflow.run_experiment`."""
    plan = make_face_plan(spec, task)
    report = progress(len(plan)) if progress else (lambda record: None)
    if store is None:
        with tempfile.TemporaryDirectory(prefix="radiusmargin-") as folder:
            return FaceOutcome(spec, task, _execute(plan, task, Store(Path(folder, "cells.jsonl")), jobs, report))
    store = store if isinstance(store, Store) else Store(store)
    return FaceOutcome(spec, task, _execute(plan, task, store, jobs, report))


def _execute(plan, task, store, jobs, report):
    """Cells that share a projection, those of one fold and kind, go to one worker."""
    done, groups = store.records(), {}
    for cell in plan:
        if done.get(cell.key, {}).get("status") == "ok":
            report(done[cell.key])
        else:
            groups.setdefault((cell.run, cell.kind), []).append(cell)
    parallel = Parallel(n_jobs=jobs, return_as="generator_unordered", pre_dispatch="n_jobs", batch_size=1)
    arrays = (task.pairs, task.y, task.folds)
    work = (
        delayed(run_group)(cells, task.tables[kind], *arrays, task.blocks.get(kind))
        for (_, kind), cells in groups.items()
    )
    for records in parallel(work):
        for record in records:
            store.append(record)
            report(record)
    done = store.records()
    return [done[cell.key] for cell in plan]
