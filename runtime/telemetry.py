"""Keeps the native libraries below from reporting home: set before any of them loads.

ONNX Runtime 1.29 and later queue usage events by default (a device id and an SQLite file in the user's cache,
sent when there is a network). It reads ORT_DISABLE_TELEMETRY once, when its library is loaded;
`load_onnxruntime` also calls its own switch, for a process in which somebody else loaded it first.
docs/privacy.md has the answer for every other dependency.
"""

from __future__ import annotations

import importlib
import os
from typing import Any

# Name → value. Worker processes inherit them.
OPT_OUT = {
    "ORT_DISABLE_TELEMETRY": "1",  # ONNX Runtime
    "HF_HUB_DISABLE_TELEMETRY": "1",  # transformers, by way of huggingface_hub
    "RAY_USAGE_STATS_ENABLED": "0",  # ray
    "DO_NOT_TRACK": "1",  # what others have agreed on
}


def opt_out() -> None:
    """Sets OPT_OUT in this process's environment, over whatever was there."""
    os.environ.update(OPT_OUT)


def load_onnxruntime() -> Any:
    """The `onnxruntime` module, with its telemetry off. Raises ImportError where it is not installed."""
    opt_out()
    module = importlib.import_module("onnxruntime")
    module.disable_telemetry_events()
    return module
