"""A hash over everything that an export's result depends on.

An interrupted export continues, and a finished bundle counts as up to date, only if the hash is the same.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from .. import capabilities
from ..errors import ExportError
from ..quantize import calibration
from ..recipe import CALIBRATED, recipe
from ..settings import Settings

DATA = (
    *(Path(__file__).with_name(name) for name in ("place_names.json", "country_names.json")),
    capabilities.FILE,
)
# Increased when bundles must be exported again although none of CODE changed.
FORMAT = 1
# Settings that decide what is in a bundle, and nothing of what is in an artifact.
ASIDE = ("parts", "bars", "languages", "dictionaries", "layout")
TOOLS = (
    "torch",
    "executorch",
    "torchao",
    "coremltools",
    "onnx",
    "onnxruntime",
    "numpy",
    "tokenizers",
    "transformers",
    "gguf",
)
# The modules and packages whose code determines the contents of an artifact or its manifest entry. A missing
# one is an error.
CODE = (
    "gamer.export.bundle.card",
    "gamer.export.bundle.contents",
    "gamer.export.bundle.contracts",
    "gamer.export.bundle.gazetteer",
    "gamer.export.bundle.prefixes",
    "gamer.export.bundle.prompts",
    "gamer.export.bundle.rendering",
    "gamer.export.bundle.templates",
    "gamer.export.bundle.write",
    "gamer.export.capabilities",
    "gamer.export.checkpoints",
    "gamer.export.components",
    "gamer.export.coreml",
    "gamer.export.executorch",
    "gamer.export.graphs",
    "gamer.export.networks",
    "gamer.export.onnx",
    "gamer.export.parity",
    "gamer.export.placement",
    "gamer.export.quantize",
    "gamer.export.recipe",
    "gamer.export.settings",
    "gamer.export.target_options",
    "gamer.runtime.bundle.contract",
    "gamer.runtime.bundle.manifest",
    "gamer.runtime.bundle.placement",
    "gamer.runtime.models.language.decoder",
    "gamer.runtime.models.image",
    "gamer.runtime.models.language.kv_cache",
    "gamer.runtime.models.language.prefix",
)


def fingerprint(settings: Settings) -> str:
    """SHA-256 over settings, recipe, sources, photographs, tool versions, FORMAT and the code named in CODE.

    It does not depend on the requested parts, targets and languages, which are added to a bundle that lacks
    them, nor on the user's bars, which a finished artifact passes or does not. Raises
    ExportError if the folder for calibration has too few photographs.
    """
    values = {f.name: getattr(settings, f.name) for f in fields(settings) if f.name not in ASIDE}
    versions = [(tool, version(tool)) for tool in TOOLS]
    sha = hashlib.sha256(repr((FORMAT, values, recipe(settings.recipe), versions)).encode())
    for _, source in (*settings.sources, *settings.adapters):
        path = Path(source)
        inside = [*path.iterdir(), *path.glob("*/config.json"), *path.glob("onnx/*")] if path.is_dir() else []
        for file in sorted(inside) or ([path] if path.is_file() else []):
            sha.update(_stamp(file))
    for file in calibration.chosen(Path(settings.calibrate)) if settings.calibrate else ():
        sha.update(_stamp(file))
    if settings.quant == CALIBRATED:
        from ..quantize import calibrated  # loads torch

        sha.update(calibrated.text().encode())  # each version of Python has its own
    for name in CODE:
        for file in _files(name):
            sha.update(f"{name}/{file.name}".encode())
            sha.update(
                meaning(file.read_text(encoding="utf-8")) if file.suffix == ".py" else file.read_bytes()
            )
    for data in DATA:
        sha.update(data.read_bytes())
    return sha.hexdigest()


@cache  # 3 MB, a second of reading: one process may export, plan and verify in turn
def meaning(source: str) -> bytes:
    """The syntax tree of Python source, which has no comments and no layout, without docstrings."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if (
            isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef))
            and ast.get_docstring(node, clean=False) is not None
        ):
            node.body = node.body[1:] or [ast.Pass()]
    return ast.dump(tree).encode()


def _files(name: str) -> Iterator[Path]:
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        raise ExportError(
            f"{name}: named in the fingerprint's list of code, but not there: install the package again"
        )
    file = Path(spec.origin)
    if file.name != "__init__.py":
        yield file
    else:
        yield from sorted(
            f for kind in ("*.py", "*.json", "*.adapter", "*.txt") for f in file.parent.rglob(kind)
        )


def _stamp(file: Path) -> bytes:
    return repr((file.name, file.stat().st_size, file.stat().st_mtime_ns)).encode()
