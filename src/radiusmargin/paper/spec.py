"""What an experiment is: a TOML file, read into a frozen specification."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field, fields, replace
from importlib import resources
from pathlib import Path

from ..tables import DataError
from ..tables.files import readable
from .metrics import METRICS

__all__ = ["PROTOCOLS", "Spec", "SpecError", "builtin_specs", "load_spec"]

PROTOCOLS = ("nested", "paper", "test-fold", "timing", "pairs")
SPLITS = ("official", "folds")
QUANTITIES = ("accuracy", "seconds", "roc", "examples")


class SpecError(DataError):
    """A specification that makes no sense; the message names the field."""


@dataclass(frozen=True)
class Spec:
    """An experiment: which models on which data, under which protocol.

    Attributes
    ----------
    name, title : str
    datasets : tuple of str
        Names of the registry of data sets.
    models : tuple of str
        Keys of the registry of models; ``("paper",)`` those of the paper's tables and ``("all",)`` every one.
    protocol : {"nested", "paper", "test-fold", "timing", "pairs"}
        Nested selection; selection and report on the same folds, as the paper has it; selection on the test part itself,
        beside nested selection; seconds of one fit; nested selection on pairs of images, along their official folds.
    kernel : {"linear", "rbf"}
    splits : {"official", "folds"}
        Outer splits of nested cross-validation: those of the source (redrawn at the same sizes where more are
        wanted than known), or repeated stratified folds.
    runs : int
        Number of official splits, or of repetitions of the folds.
    folds, inner_folds : int
        Outer folds (``splits="folds"`` and the paper's protocol), and folds of the selection inside.
    budget : int or None
        Most configurations tried for any one model, for which its grid is laid out; never fewer than three values of C.
        None for the registry's own number.
    max_rows : int or None
        Larger sets are cut to a stratified sample of so many rows.
    timing_rows : int
        The timing protocol chooses hyper-parameters on a sample of at most so many rows.
    components : tuple of int
        Kernel dimensions to go through (the paper's Figure 2); empty for no such axis.
    max_components : int or None
        Kernel dimensions that models solved by a conic program are given, whose cost grows fast with them;
        None for all.
    pair_components : int or None
        Principal components of the features of pairs that every model is given; None for all.
    baseline : str
        The model that others are tested against.
    paper_table, quantity : str
        Key into the paper's tables, and what it holds: "accuracy", "seconds"; of pairs also "roc", curves, and
        "examples", the easiest and the hardest pairs.
    metric : {"accuracy", "balanced_accuracy", "f1", "mcc", "roc_auc", "average_precision", "log_loss", "r2", "mae", "rmse"}
        What is reported; ROC AUC, average precision and log-loss are chosen for by accuracy. The last three are of a quantity.
    C : tuple of float
        Centre, spacing and reach of the exponents of 2 that are tried as C; empty for the models' own range.
    conic : dict
        Fields of this specification that are other for models solved by a conic program.
    notes : tuple of str
        Deviations to state, beside those that are found at run time.
    """

    name: str
    title: str = ""
    datasets: tuple[str, ...] = ()
    models: tuple[str, ...] = ("all",)
    protocol: str = "nested"
    kernel: str = "linear"
    splits: str = "folds"
    runs: int = 1
    folds: int = 5
    inner_folds: int = 5
    budget: int | None = None
    max_rows: int | None = None
    timing_rows: int = 400
    components: tuple[int, ...] = ()
    max_components: int | None = None
    pair_components: int | None = None
    baseline: str = "svm"
    paper_table: str = ""
    quantity: str = "accuracy"
    metric: str = "accuracy"
    notes: tuple[str, ...] = ()
    C: tuple[float, ...] = ()
    conic: dict = field(default_factory=dict, hash=False)

    def __post_init__(self):
        for name, value, choices in (
            ("protocol", self.protocol, PROTOCOLS),
            ("splits", self.splits, SPLITS),
            ("kernel", self.kernel, ("linear", "rbf")),
            ("quantity", self.quantity, QUANTITIES),
            ("metric", self.metric, tuple(METRICS)),
        ):
            if value not in choices:
                raise SpecError(f"{name} must be one of {', '.join(choices)}, got {value!r}")
        for name, value, least in (
            ("runs", self.runs, 1),
            ("folds", self.folds, 2),
            ("inner_folds", self.inner_folds, 2),
            ("timing_rows", self.timing_rows, 20),
            ("budget", 1 if self.budget is None else self.budget, 1),
            ("max_components", 1 if self.max_components is None else self.max_components, 1),
            ("pair_components", 1 if self.pair_components is None else self.pair_components, 1),
            ("max_rows", 20 if self.max_rows is None else self.max_rows, 20),
        ):
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise SpecError(f"{name} must be an integer of at least {least}, got {value!r}")
        other = sorted(set(self.conic) - {item.name for item in fields(self)})
        if other:
            raise SpecError(f"conic: unknown field {', '.join(other)}")
        if len(self.C) not in (0, 3):
            raise SpecError(f"C must be centre, spacing and reach of its exponents of 2, got {self.C!r}")
        if not self.models:
            raise SpecError("models must name at least one model")

    def with_options(self, **options) -> Spec:
        """The specification with what is not None changed.

        >>> Spec("toy").with_options(runs=3, folds=None).runs
        3
        """
        changed = {key: value for key, value in options.items() if value is not None}
        return replace(self, **{key: _tupled(value) for key, value in changed.items()})


def _tupled(value):
    return tuple(value) if isinstance(value, list) else value


def from_document(document: dict, *, quick: bool = False) -> Spec:
    """A specification from a parsed TOML file; ``quick`` applies its table of that name.

    >>> from_document({"name": "toy", "runs": 5, "quick": {"runs": 1}}, quick=True).runs
    1
    """
    document = dict(document)
    overrides = document.pop("quick", {})
    if quick:
        document.update(overrides)
    known = {item.name for item in fields(Spec)}
    unknown = sorted(set(document) - known)
    if unknown:
        raise SpecError(f"unknown field {', '.join(unknown)}; known are {', '.join(sorted(known))}")
    if "name" not in document:
        raise SpecError("the specification has no name")
    return Spec(**{key: _tupled(value) for key, value in document.items()})


def builtin_specs() -> list[str]:
    """Names of the specifications that come with the package.

    >>> "table2" in builtin_specs()
    True
    """
    folder = resources.files(__package__).joinpath("specs")
    return sorted(path.name.removesuffix(".toml") for path in folder.iterdir() if path.name.endswith(".toml"))


def load_spec(name, *, quick: bool = False) -> Spec:
    """Read a specification: one of the package's by name, or a TOML file by path."""
    if str(name).endswith(".toml"):
        path = Path(name)
        if not path.is_file():
            raise SpecError(f"{path}: no such file")
        with readable(path):
            text = path.read_text(encoding="utf-8")
    elif name in builtin_specs():
        text = resources.files(__package__).joinpath("specs", f"{name}.toml").read_text(encoding="utf-8")
    else:
        raise SpecError(f"there is no specification {name!r}; known are {', '.join(builtin_specs())}")
    try:
        return from_document(tomllib.loads(text), quick=quick)
    except (tomllib.TOMLDecodeError, TypeError) as error:
        raise SpecError(f"{name}: {error}") from error
    except RecursionError as error:
        raise SpecError(f"{name}: brackets nested too deeply") from error
