"""Generates the page of benchmarks from bench/results when the site is built, so that no figure is typed by
hand: each result is drawn by the tables of the command that made it.

mkdocs calls `on_files` (mkdocs.yml, hooks).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from gamer.bench import exports
from gamer.bench.report.recorded import read, tables
from gamer.bench.study import figures, staleness
from gamer.bench.tables import Sheet, markdown
from gamer.runtime.bundle import manifest
from tools.conformance.processors import table as processors

RESULTS = staleness.RESULTS
INTRODUCTION = (
    "# Benchmarks\n\nEvery table is made from a JSON file of `bench/results`, which holds machine, versions, "
    "commit and all samples. Figures of different machines do not compare: read a table by its rows. Measure "
    "yours with the command beside each table."
)
# What a command's words stand for on the page.
GIVEN = {"bundle": "out/pocket", "album": "out/album.gamer", "data": "DATA", "cache": "CACHE"}


@dataclass(frozen=True)
class Section:
    """`command`: what made its files, where that is none of `gamer bench`."""

    title: str
    files: tuple[str, ...]
    text: str
    command: str = ""


SECTIONS = (
    Section("The first run", ("quickstart.json",), "From a fresh clone.", "make quickstart"),
    Section(
        "Components of pocket",
        ("manifest-pocket.json",),
        "Bytes, quantization, and parity: the worst cosine with torch in fp32 over real inputs. The "
        "router and its experts are untrained.",
        "make export",
    ),
    Section(
        "Every recipe at full size",
        ("exports-full-size.json",),
        "True architectures from random numbers, `--quant int4`: bytes, quantization, parity with torch.",
        "make full-size",
    ),
    Section(
        "A search by layer",
        ("latency-pocket.json",),
        "The layers of the paper's Table 3, their steps, and the components.",
    ),
    Section(
        "CLIP-ViT-L/14 in fp32 and int8",
        ("latency-clip-vit-l14-fp32.json", "latency-clip-vit-l14-int8.json"),
        "Components of a bundle with random weights, one run after the other.",
    ),
    Section(
        "Components by work, time and roofline",
        ("ops-pocket.json", "ops-gamer-qwen2-1.5b-random.json"),
        "Work of the exported graphs, and time beside the roofline that was measured in the same run.",
    ),
    Section(
        "Quality",
        (
            *(f"quality-baselines-{name}.json" for name in ("camroll-mpr", "lihua", "locomo")),
            "ranking-fit.json",
        ),
        "On development users, with 95 % bootstrap intervals; p is of the difference to ours (paired "
        "permutation over queries, after Holm). Then the weights of the ranking, and what each summand adds.",
    ),
    Section(
        "A newcomer's queries",
        ("newcomer.json",),
        "Album and queries are drawn by rule from another package's pictures, anew for each release. What "
        "the held-out half shows is not looked at.",
    ),
    Section(
        "Questions in several steps",
        ("agent.json",),
        "Queries of one photo, of a set, of a relation to an anchor, and of what is not there: exact sets "
        "and F1. The baselines have the best threshold for these very queries. Then short answers: evidence "
        "among ten photos.",
    ),
    Section(
        "Events",
        ("events.json",),
        "F1 of boundaries and of pairs of photos in one event, macro over users; the rules are fitted to the "
        "other users, the gaps to these.",
    ),
    Section(
        "As an album grows", ("index.json",), "Made-up photos with a memory, two entities and a vector each."
    ),
    Section(
        "Filtered nearest neighbours",
        ("ann-clustered-100k.json", "ann-clustered-1m.json", "ann-texts.json"),
        "The fastest setting of each engine that reaches the wanted recall@10 against exact float search: "
        "queries a second (setting, recall), one thread.",
    ),
    Section(
        "The language model",
        ("llm-pocket.json", "llm-pocket-qwen2.5-0.5b.json"),
        "Beside llama.cpp on the same weights, and beside the same decoder in fp32.",
    ),
    Section(
        "Processors",
        ("processors.json",),
        "Worst cosine with torch, the same bundle on six kinds of processor (emulated or masked where not "
        "this one).",
        "make processors",
    ),
)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds benchmarks.md to the site."""
    files.append(File.generated(config, "benchmarks.md", content=page()))
    return files


def page() -> str:
    """The page as Markdown."""
    return "\n\n".join([INTRODUCTION, *map(_written, SECTIONS)]) + "\n"


def _written(section: Section) -> str:
    """The heading, the text with the machine, the tables, the command and its result files."""
    files, text = section.files, section.text
    if old := [name for name in files if figures.state(name) == staleness.OLDER]:
        text += f" **Older than the code that is measured: {', '.join(old)}.**"
    text += _machine(read(files[0]))
    command = section.command or f"gamer bench {figures.words_of(files[0]).format(**GIVEN)}"
    named = ", ".join(f"`bench/results/{name}`" for name in files)
    parts = [part for name in files for part in drawn(name)]
    return "\n\n".join([f"## {section.title}", text, markdown(parts), f"`{command}` → {named}"])


def _machine(document: dict[str, Any]) -> str:
    """The processor, cores and commit of a result; "" of a bundle's manifest."""
    host = document.get("machine")
    return (
        "" if host is None else f" {host['cpu_info']}, {host['cores']} cores, commit {host['build_commit']}."
    )


def drawn(name: str) -> Sequence[Sheet | str]:
    """The tables of a result."""
    if name == "manifest-pocket.json":
        text = (RESULTS / name).read_text(encoding="utf-8")
        return exports.tables(exports.listed([manifest.from_json(text, name)]))
    if name == "processors.json":
        return [processors.sheet(read(name)["rows"])]
    if name == "quickstart.json":
        measured = ((key.replace("_", " "), value) for key, value in read(name).items())
        units = ("seconds", "megabytes")
        return [Sheet("Quickstart", ("what", ""), tuple(row for row in measured if row[0].startswith(units)))]
    return tables(name)
