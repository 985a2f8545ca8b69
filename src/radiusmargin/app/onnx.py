"""Linear models and their pipelines as ONNX graphs, by skl2onnx with converters for our estimators."""

from __future__ import annotations

import numpy as np
from sklearn.pipeline import Pipeline

from ..estimators import list_models
from ..multiclass import MulticlassReduction
from ..search import FSVMCV, AutoSVM
from ..tables import DataError, MissingDependencyError
from ..tables.table_encoder import TableEncoder
from .model_file import Bundle

__all__ = ["register_converters", "to_onnx"]

#: Opset that all operators of the graphs are in.
OPSET = 18


def to_onnx(bundle: Bundle) -> bytes:
    """The pipeline of a model file as an ONNX graph with the outputs ``label`` and ``scores``.

    A table's graph has one input of shape (n, 1) for each column: numbers as double, categories as strings, gaps as NaN
    and the empty string. A model of plain numbers has one input, ``X``. Dates, text and kernels are refused.
    """
    try:
        from skl2onnx import convert_sklearn
        from skl2onnx.common.data_types import DoubleTensorType, StringTensorType
    except ImportError as error:
        raise MissingDependencyError(
            "exporting to ONNX needs skl2onnx, which is not installed: pip install '.[export]' from a clone of radiusmargin"
        ) from error
    model = bundle.pipeline[-1]
    if type(model) not in _estimators() or _reduction(model) is None:
        raise DataError(
            f"{bundle.facts['name']} is no linear model of radiusmargin, and only those are exported to ONNX"
        )
    register_converters()
    if bundle.encoder is None:
        inputs, steps = [("X", DoubleTensorType([None, len(bundle.facts["columns"])]))], bundle.pipeline.steps
    else:
        kinds = bundle.encoder.kinds_
        refused = [name for name, kind in kinds.items() if kind not in ("number", "category")]
        if refused:
            raise DataError(f"dates and text are not exported to ONNX: fit without {', '.join(refused)} (--drop)")
        types = {"number": DoubleTensorType, "category": StringTensorType}
        inputs = [(name, types[kind]([None, 1])) for name, kind in kinds.items()]
        steps = bundle.pipeline.steps
    steps = [(name, step) for name, step in steps if step != "passthrough"]
    graph = convert_sklearn(Pipeline(steps), name="radiusmargin", initial_types=inputs, target_opset=OPSET)
    return graph.SerializeToString()


def _estimators():
    return {entry.estimator for entry in list_models()} | {FSVMCV, AutoSVM}


def register_converters() -> None:
    """Tell skl2onnx how our linear classifiers are computed."""
    from skl2onnx import update_registered_converter

    for estimator in _estimators():
        update_registered_converter(
            estimator, f"RadiusMargin{estimator.__name__}", _shapes, _convert, overwrite=True, parser=_parse
        )
    update_registered_converter(
        TableEncoder,
        "RadiusMarginTableEncoder",
        _encoded_shape,
        _convert_encoder,
        overwrite=True,
        parser=_parse_encoder,
    )


# -- tables -----------------------------------------------------------------------------------------------------------


def _parse_encoder(scope, encoder, inputs, custom_parsers=None):
    from skl2onnx.common.data_types import DoubleTensorType

    operator = scope.declare_local_operator("RadiusMarginTableEncoder", encoder)
    operator.inputs = inputs
    operator.outputs.append(scope.declare_local_variable("encoded", DoubleTensorType()))
    return operator.outputs


def _encoded_shape(operator):
    operator.outputs[0].type.shape = [None, len(operator.raw_operator.get_feature_names_out())]


def _convert_encoder(scope, operator, container):
    """Gaps in numbers become medians, categories indicators, in the order of the encoder's features."""
    from skl2onnx.algebra.onnx_ops import OnnxConcat, OnnxIsNaN, OnnxWhere

    encoder, opset = operator.raw_operator, container.target_opset
    inputs = dict(zip(encoder.kinds_, operator.inputs, strict=True))
    parts = []
    for kind, step, names in encoder.encoder_.transformers_:
        if kind == "numbers":
            for name, median in zip(names, step.statistics_, strict=True):
                x = inputs[name]
                parts.append(OnnxWhere(OnnxIsNaN(x, op_version=opset), np.array([[median]]), x, op_version=opset))
        elif kind == "categories":
            for position, name in enumerate(names):
                parts.append(_indicators(inputs[name], step, position, opset))
    OnnxConcat(*parts, axis=1, op_version=opset, output_names=[operator.outputs[0].full_name]).add_to(scope, container)


def _indicators(x, one_hot, position, opset):
    """The columns of one category: rare ones together, and unknown ones with them where there are any."""
    from skl2onnx.algebra.onnx_ops import OnnxAdd, OnnxCast, OnnxMatMul, OnnxOneHotEncoder, OnnxReshape
    from skl2onnx.proto import onnx_proto

    known = one_hot.categories_[position]
    rare = one_hot.infrequent_categories_[position]
    frequent = [value for value in known if rare is None or value not in set(rare)]
    width = len(frequent) + (rare is not None)
    place = {value: number for number, value in enumerate(frequent)}
    merged = np.zeros((len(known), width))
    merged[np.arange(len(known)), [place.get(value, width - 1) for value in known]] = 1.0
    unknown = np.zeros((1, width))
    if rare is not None:  # an unknown value has no indicator: what all known ones take from its column is not taken
        unknown[0, -1] = 1.0
        merged -= unknown
    hot = OnnxOneHotEncoder(x, cats_strings=[str(value) for value in known], zeros=1, op_version=1)
    hot = OnnxReshape(hot, np.array([-1, len(known)], dtype=np.int64), op_version=opset)
    hot = OnnxCast(hot, to=onnx_proto.TensorProto.DOUBLE, op_version=opset)
    return OnnxAdd(OnnxMatMul(hot, merged, op_version=opset), unknown, op_version=opset)


# -- linear classifiers -----------------------------------------------------------------------------------------------


def _parse(scope, model, inputs, custom_parsers=None):
    """A label and scores come out."""
    from skl2onnx.common.data_types import DoubleTensorType, Int64TensorType, StringTensorType

    operator = scope.declare_local_operator(f"RadiusMargin{type(model).__name__}", model)
    operator.inputs = inputs
    kind = Int64TensorType if model.classes_.dtype.kind in "iub" else StringTensorType
    operator.outputs.append(scope.declare_local_variable("label", kind()))
    operator.outputs.append(scope.declare_local_variable("scores", DoubleTensorType()))
    return operator.outputs


def _shapes(operator):
    n_classes = len(operator.raw_operator.classes_)
    operator.outputs[0].type.shape = [None]
    operator.outputs[1].type.shape = [None, 1 if n_classes == 2 else n_classes]


def _convert(scope, operator, container):
    """Scores are linear; of pairs they become votes as in :class:`~radiusmargin.multiclass.MulticlassReduction`."""
    from skl2onnx.algebra.onnx_ops import (
        OnnxAdd,
        OnnxArgMax,
        OnnxCast,
        OnnxGather,
        OnnxGreater,
        OnnxMatMul,
        OnnxReshape,
    )
    from skl2onnx.proto import onnx_proto

    model, opset = operator.raw_operator, container.target_opset
    classes = model.classes_ if model.classes_.dtype.kind not in "iub" else model.classes_.astype(np.int64)
    double = onnx_proto.TensorProto.DOUBLE
    X = OnnxCast(operator.inputs[0], to=double, op_version=opset)
    scores = OnnxMatMul(X, np.atleast_2d(model.coef_).T, op_version=opset)
    scores = OnnxAdd(scores, np.atleast_1d(model.intercept_)[None].astype(float), op_version=opset)
    if len(classes) == 2:
        chosen = OnnxCast(
            OnnxGreater(scores, np.zeros(1), op_version=opset), to=onnx_proto.TensorProto.INT64, op_version=opset
        )
    else:
        scores = _votes(scores, len(classes), opset) if _reduction(model).pairs else scores
        chosen = OnnxArgMax(scores, axis=1, op_version=opset)
    chosen = OnnxReshape(chosen, np.array([-1], dtype=np.int64), op_version=opset)
    values = classes if classes.dtype.kind == "i" else classes.astype(str).astype(object)
    label = OnnxGather(values, chosen, op_version=opset, output_names=[operator.outputs[0].full_name])
    shown = OnnxAdd(scores, np.zeros(1), op_version=opset, output_names=[operator.outputs[1].full_name])
    label.add_to(scope, container)
    shown.add_to(scope, container)


def _votes(scores, n_classes, opset):
    from skl2onnx.algebra.onnx_ops import OnnxAbs, OnnxAdd, OnnxDiv, OnnxGreater, OnnxMatMul, OnnxMul, OnnxWhere

    i, j = np.triu_indices(n_classes, 1)
    sides = np.zeros((len(i), n_classes))
    sides[np.arange(len(i)), i], sides[np.arange(len(i)), j] = -1.0, 1.0
    half = OnnxWhere(
        OnnxGreater(scores, np.zeros(1), op_version=opset), np.array([0.5]), np.array([-0.5]), op_version=opset
    )
    votes = OnnxAdd(OnnxMatMul(half, sides, op_version=opset), np.array([(n_classes - 1) / 2]), op_version=opset)
    sums = OnnxMatMul(scores, sides, op_version=opset)
    size = OnnxAdd(
        OnnxMul(OnnxAbs(sums, op_version=opset), np.array([3.0]), op_version=opset), np.array([3.0]), op_version=opset
    )
    return OnnxAdd(votes, OnnxDiv(sums, size, op_version=opset), op_version=opset)


def _reduction(model) -> MulticlassReduction | None:
    """How the separators in the features themselves become classes; None where a model's decision is not made of them.

    Three classes have as many pairs as classes, and a kernel's separators are not in the features: the scores decide.
    """
    coef, n_classes = np.atleast_2d(getattr(model, "coef_", np.empty((0, 0)))), len(model.classes_)
    if coef.shape[1] != model.n_features_in_:
        return None
    X = np.random.default_rng(0).normal(size=(5, model.n_features_in_))
    raw, scores = X @ coef.T + model.intercept_, model.decision_function(X).reshape(5, -1)
    for pairs, n_columns in ((False, n_classes if n_classes > 2 else 1), (True, n_classes * (n_classes - 1) // 2)):
        reduction = MulticlassReduction(n_classes, pairs=pairs)
        if raw.shape[1] == n_columns and np.allclose(reduction.class_scores(raw), scores):
            return reduction
    return None
