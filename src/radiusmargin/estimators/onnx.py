"""Converters of linear models for skl2onnx: the outputs of a graph, their shapes, and the operators.

`MarginEstimator` refers to these functions in the methods that skl2onnx looks for, so ``skl2onnx.to_onnx(model, X)`` works.
"""

from __future__ import annotations

import numpy as np

from ..multiclass import MulticlassReduction


def outputs(model, scope):
    """Declare the outputs of a classifier: labels and scores."""
    from skl2onnx.common.data_types import DoubleTensorType, Int64TensorType, StringTensorType

    kind = Int64TensorType if model.classes_.dtype.kind in "iub" else StringTensorType
    return [
        scope.declare_local_variable("label", kind()),
        scope.declare_local_variable("scores", DoubleTensorType()),
    ]


def shapes(operator):
    """Set the shapes of the outputs."""
    n_classes = len(operator.raw_operator.classes_)
    operator.outputs[0].type.shape = [None]
    operator.outputs[1].type.shape = [None, 1 if n_classes == 2 else n_classes]


def convert(scope, operator, container):
    """Add the operators of a classifier: scores are linear, and scores of pairs become votes."""
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
    reduction = linear_reduction(model)
    if reduction is None:
        raise ValueError(
            f"{type(model).__name__} is not linear in its inputs, and only linear models become ONNX graphs."
        )
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
        scores = _votes(scores, len(classes), opset) if reduction.pairs else scores
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


def linear_reduction(model) -> MulticlassReduction | None:
    """Return how the separators in the features themselves become classes; None for a model whose decision is not made of them.

    Three classes have as many pairs as classes, and a kernel's separators are not in the features: the scores decide. A model with
    an encoder of its own is none either: a `TableEncoder` before it in a pipeline becomes part of the graph.
    """
    coef, n_classes = np.atleast_2d(getattr(model, "coef_", np.empty((0, 0)))), len(model.classes_)
    if coef.shape[1] != model.n_features_in_ or hasattr(model, "encoder_"):
        return None
    X = np.random.default_rng(0).normal(size=(5, model.n_features_in_))
    raw, scores = X @ coef.T + model.intercept_, model.decision_function(X).reshape(5, -1)
    for pairs, n_columns in ((False, n_classes if n_classes > 2 else 1), (True, n_classes * (n_classes - 1) // 2)):
        reduction = MulticlassReduction(n_classes, pairs=pairs)
        if raw.shape[1] == n_columns and np.allclose(reduction.class_scores(raw), scores):
            return reduction
    return None


# -- Regressions --------------------------------------------------------------------------------------------------------


def value_outputs(scope):
    """Declare the output of a regression."""
    from skl2onnx.common.data_types import DoubleTensorType

    return [scope.declare_local_variable("variable", DoubleTensorType())]


def value_shapes(operator):
    """Set the shape of the output."""
    operator.outputs[0].type.shape = [None, len(operator.raw_operator.intercept_)]


def convert_values(scope, operator, container):
    """Add the operators of a linear regression; several quantiles are sorted."""
    from skl2onnx.algebra.onnx_ops import OnnxAdd, OnnxCast, OnnxIdentity, OnnxMatMul, OnnxTopK
    from skl2onnx.proto import onnx_proto

    model, opset = operator.raw_operator, container.target_opset
    coef = getattr(model, "coef_", None)
    if coef is None or hasattr(model, "kernel_map_"):
        raise ValueError(
            f"{type(model).__name__} is not linear in its inputs, and only linear models become ONNX graphs."
        )
    X = OnnxCast(operator.inputs[0], to=onnx_proto.TensorProto.DOUBLE, op_version=opset)
    values = OnnxAdd(OnnxMatMul(X, coef.T, op_version=opset), model.intercept_[None], op_version=opset)
    if len(coef) > 1:
        values = OnnxTopK(values, np.array([len(coef)], dtype=np.int64), axis=1, largest=0, op_version=opset)[0]
    OnnxIdentity(values, op_version=opset, output_names=[operator.outputs[0].full_name]).add_to(scope, container)
