"""Model files of linear models as ONNX graphs, by skl2onnx."""

from __future__ import annotations

import numpy as np
from sklearn.pipeline import Pipeline

from ..estimators.base import MarginEstimator
from ..estimators.onnx import linear_reduction
from ..tables import DataError, MissingDependencyError
from ..tables.table_encoder import TableEncoder
from .model_file import Bundle

__all__ = ["to_onnx"]

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
    if not isinstance(model, MarginEstimator) or linear_reduction(model) is None:
        raise DataError(
            f"{bundle.facts['name']} is no linear model of radiusmargin, and only those are exported to ONNX"
        )
    _register_encoder()
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


def _register_encoder() -> None:
    """Tell skl2onnx how a table's encoder is computed; estimators say it themselves."""
    from skl2onnx import update_registered_converter

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
    numbers = [name for name, kind in encoder.kinds_.items() if kind == "number"]
    for name in numbers:
        missing = OnnxIsNaN(inputs[name], op_version=opset)
        parts.append(OnnxWhere(missing, encoder.medians_[name][None], inputs[name], op_version=opset))
    for name in encoder.kinds_:
        if name not in numbers:
            rest = name in encoder.infrequent_
            parts.append(_indicators(inputs[name], list(encoder.categories_[name]), rest, opset))
    OnnxConcat(*parts, axis=1, op_version=opset, output_names=[operator.outputs[0].full_name]).add_to(scope, container)


def _indicators(x, categories, rest, opset):
    """The columns of one category; with `rest`, one more for all values that have none."""
    from skl2onnx.algebra.onnx_ops import OnnxAdd, OnnxCast, OnnxMatMul, OnnxOneHotEncoder, OnnxReshape
    from skl2onnx.proto import onnx_proto

    hot = OnnxOneHotEncoder(x, cats_strings=categories, zeros=1, op_version=1)
    hot = OnnxReshape(hot, np.array([-1, len(categories)], dtype=np.int64), op_version=opset)
    hot = OnnxCast(hot, to=onnx_proto.TensorProto.DOUBLE, op_version=opset)
    if not rest:
        return hot
    others = np.eye(len(categories), len(categories) + 1)
    others[:, -1] = -1.0  # what all values have in the last column, those with a category of their own give back
    shared = np.eye(1, len(categories) + 1, len(categories))
    return OnnxAdd(OnnxMatMul(hot, others, op_version=opset), shared, op_version=opset)
