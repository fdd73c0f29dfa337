"""The ONNX target: graphs traced or written node by node, fused, lowered and quantized."""
