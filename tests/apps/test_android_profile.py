"""The rules of Android's baseline profile, which Gradle packs and which no tool here can read."""

from __future__ import annotations

import re
from pathlib import Path

ANDROID = Path(__file__).parents[2] / "android_demo"
RULE = re.compile(r"H?S?P?Lgamer/(\w{1,20})/\*\*;->\*\*\(\*\*\)\*\*")


def test_every_rule_names_a_package_that_the_app_has() -> None:
    """A rule that names nothing compiles nothing, and nobody would be told."""
    rules = (ANDROID / "app/src/main/baseline-prof.txt").read_text(encoding="utf-8").splitlines()
    named = [match[1] for match in map(RULE.fullmatch, rules) if match]
    assert len(named) == len(set(named)) == len(rules) > 0
    packages = {path.name for path in (ANDROID / "core/src/gamer").iterdir()} | {"app"}
    assert set(named) <= packages
    no_part_of_a_search = {"bench", "browse", "image", "indexing", "people", "screen"}
    assert packages - set(named) <= no_part_of_a_search
