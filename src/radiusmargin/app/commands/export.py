"""``radiusmargin export``: a model file as an ONNX graph."""

from __future__ import annotations

from pathlib import Path

import click

from ..._writing import check_output, write_file
from .shared import console

__all__ = ["command"]


@click.command("export")
@click.argument("model", type=click.Path(path_type=Path))
@click.option("--onnx", required=True, type=click.Path(path_type=Path), help="The ONNX file to write.")
def command(model, onnx):
    """Write the linear model in the file MODEL as ONNX, encoding included.

    Inputs are the columns by name, numbers as double and categories as strings; outputs are label and scores.
    """
    from ..model_file import load_bundle
    from ..onnx import to_onnx

    check_output(onnx)
    content = to_onnx(load_bundle(model))
    console().print(f"wrote {write_file(onnx, content)}", markup=False)
    return 0
