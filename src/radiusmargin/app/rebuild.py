"""Estimators from the records of a model file: those that `save_bundle` writes, and no others.

A file names classes; what is made is decided here. Each class is looked up by name in a table, its parameters go through its
own constructor, and of its fitted attributes those are set that a fit sets, with the types and shapes that a fit gives them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, fields
from inspect import signature
from numbers import Real

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline

from ..estimators import SVR, KernelMap, QuantileSVR, list_models
from ..estimators.decision import Ensemble, LinearModel, PlattCalibration
from ..estimators.features import Expansion, LinearMap, Mapped, RankTransform, Raw, ScaledSpace, Standardizer
from ..estimators.kernel_pca import FittedMap
from ..estimators.shared_rows import kernel_of, numbers_of, unpacked
from ..kernels import KERNELS, KernelFunction
from ..multiclass import MulticlassReduction
from ..search import FSVMCV, AutoSVM, AutoSVR
from ..search.targets import TargetScale
from ..tables import DataError
from .container import MOST_BYTES, MOST_TIMES, Record
from .scikit import IGNORED, SCIKIT, rebuild_encoder, rebuild_scikit, require

__all__ = ["rebuild_pipeline", "require_known"]

REGRESSORS = (SVR, QuantileSVR, AutoSVR)
ESTIMATORS = {entry.estimator for entry in list_models()} | {FSVMCV, AutoSVM, *REGRESSORS}

#: What a fit leaves in an attribute other than data.
SPACES, UNITS = (Raw, Mapped, Expansion, ScaledSpace), (Standardizer, RankTransform, LinearMap)
OBJECTS = {
    "_model": (LinearModel, Ensemble), "_sigmoids": (PlattCalibration,), "kernel_map_": (KernelMap,), "_function": (KernelFunction,),
    "_expansion": (FittedMap,), "space": SPACES, "units": UNITS, "standard": (Standardizer,), "function": (KernelFunction,),
    "transformer": (KernelMap,), "reduction": (MulticlassReduction,), "parts": (LinearModel,), "_targets": (TargetScale,),
}  # fmt: skip

#: Private attributes that a fit sets; public ones end in an underscore.
PRIVATE = {
    "_model",
    "_one_quantile",
    "_sigmoids",
    "_targets",
    "_directions",
    "_means",
    "_function",
    "_expansion",
    "_landmark_rows",
    "_n_features_out",
}

OURS = {cls.__name__: cls for kinds in (*OBJECTS.values(), ESTIMATORS) for cls in kinds}

#: Classes that were called otherwise when a file was written: old name -> class.
RENAMED = {
    "InUnits": ScaledSpace, "Linear": LinearMap, "Ranks": RankTransform, "Reduction": MulticlassReduction,
    "Sigmoids": PlattCalibration, "Standard": Standardizer, "Sum": Ensemble,
}  # fmt: skip

KNOWN = {f"radiusmargin.{name}" for name in (*OURS, *RENAMED, "TableEncoder")} | SCIKIT | IGNORED


def require_known(tree) -> None:
    """Raise a DataError that names every class of a file that is not on the list."""
    foreign = {f"{record.module}.{record.cls}" for record in _records(tree) if record.name not in KNOWN}
    if foreign:
        raise DataError(f"it asks for {', '.join(sorted(foreign))}, which model files do not hold")


def _records(tree) -> Iterator[Record]:
    if isinstance(tree, Record):
        yield tree
        tree = tree.attributes
    if isinstance(tree, dict):
        tree = tree.values()
    elif isinstance(tree, np.ndarray) and tree.dtype == object:
        tree = np.ma.getdata(tree).ravel().tolist()
    elif not isinstance(tree, list | tuple):
        return
    for value in tree:
        yield from _records(value)


def rebuild_pipeline(record: Record, n_columns: int) -> Pipeline:
    """Rebuild a fitted pipeline: the encoding of a table, a standardisation, a classifier.

    Parameters
    ----------
    record : Record
    n_columns : int
        Columns of the rows that it takes, where it does not begin with an encoding.
    """
    require(isinstance(record, Record) and record.name == "sklearn.Pipeline", "there is no pipeline")
    extra = record.attributes.keys() - {*signature(Pipeline).parameters, "_sklearn_version"}
    require(not extra, f"a pipeline has the attributes {sorted(extra)}, which no fit sets")
    steps, width = [], n_columns
    for name, step in record.attributes["steps"]:
        if step != "passthrough":
            step, width = _rebuild_step(step, width)
        steps.append((name, step))
    require(len({str(name) for name, _ in steps}) == len(steps), "steps have the same name")
    return Pipeline(steps)


def _rebuild_step(record, width):
    """The step, and the number of columns that it makes of so many."""
    require(isinstance(record, Record), "a step is no estimator")
    if record.name == "radiusmargin.TableEncoder":
        encoder = rebuild_encoder(record)
        return encoder, len(encoder.get_feature_names_out())
    if record.name in SCIKIT:
        return rebuild_scikit(record, width), width
    model = _rebuild(record, ESTIMATORS)
    require(model.n_features_in_ == width, f"{record.cls} has {model.n_features_in_!r} features, not {width}")
    _check_decision(model, _encoded_width(model, width))
    return model, width


def _encoded_width(model, width):
    """The number of columns that separators have: those that the model's own encoding makes."""
    own = vars(model)
    means = own.get("_means")
    if means is not None:
        check_floats(means, (width,))
    if "encoder_" not in own:
        return width
    require(own["encoder_"].n_features_in_ == width, "the encoding is of other columns")
    return len(own["encoder_"].get_feature_names_out())


# -- our estimators and their parts ------------------------------------------------------------------------------------


def _rebuild(record, expected):
    """An object of one of the expected classes."""
    cls = RENAMED.get(record.cls) or OURS.get(record.cls) if record.name.startswith("radiusmargin.") else None
    require(cls in expected, f"there is {record.name} where another class should be")
    own = {name: value for name, value in record.attributes.items() if name != "_radiusmargin_version"}
    if cls not in ESTIMATORS and cls is not KernelMap:
        own.pop("_sides", None)  # which is computed
        declared = fields(cls) if hasattr(cls, "__dataclass_fields__") else ()
        needed = {field.name for field in declared if field.default is MISSING} if declared else own.keys()
        known = {field.name for field in declared} if declared else own.keys()  # older files lack those with a default
        require(needed <= own.keys() <= known, f"{record.name} has the attributes {sorted(map(str, own))}")
        return cls(**{name: _attribute(name, value) for name, value in own.items()})
    made = cls(**{name: _data(own.pop(name), name) for name in signature(cls).parameters if name in own})
    for name, value in own.items():
        learnt = name in PRIVATE or (name.endswith("_") and not name.startswith("_"))
        require(learnt and not hasattr(cls, name), f"{record.name} has an attribute {name!r}, which no fit sets")
        vars(made)[name] = _attribute(name, value)
    return made


def _attribute(name, value):
    if name in ("parts", "_targets"):
        return tuple(_rebuild(part, OBJECTS[name]) for part in value)
    if name == "encoder_" and isinstance(value, Record) and value.name == "radiusmargin.TableEncoder":
        return rebuild_encoder(value)
    if isinstance(value, Record):
        require(name in OBJECTS, f"attribute {name!r} holds {value.name}")
        return _rebuild(value, OBJECTS[name])
    return _data(value, name)


def _data(value, name):
    """A value in which there is no object."""
    found = next(_records(value), None)
    require(found is None, f"attribute {name!r} holds {found and found.name}")
    return value


# -- shapes -----------------------------------------------------------------------------------------------------------


def _check_decision(model, width):
    """Raise a DataError where the arrays that decisions are computed from do not fit together."""
    decides = vars(model).get("_model")
    require(decides is not None, "a model has not been fitted")
    if isinstance(decides, Ensemble):
        if decides.rows is not None:
            _check_numbers(decides, width)
        decides = vars(model)["_model"] = Ensemble(unpacked(decides.parts, decides.rows), decides.rows)
    parts = decides.parts if isinstance(decides, Ensemble) else (decides,)
    sigmoids = vars(model).get("_sigmoids")
    reductions = {part.reduction for part in parts} | ({sigmoids.reduction} if sigmoids is not None else set())
    require(len(reductions) == 1, "parts of a model have other classes")
    n_problems = _problems(model, *reductions)
    for part in parts:
        n_features = _columns(part.space, width)
        least = 1 if isinstance(part.space, Mapped) else n_features  # separators may use its leading features alone
        n_used = np.shape(part.coef)[-1] if np.ndim(part.coef) == 2 or sparse.issparse(part.coef) else -1
        require(least <= n_used <= n_features, "separators and features are not as many")
        check_floats(part.coef, (n_problems, n_used))
        check_floats(part.intercept, (n_problems,))
    if sigmoids is not None:
        check_floats(sigmoids.slope, (n_problems,))
        check_floats(sigmoids.offset, (n_problems,))
        require(isinstance(sigmoids.exponent, float) and 0 < sigmoids.exponent < 1e3, "a temperature is out of range")


def _check_numbers(ensemble, width):
    """Raise a DataError where numbers of support vectors are none of the rows that the parts of an ensemble share."""
    rows, size = ensemble.rows, 0
    require(isinstance(rows, np.ndarray) and rows.ndim == 2, "there are no rows that parts of a model share")
    check_floats(rows, (len(rows), width))
    for part in ensemble.parts:
        if (numbers := numbers_of(part.space)) is not None:
            scaling = kernel_of(part.space)[1]
            size += 8 * len(numbers) * (width if scaling is None else _unit_columns(scaling, width))
            require(isinstance(numbers, np.ndarray) and numbers.dtype.kind == "i", "numbers of rows are not whole")
            require(0 < len(numbers) <= len(rows), "a model has no support vectors, or more than rows")
            require(numbers.min() >= 0 and numbers.max() < len(rows), "the number of a row is out of range")
    require(size <= max(MOST_BYTES, MOST_TIMES * rows.nbytes), "support vectors take too much memory")


def _problems(model, reduction) -> int:
    """The number of separators of a model; of the functions of a regression, which has no classes."""
    if isinstance(model, REGRESSORS):
        require(reduction is None, "a regression has classes")
        if isinstance(model, AutoSVR):
            return _check_targets(model)
        require(isinstance(getattr(model, "_one_quantile", True), bool), "quantiles are neither one nor several")
        return len(np.atleast_1d(getattr(model, "quantile", 0.5)))
    check_classes(model.classes_)
    require(isinstance(reduction, MulticlassReduction), "there are no classes")
    require(isinstance(reduction.pairs, bool), "classes are compared neither in pairs nor with the rest")
    require(reduction.n_classes == len(model.classes_), "classes and separators are not as many")
    return reduction.n_problems


def _check_targets(model) -> int:
    """Raise a DataError where the scales of targets are none; return their number."""
    targets = vars(model).get("_targets")
    require(isinstance(targets, tuple) and targets, "a model has no targets")
    for target in targets:
        check_floats(target.residuals, (len(target.residuals),))
        numbers = (target.unit, target.mean, target.deviation, target.low, target.high, target.power or 0.0)
        require(
            all(isinstance(one, Real) and np.isfinite(one) for one in numbers), "the scale of a target is not finite"
        )
    require(len(targets) == 1 or np.ndim(model.oof_prediction_) == 2, "targets are not as many")
    return len(targets)


def _columns(space, width) -> int:
    """The number of features of a space of rows with so many columns."""
    if isinstance(space, ScaledSpace):
        return _columns(space.space, _unit_columns(space.units, width))
    if isinstance(space, Expansion):
        _check_kernel(space.function, space.support, width)
        require(
            isinstance(space.n_threads, int) and 1 <= space.n_threads <= 1024, "a number of threads is out of range"
        )
        return space.support.shape[0]
    if isinstance(space, Mapped):
        own = vars(space.transformer)
        found, n_features = own["_expansion"], own["n_components_"]
        rows = own["landmarks_"] if own["_function"] is None else own["_landmark_rows"]
        _check_kernel(own["_function"], rows, width)
        require(isinstance(n_features, int) and own["n_features_in_"] == width, "features of a kernel are not as many")
        check_floats(found.projection, (rows.shape[0], n_features))
        check_floats(found.centre, (rows.shape[0],))
        require(len(own["landmarks_"]) == rows.shape[0], "rows of a kernel are not as many as their numbers")
        return n_features
    require(isinstance(space, Raw), "there is no space of features")
    return width


def _unit_columns(units, width) -> int:
    if isinstance(units, LinearMap):
        check_floats(units.root, (len(units.root), width))
        return len(units.root)
    if isinstance(units, RankTransform):
        check_floats(units.quantiles, (len(units.quantiles), width))
        require(len(units.quantiles) > 1, "ranks have no quantiles")
        units = units.standard
    require(isinstance(units, Standardizer), "there are no units")
    check_floats(units.mean, (width,))
    check_floats(units.scale, (width,))
    require((units.scale > 0).all(), "a scale is not positive")
    return width


def _check_kernel(function, support, width):
    if function is None:  # columns of kernel values, by their numbers
        require(isinstance(support, np.ndarray) and support.ndim == 1 and support.dtype.kind == "i", "no support")
        require(len(support) > 0 and support.min() >= 0 and support.max() < width, "a column number is out of range")
        return
    require((support is not None and np.ndim(support) == 2) or sparse.issparse(support), "there are no support vectors")
    check_floats(support, (support.shape[0], width))
    require(support.shape[0] > 0, "there are no support vectors")
    require(function.kernel in KERNELS and not function.params, "a kernel is none of ours")
    for number in (function.gamma, function.degree, function.coef0):
        require(isinstance(number, Real) and np.isfinite(number), f"a parameter of a kernel is {number!r}")


def check_classes(classes) -> None:
    """Raise a DataError for what is no array of different labels."""
    require(isinstance(classes, np.ndarray) and classes.ndim == 1 and len(classes) > 1, "there are no classes")
    labels = classes.tolist()
    require(all(isinstance(label, str | Real) for label in labels), "a label is neither a text nor a number")
    require(len(set(labels)) == len(labels), "a label is there twice")


def check_floats(array, shape) -> None:
    """Raise a DataError for what is no matrix or vector of finite numbers in double precision, of a shape."""
    stored = array.data if sparse.issparse(array) and len(shape) == 2 else array
    fits = isinstance(stored, np.ndarray) and stored.dtype == np.float64 and array.shape == shape
    require(fits and np.isfinite(stored).all(), f"an array is not one of shape {shape} of finite numbers")
