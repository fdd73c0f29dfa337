"""The iOS app, its package and the Core ML files that `gamer export` writes are for the same iOS."""

import re

from gamer.export.settings import Settings
from tests.paths import ROOT


def found(path: str, pattern: str) -> str:
    match = re.search(pattern, (ROOT / path).read_text(encoding="utf-8"))
    return match[1] if match else f"no {pattern} in {path}"


def test_app_package_and_export_agree() -> None:
    exported = Settings.__dataclass_fields__["deployment_target"].default
    assert exported == "iOS" + found("ios_demo/App/project.yml", r'iOS: "(\d+)\.0"')
    assert exported == "iOS" + found("ios_demo/PhotoCore/Package.swift", r"\.iOS\(\.v(\d+)\)")
