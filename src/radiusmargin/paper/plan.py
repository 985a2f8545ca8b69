"""Random seeds as a pure function of named axes: the same cell draws the same numbers on every machine."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy import sparse

from ..estimators.registry import Powers
from ..tables import DataError, TaskData
from .catalogue import get_model, grid_of, has_own_search, is_conic, is_of_pairs, is_regressor, resolve_models
from .faces.task import PairTask
from .metrics import METRICS
from .references import REGRESSORS
from .spec import Spec


def seed_for(*axes) -> int:
    """A seed of 32 bits for the given axes.

    >>> seed_for("split", "ida/heart", 3) == seed_for("split", "ida/heart", 3)
    True
    >>> seed_for("split", "ida/heart", 3) == seed_for("split", "ida/heart", 4)
    False
    """
    name = "\x1f".join(str(axis) for axis in axes)
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big")


# -- The plan of an experiment: its cells, each with a hash of its content as the key of its result -------------------


#: Raised when the meaning of a cell changes, so that older results are not taken for new ones.
HARNESS_VERSION = 4

#: Protocols with a training and a test part.
SPLIT = ("nested", "test-fold")

#: What a cell has from its experiment.
SHARED = "protocol", "kernel", "splits", "folds", "inner_folds", "budget", "metric"


@dataclass(frozen=True)
class Cell:
    """One model on one split of one data set: the unit of work, of storage and of failure.

    Everything that the result depends on is a field, so that the hash of the fields is its identity. `fixed` are all
    parameters of the model that are not tuned, those of its entry in the catalogue among them.
    """

    dataset: str
    data: str
    run: int
    model: str
    protocol: str
    kernel: str
    splits: str
    folds: int
    inner_folds: int
    budget: int | None
    timing_rows: int
    grid: dict = field(hash=False)
    fixed: dict = field(default_factory=dict, hash=False)
    version: int = HARNESS_VERSION
    metric: str = "accuracy"

    @cached_property
    def key(self) -> str:
        """SHA-256 of the fields in canonical JSON; the metric is one where it is not accuracy."""
        fields = asdict(self)
        if self.metric == "accuracy":
            del fields["metric"]
        text = json.dumps(fields, sort_keys=True, separators=(",", ":"), default=_plain)
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def seed(self) -> int:
        """The seed of whatever the model draws; the splits have seeds of their own."""
        return seed_for("model", self.dataset, self.run)

    def axes(self) -> dict:
        """The fields as plain data, as the store keeps them."""
        return json.loads(json.dumps(asdict(self), default=_plain))


def _plain(value):
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    return repr(value)


def data_fingerprint(task: TaskData | PairTask) -> str:
    """SHA-256 of features, labels and official splits: a cell is tied to the data and not to their name."""
    if isinstance(task, PairTask):
        return task.fingerprint
    digest = hashlib.sha256()
    for array in (*_arrays(task.X), np.asarray(task.y)):
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    if task.groups is not None or task.in_time:
        digest.update(
            f"{task.in_time}".encode() + np.ascontiguousarray(task.groups if task.groups is not None else []).tobytes()
        )
    for train, test in task.splits or ():
        digest.update(np.asarray(train, dtype=np.int64).tobytes())
        digest.update(np.asarray(test, dtype=np.int64).tobytes())
    return digest.hexdigest()[:16]


def _arrays(X):
    """The arrays that make up the features."""
    if sparse.issparse(X):
        X = X.tocsr()
        return X.indptr, X.indices, X.data
    if not hasattr(X, "iloc"):
        return (X,)
    from pandas.util import hash_pandas_object

    names = np.frombuffer("\0".join(map(str, X.columns)).encode(), dtype=np.uint8)
    return names, hash_pandas_object(X, index=False).to_numpy()


def make_plan(spec: Spec, tasks: dict[str, TaskData]) -> list[Cell]:
    """All cells of a specification, run by run, so that a plan that is stopped has whole runs to show.

    Parameters
    ----------
    spec : Spec
    tasks : dict of str to TaskData
        The data, by name, in the order of the table.
    """
    if not tasks:
        raise DataError("there is no data set to run on")
    if spec.metric != "accuracy" and spec.protocol != "nested":
        raise DataError(
            f"metric {spec.metric!r} needs nested cross-validation; the {spec.protocol} protocol has accuracy only"
        )
    prints = {name: data_fingerprint(task) for name, task in tasks.items()}
    models = resolve_models(spec.models)
    _check_metric(spec.metric, tasks.values())
    _check_models(models, spec.protocol, METRICS[spec.metric].of_quantity)
    n_runs = spec.runs * spec.folds if spec.protocol in SPLIT and spec.splits == "folds" else spec.runs
    return [
        _cell(spec, name, prints[name], run, model, fixed)
        for run in range(n_runs)
        for name in tasks
        for model in models
        for fixed in _fixed_axis(spec)
    ]


def _check_metric(metric, tasks):
    """Some metrics are for classes, some for a quantity."""
    of_quantity = METRICS[metric].of_quantity
    for task in tasks:
        if getattr(task, "quantity", False) != of_quantity:
            what, other = ("classes", "a quantity") if of_quantity else ("a quantity", "classes")
            known = ", ".join(key for key, one in METRICS.items() if one.of_quantity != of_quantity)
            raise DataError(
                f"{task.name}: its target is {what}, and metric {metric!r} is for {other}; take one of {known}"
            )


def _check_models(models, protocol, of_quantity):
    """Some are for pairs only, some for everything else; some for classes, some for a quantity."""
    wrong = [key for key in models if is_regressor(key) != of_quantity]
    if wrong and of_quantity:
        known = ", ".join(entry.key for entry in REGRESSORS)
        raise DataError(f"{', '.join(wrong)}: for classes, and the target is a quantity; for that there are {known}")
    if wrong:
        raise DataError(f"{', '.join(wrong)}: for a quantity, and the target is classes")
    own = [key for key in models if is_of_pairs(key)]
    if own and protocol != "pairs":
        raise DataError(f"{', '.join(own)}: a model of pairs, for the face experiments only")
    others = [key for key in models if has_own_search(key)]
    if others and protocol == "pairs":
        raise DataError(f"{', '.join(others)}: not for the face experiments, whose folds such a search does not know")


def _fixed_axis(spec):
    return [{"n_components": k} for k in spec.components] or [{}]


def _cell(spec, name, fingerprint, run, model, fixed) -> Cell:
    spec = replace(spec, **spec.conic) if is_conic(model) else spec
    # Along an axis that is fixed, a model that would tune it tries more of the rest: all try as much.
    grid = grid_of(model, spec.kernel, spec.budget, C=Powers(*spec.C) if spec.C else None, fixed=fixed)
    narrow = spec.pair_components or (spec.max_components if is_conic(model) else None)
    if spec.protocol == "pairs" and narrow:
        fixed = {**fixed, "pair_components": narrow}
    if spec.kernel == "rbf" and spec.max_components and is_conic(model) and "n_components" not in {**grid, **fixed}:
        fixed = {**fixed, "n_components": spec.max_components}
    how = {name: getattr(spec, name) for name in SHARED} | {"grid": grid, "fixed": {**get_model(model).fixed, **fixed}}
    timing_rows = spec.timing_rows if spec.protocol == "timing" else 0
    return Cell(dataset=name, data=fingerprint, run=run, model=model, timing_rows=timing_rows, **how)


__all__ = ["SPLIT", "Cell", "data_fingerprint", "make_plan", "seed_for"]
