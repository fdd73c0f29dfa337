"""The parts of the paper's FLOPs, by arithmetic that is done here by hand."""

from __future__ import annotations

import pytest

from gamer.bench.cost import flop_formulas, reconcile
from gamer.bench.cost.costs_tables import reconciled
from gamer.bench.published import PAPER


def test_an_expert_of_88_million_weights_is_957_wide() -> None:
    width = reconcile.expert_width(88_000_000, 8)
    assert width == pytest.approx(957.4, abs=0.05)
    assert 96 * width**2 == pytest.approx(88e6)
    # the weights that the formula for multiply-adds of one token counts, less the attention's two products
    assert flop_formulas.Encoder(957, 8, 4 * 957).macs(1) - 8 * 2 * 957 == 96 * 957**2


def test_a_small_clip_has_the_flops_that_its_authors_code_reports() -> None:
    """open_clip's profile of ViT-B-32: 8.82 G FLOPs for an image, 5.96 for a text, 14.78 for both."""
    assert 2 * reconcile.CLIP_B32_IMAGE.macs() / 1e9 == pytest.approx(8.82, abs=0.03)
    assert 2 * reconcile.CLIP_B32_TEXT.macs(77) / 1e9 == pytest.approx(5.96, abs=0.03)


def test_what_the_language_model_leaves_is_about_a_clip_and_no_expert_on_patches() -> None:
    less, rest = (
        [line.candidate for line in reconcile.lines() if line.paper_g == giga] for giga in (14.1, 18.0)
    )
    assert {line.paper_g for line in reconcile.lines()} == {PAPER.less_llm_g["Qwen2"], 18.0}
    assert "CLIP" in less[0].what
    assert less[0].off < 0.1
    (patches,) = (c for c in less if "patches" in c.what)
    assert patches.giga_macs > 3 * PAPER.less_llm_g["Qwen2"]
    assert rest[0].off < 0.05
    assert all("query" in c.what for c in rest)


def test_the_sheet_has_a_row_for_every_count() -> None:
    sheet = reconciled()
    assert len(sheet.rows) == len(reconcile.lines())
    assert all(len(r) == len(sheet.columns) for r in sheet.rows)
    assert "957" in reconcile.notes()
    assert "101 M" in reconcile.notes()


def test_one_more_expert_of_table_7_costs_what_a_vector_through_its_weights_does() -> None:
    paper, patches, pooled = reconcile.one_expert()
    assert paper.mega_flops == pytest.approx(70)  # (3214 - 3207) · 10 M for 2.5 - 1.5 experts
    assert pooled.macs == pytest.approx(88.5 + 0.983 + 1.475, rel=0.01)  # blocks, into 960, into 1536
    assert patches.macs > 250 * pooled.macs
