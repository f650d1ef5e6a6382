"""Models for other programs: model files and ONNX."""
