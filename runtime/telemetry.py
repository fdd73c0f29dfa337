"""Turns off the telemetry of native libraries. It must run before any of them loads.

ONNX Runtime 1.29 and later queue usage events by default (a device id and an SQLite file in the user's cache,
sent when there is a network). It reads ORT_DISABLE_TELEMETRY once, when its library is loaded;
`load_onnxruntime` also calls the library's own switch, in case other code loaded it before. docs/privacy.md
covers every other dependency.
"""

from __future__ import annotations

import importlib
import os
from typing import Any

# Environment variables; worker processes inherit them.
OPT_OUT = {
    "ORT_DISABLE_TELEMETRY": "1",  # ONNX Runtime
    "HF_HUB_DISABLE_TELEMETRY": "1",  # huggingface_hub, which transformers uses
    "RAY_USAGE_STATS_ENABLED": "0",  # ray
    "DO_NOT_TRACK": "1",  # a convention of several other tools
}


def opt_out() -> None:
    """Sets OPT_OUT in this process's environment, overwriting earlier values."""
    os.environ.update(OPT_OUT)


def load_onnxruntime() -> Any:
    """The `onnxruntime` module with its telemetry off. Raises ImportError if it is not installed."""
    opt_out()
    module = importlib.import_module("onnxruntime")
    module.disable_telemetry_events()
    return module
