"""ONNX graphs that optimum wrote, as sources of a part, put behind the interfaces of GAMER's components."""
