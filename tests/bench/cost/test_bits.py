"""The study of bits writes files as an export does and reads a text with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="needs the export extra")
pytest.importorskip("transformers", reason="needs the export extra")

from gamer.bench.cost import bits
from gamer.bench.study.declaration import Run
from gamer.bench.tables import Sheet
from gamer.export.errors import ExportError
from tests.export import tiny


def _settings(source: Path, uniform: str, **others: Any) -> bits.Settings:
    return bits.Settings("llm", (f"llm={source}",), (uniform,), ("llm",), **others)


def test_a_decoder_reads_the_text_on_each_target_and_with_each_cache(tmp_path: Path) -> None:
    source, lengths = tiny.qwen2(tmp_path / "model"), (16, 48)
    caches = _settings(source, "fp32", caches=("fp32", "int8"), chosen=False, lengths=lengths)
    result = bits.measure(Run(caches))
    exact, small = result.files
    assert exact.perplexity == pytest.approx(result.fp32, rel=1e-3)
    assert len(result.fp32) == 2
    assert exact.top1 == 1.0
    assert exact.worst > 0.99999
    assert (exact.cache, small.cache) == ("fp32", "int8")
    both = _settings(source, "int4/32", targets=("onnx", "executorch"), chosen=False, lengths=lengths)
    coarse = bits.measure(Run(both)).files
    assert [f.target for f in coarse] == ["onnx", "executorch"]
    for file in coarse:
        assert file.worst < 0.9999
        assert file.bytes < exact.bytes
        assert file.unseen > small.unseen > 0
    sheet, fp32 = bits.tables(result)
    assert isinstance(sheet, Sheet)
    assert sheet.columns[-2:] == ("perplexity of 16", "perplexity of 48")
    assert str(fp32).startswith("perplexity of torch in fp32: ")


def test_bits_are_chosen_in_the_bytes_of_a_uniform_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GAMER_CACHE", str(tmp_path / "cache"))
    result = bits.measure(Run(_settings(tiny.qwen2(tmp_path / "model"), "fp16", lengths=(16,))))
    uniform, chosen = result.files
    assert (uniform.chosen, chosen.chosen) == (False, True)
    assert chosen.quant == "fp16"
    assert chosen.bytes <= uniform.bytes
    sheet, _ = bits.tables(result)
    assert isinstance(sheet, Sheet)
    assert [row[2] for row in sheet.rows] == ["fp16", "chosen, as fp16"]


def test_a_text_that_is_too_short_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("A word, and another.")
    source = tiny.qwen2(tmp_path / "model")
    settings = bits.Settings(
        "llm", (f"llm={source}",), parts=("llm",), text=tmp_path / "text.txt", lengths=(40,)
    )
    with pytest.raises(
        ExportError, match=r"^text: [0-9]+ tokens, and lengths asks for 40: give a longer one$"
    ):
        bits.measure(Run(settings))
