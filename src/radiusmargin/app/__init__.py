"""The application: command line, comparison, model files and ONNX."""

from .model_file import Bundle, load_bundle, save_bundle

__all__ = [
    "Bundle",
    "load_bundle",
    "save_bundle",
]
