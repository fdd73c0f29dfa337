"""Regular expressions of tokenizers: those of published ones pass, those that can be made slow do not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gamer.runtime.errors import BundleError
from gamer.runtime.models import token_patterns
from gamer.runtime.models.tokenizers import open_tokenizer
from tests.paths import GOLDEN

ANY = json.loads((GOLDEN / "conformance" / "tokenizers" / "wordpiece.json").read_text(encoding="utf-8"))
PUBLISHED = {
    "GPT-2": r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    "Qwen2": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+",
    "GPT-4o": r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    "GPT-4": r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$"
    r"|\s*[\r\n]|\s+(?!\S)|\s",
    "CLIP": r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+",
    "BLOOM": r" ?[^(\s|[.,!?…。，、।۔،])]+",
    "thousands": r"\p{N}{1,3}(?=(?:\p{N}{3})*(?:\P{N}|$))",
}
SLOW = [
    "(a+)+$", "(a|aa)+b", "a*a*b", r"\s+\s+$", "(a*|b)(a*)c", "(?=a*a*b)c", "(?:(a|b){3})*c", "(?:a*b*)c",
    "(a{1,50}){1,50}", "a?" * 30 + "b", "(?:a?){30}b", "(a|a)" * 7 + "b", "a**", "a{1,3}+b", "x{2}{3}",
    r"(a)\1", r"(?<n>a)\g<n>", "(" * 200 + ")" * 200, "[", "(", "\\", "a" * 30_000, "(?~a)",
    "a{,40}" * 6 + "b", "a{0,00040}" * 6 + "b", "(?x:#[\n a*a*a*b #]\n)", "a*(?i)x|a*(?i)x", "a{",
]  # fmt: skip


@pytest.mark.parametrize("name", PUBLISHED)
def test_patterns_of_published_tokenizers_pass(name: str) -> None:
    token_patterns.check(PUBLISHED[name])


@pytest.mark.parametrize("pattern", SLOW, ids=lambda pattern: pattern[:12])
def test_patterns_that_can_be_slow_do_not(pattern: str) -> None:
    with pytest.raises(token_patterns.SlowPattern):
        token_patterns.check(pattern)


@pytest.mark.parametrize("part", ["normalizer", "pre_tokenizer", "decoder"])
def test_a_tokenizer_with_an_exploding_pattern_is_refused_in_one_line(tmp_path: Path, part: str) -> None:
    path, pattern = tmp_path / "text_tokenizer.json", {"Regex": "(a+)+$"}
    replacing = {"type": "Replace", "pattern": pattern, "content": "b"}
    splitting = {"type": "Split", "pattern": pattern, "behavior": "Isolated", "invert": False}
    path.write_text(json.dumps({**ANY, part: splitting if part == "pre_tokenizer" else replacing}))
    with pytest.raises(BundleError, match=r"must be a tokenizer \(regular expression .* repeats a group\)"):
        open_tokenizer(path)


EMPTY = [
    "",
    r"\p{N}{0,3}",
    "(?=c)",
    "(?!x)",
    "(?<=a)",
    "^",
    "$",
    r"\b",
    r"\G",
    "x*",
    "a?b?",
    "(?:a|b*)",
    "(?i)",
]
SOME = [" {2,}", r"\s+", "^ +", " +$", "(?:a|b)", "a(?=b)", r"\p{N}{1,3}", "[^a]", "(?i)a"]


@pytest.mark.parametrize("pattern", [*EMPTY, *SOME])
def test_a_pattern_that_can_match_nothing_is_seen(pattern: str) -> None:
    assert token_patterns.check(pattern) is (pattern in EMPTY)


def test_a_normalizer_that_adds_text_between_letters_is_refused(tmp_path: Path) -> None:
    """The library's own code reads beyond its text there, and panics."""
    path = tmp_path / "text_tokenizer.json"
    adding = {"type": "Replace", "pattern": {"Regex": r"\p{N}{0,3}"}, "content": "Split"}
    path.write_text(json.dumps({**ANY, "normalizer": adding}))
    with pytest.raises(BundleError, match="must not add text between letters"):
        open_tokenizer(path)
    path.write_text(json.dumps({**ANY, "normalizer": {**adding, "content": ""}}))
    assert open_tokenizer(path).encode("12 é!").ids
