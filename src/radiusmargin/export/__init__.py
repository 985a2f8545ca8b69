"""Models to take home: files that run no code when they are opened, and ONNX."""

from .bundle import Bundle, load_bundle, save_bundle

__all__ = ["Bundle", "load_bundle", "save_bundle"]
