"""`gamer bench study index` on one small album."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
from click.testing import CliRunner

from gamer.bench.cli.bench import bench
from gamer.bench.index import growth
from gamer.index import Album


def test_ranks_stay_below_their_limit_and_higher_ranks_are_rarer() -> None:
    ranks = growth._ranks(np.random.default_rng(0), (20_000, 3), 500)
    counts = np.bincount(ranks.reshape(-1), minlength=500)
    assert counts.size == 500
    assert counts[:50].sum() > counts[50:100].sum() > counts[400:450].sum() > 0


def test_bench_index_measures_an_album_and_leaves_it_intact(bundle: Path, tmp_path: Path) -> None:
    out, svg = tmp_path / "index.json", tmp_path / "index.svg"
    args = [
        "index",
        "-b",
        str(bundle),
        "--photos",
        "1200",
        "--cache",
        str(tmp_path),
        "-r",
        "1",
        "--output",
        str(out),
        "--svg",
        str(svg),
    ]
    done = CliRunner().invoke(bench, args)
    assert done.exit_code == 0, done.output
    (size,) = json.loads(out.read_text())["sizes"]
    assert size["photos"] == 1200
    assert size["parts_bytes"] < size["file_bytes"]
    assert size["search"]["p95_ms"] > 0
    drawn = ElementTree.fromstring(svg.read_text())
    assert drawn.tag.endswith("svg")
    assert "search p95" in "".join(drawn.itertext())
    with Album.open(tmp_path / "synthetic-1200.gamer") as album:
        assert len(album) == 1200
        assert album.verify() == []
