"""Generates the page of benchmarks from bench/results when the site is built, so that no figure is typed by
hand.

mkdocs calls `on_files` (mkdocs.yml, hooks).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from gamer.bench.study import figures, staleness

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "bench" / "results"
SETS = ("camroll-mpr", "lihua", "locomo")
LAYERS = ("cube", "kdtree", "refine", "graph", "vectors", "all", "search")
Cell = str | int | float | None


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds benchmarks.md to the site."""
    files.append(File.generated(config, "benchmarks.md", content=page()))
    return files


def page() -> str:
    """The page as Markdown."""
    parts = [
        "# Benchmarks\n\nEvery table is made from a JSON file of `bench/results`, which holds machine, "
        "versions, commit "
        "and all samples. Figures of different machines do not compare: read a table by its rows. Measure "
        "yours with "
        "the command beside each table.",
        quickstart(),
        components(),
        full_size(),
        layers(),
        operators(),
        quality(),
        newcomer(),
        agents(),
        events(),
        growth(),
        neighbours(),
        language_model(),
        processors(),
    ]
    return "\n\n".join(parts) + "\n"


def load(name: str) -> dict[str, Any]:
    """The JSON of one result file."""
    document: dict[str, Any] = json.loads((RESULTS / name).read_text(encoding="utf-8"))
    return document


def table(heads: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    """A Markdown table. All columns but the first are right-aligned; pipes in cells are escaped."""
    lines = [f"| {' | '.join(heads)} |", f"|{'|'.join(['---', *['---:'] * (len(heads) - 1)])}|"]
    for row in rows:
        cells = ("–" if cell is None else str(cell).replace("|", "\\|") for cell in row)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def machine(document: dict[str, Any]) -> str:
    """The processor, cores and commit of a result, as one line."""
    host = document["machine"]
    commit = host.get("build_commit") or document.get("build_commit", "unknown")
    return (
        f"{host.get('cpu_info', host.get('cpu', 'unknown'))}, {host.get('cores', '?')} cores, commit {commit}"
    )


def section(title: str, command: str, names: Sequence[str], text: str, *tables: str) -> str:
    """One section: the heading, the text with the machine, the tables, the command and its result files."""
    files = ", ".join(f"`bench/results/{name}`" for name in names)
    if old := [name for name in names if figures.state(name) == staleness.OLDER]:
        text += f" **Older than the code that is measured: {', '.join(old)}.**"
    where = machine(load(names[0])) if "machine" in load(names[0]) else ""
    lead = f"{text} {where}." if where else text
    return "\n\n".join([f"## {title}", lead, *tables, f"`{command}` → {files}"])


def thousands(value: float) -> str:
    return f"{value:,.0f}"


def short(value: float) -> str:
    """12,345,678 → "12.3 M"."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:,.1f} {letter}"
    return f"{value:,.0f}"


def milliseconds(nanoseconds: float) -> str:
    return f"{nanoseconds / 1e6:.2f}"


def quickstart() -> str:
    d = load("quickstart.json")
    rows: list[tuple[str, Cell]] = [
        ("installation, s", d["seconds_install"]),
        ("first answer after it, s", d["seconds_first_answer_after_install"]),
        ("everything, s", d["seconds_total_with_install"]),
        ("a second time, s", d["seconds_second_time"]),
        ("download, MB", d["megabytes_downloaded"]),
        ("packages on disk, MB", d["megabytes_of_packages"]),
        ("models and album on disk, MB", d["megabytes_of_models_and_album"]),
    ]
    return section(
        "The first run",
        "make quickstart",
        ["quickstart.json"],
        "From a fresh clone.",
        table(("what", ""), rows),
    )


def components() -> str:
    d = load("manifest-pocket.json")
    known = {c["role"]: c for c in d["components"]}

    def cell(role: str, target: str) -> str | None:
        for a in d["artifacts"]:
            if (a["role"], a["target"]) == (role, target):
                return f"{a['bytes'] / 1e6:.1f} MB {a['quant']}, {a['parity']['minimum']:.4f}"
        return None

    rows = [
        (
            role if c["trained"] else f"{role} (untrained)",
            thousands(c["parameters"]),
            f"{short(c['macs'])} a {c['macs_per']}",
            *(cell(role, target) for target in ("onnx", "executorch", "coreml")),
        )
        for role, c in known.items()
    ]
    heads = ("component", "parameters", "multiply-adds", "ONNX", "ExecuTorch", "Core ML (interpreted)")
    text = "Bytes, quantization, and parity: the worst cosine with torch in fp32 over real inputs."
    return section("Components of pocket", "make export", ["manifest-pocket.json"], text, table(heads, rows))


def full_size() -> str:
    d = load("exports-full-size.json")
    by: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}
    for row in d["rows"]:
        by.setdefault((row["recipe"], row["role"]), {})[row["target"]] = row
    rows = []
    for (recipe, role), targets in by.items():
        target = next(iter(targets.values()))
        cells = [
            f"{t['bytes'] / 1e6:,.0f} MB {t['quant']}, {t['cosine']:.4f}"
            if (t := targets.get(name))
            else None
            for name in ("onnx", "executorch", "coreml")
        ]
        seconds, peak = (
            f(t[key] for t in targets.values()) for f, key in ((sum, "seconds"), (max, "peak_bytes"))
        )
        rows.append(
            (
                recipe,
                role,
                short(target["parameters"]),
                f"{short(target['macs'])} a {target['macs_per']}",
                *cells,
            )
            + (thousands(seconds), f"{peak / 1e9:.1f}")
        )
    heads = (
        "recipe",
        "component",
        "parameters",
        "multiply-adds",
        "ONNX",
        "ExecuTorch",
        "Core ML",
        "s",
        "peak GB",
    )
    text = (
        "True architectures from random numbers, `--quant int4`: bytes, quantization, worst cosine with "
        "torch."
    )
    return section(
        "Every recipe at full size", "make full-size", ["exports-full-size.json"], text, table(heads, rows)
    )


def layers() -> str:
    from gamer.bench.published import LATENCY_NOTE, beside

    name = "latency-pocket.json"
    d = load(name)
    known = {row["layer"]: row for row in d["rows"] if not row["step"]}
    rows = []
    for layer in LAYERS:
        r = known[layer]
        spread = f"{milliseconds(r['p50_low_ns'])} … {milliseconds(r['p50_high_ns'])}"
        rows.append(
            (
                layer,
                milliseconds(r["p50_ns"]),
                spread,
                milliseconds(r["p95_ns"]),
                beside(layer, d["refined_by"]),
            )
        )
    heads = ("layer", "p50 ms", "another run, 95 %", "p95 ms", "the paper, ms")
    text = (
        f"{d['photos']} photos, {d['rounds']} rounds in {d['launches']} processes, {d['n_threads']} "
        f"threads. {LATENCY_NOTE} A cold start takes {d['cold']['all_ms']:.0f} ms to the first answer."
    )
    command = f"gamer bench latency out/album.gamer -b out/pocket -r {d['rounds']}"
    return section("A search by layer", command, [name], text, table(heads, rows))


def operators() -> str:
    from gamer.bench.report import readme_tables

    tables = []
    for name in ("ops-pocket.json", "ops-gamer-qwen2-1.5b-random.json"):
        documents = [load(name)] + ([load("latency-pocket.json")] if name == "ops-pocket.json" else [])
        for sheet in readme_tables.sheets(readme_tables.make(documents))[:1]:
            rows = [tuple(str(cell) if cell is not None else None for cell in row) for row in sheet.rows]
            tables.append(f"**{sheet.title}**\n\n" + table(sheet.columns, rows))
    text = "Work of the exported graphs, and time beside the roofline that was measured in the same run."
    names = ["ops-pocket.json", "ops-gamer-qwen2-1.5b-random.json"]
    return section("Components by work, time and roofline", "gamer bench ops -b BUNDLE", names, text, *tables)


def quality() -> str:
    names = [f"quality-baselines-{name}.json" for name in SETS]
    documents = dict(zip(SETS, map(load, names), strict=True))
    by = {name: {row["method"]: row for row in d["methods"]} for name, d in documents.items()}
    methods = list(dict.fromkeys(method for rows in by.values() for method in rows))

    def cell(name: str, method: str) -> str | None:
        row = by[name].get(method)
        if row is None:
            return None
        score = row["scores"]["recall5"]
        star = "*" if score["p_holm"] is not None and score["p_holm"] < 0.05 else ""
        return f"{score['mean']:.3f}{star} ({score['low']:.2f}–{score['high']:.2f})"

    descriptions = {m: next(rows[m]["what"] for rows in by.values() if m in rows) for m in methods}
    rows = [(f"{m}: {descriptions[m]}", *(cell(name, m) for name in SETS)) for m in methods]
    fit = load("ranking-fit.json")
    rows += [
        ("ours, cross-validated by user", *(f"{fit['cross_validated'][name]:.3f}" for name in SETS)),
        *(
            (f"ours without {s['without']}", *(f"{s['recall5'][name]:.3f}" for name in SETS))
            for s in fit["steps"]
        ),
    ]
    text = (
        "Macro recall@5 with 95 % bootstrap intervals, on development users; a star: the difference to "
        "ours is significant (paired permutation over queries, p < 0.05 after Holm)."
    )
    command = "gamer bench quality DATASET -b out/pocket --all"
    heads = ("method", *SETS)
    return section("Quality", command, [*names, "ranking-fit.json"], text, table(heads, rows))


def newcomer() -> str:
    d = load("newcomer.json")
    held = {share["asks"]: share for share in d["held_out"]}
    seen = [share for share in d["seen"] if share["asks"] in held]
    rows: list[tuple[str, Cell, Cell, Cell]] = []
    for share in seen:
        of, name = held[share["asks"]], share["asks"]
        parts = (f"{one['right']} of {one['queries']}" for one in (share, of))
        rows.append((name, *parts, share["owned"] + of["owned"]))
    right, asked = (sum(share[key] for share in (*seen, *d["held_out"])) for key in ("right", "queries"))
    return section(
        "A newcomer's queries",
        d["command"],
        ["newcomer.json"],
        f"{right} of {asked} queries of an album of {d['photos']} pictures are answered as its owner "
        f"expects; {d['misled'] + d['misled_held_out']} wrong first photos are called likelier than 50 %. "
        "Album and queries are drawn by rule from another package's pictures, anew for each release. "
        "What the held-out half shows is not looked at.",
        table(("asks", "right", "held out, right", "else says what it cannot see"), rows),
    )


def agents() -> str:
    """Sets and sentences; see bench/agent/measure.py."""
    d, groups = load("agent.json"), ("single", "set", "relation")
    sets = [
        (
            f"{name}: {row['method']}",
            *(f"{row['groups'][g]['exact']:.2f}, {row['groups'][g]['f1']:.2f}" for g in groups),
            f"{row['groups']['absent']['refused']:.0%}",
        )
        for name, rows in d["albums"].items()
        for row in rows
    ]
    sentences = [
        (
            f"{row['dataset']}: {row['method']}",
            row["questions"],
            f"{row['evidence']:.3f}",
            None if row["f1"] is None else f"{row['f1']:.3f}",
            None if row["right"] is None else f"{row['right']:.3f}",
            f"{row['refused']:.0%}",
        )
        for row in d["sentences"]
    ]
    steps = d["steps"]
    text = (
        "Queries of one photo, of a set, of a relation to an anchor, and of what is not there: exact sets "
        "and F1. The baselines have the best threshold for these very queries. Then short answers: evidence "
        f"among ten photos. A call of `rules` over {steps['photos']:,} photos takes {steps['p50']} ms (95th "
        f"percentile {steps['p95']} ms)."
    )
    return section(
        "Questions in several steps",
        "gamer bench study agent DATA -b out/pocket --cache DIR",
        ["agent.json"],
        text,
        table(("album: method", "one", "set", "relation", "absent refused"), sets),
        table(("data set: method", "questions", "evidence", "token F1", "right", "refused"), sentences),
    )


def events() -> str:
    """Segmentation; see bench/events/measure.py."""
    d = load("events.json")
    rows = [
        (row["name"], f"{row['mean']['boundary']:.3f}", f"{row['mean']['pairwise']:.3f}")
        for row in d["methods"]
    ]
    text = (
        f"F1 of boundaries and of pairs of photos in one event, {sum(d['photos'].values()):,} photos, macro "
        f"over {len(d['photos'])} users; the rules are fitted to the other users, the gaps to these."
    )
    return section(
        "Events",
        "gamer bench study events camroll-mpr -b out/pocket",
        ["events.json"],
        text,
        table(("method", "boundaries", "pairs"), rows),
    )


def growth() -> str:
    d = load("index.json")
    rows = [
        (
            thousands(s["photos"]),
            f"{s['search']['p95_ms']:.1f}",
            f"{s['search_encoding']['p95_ms']:.1f}",
            f"{s['album_open_ms']:.1f}",
            f"{s['file_bytes'] / 1e6:,.1f} MB",
            f"{s['file_bytes'] / s['parts_bytes']:.2f}",
        )
        for s in d["sizes"]
    ]
    heads = ("photos", "search p95, ms", "with encoder p95, ms", "open, ms", "file", "file ÷ its parts")
    text = "Made-up photos with a memory, two entities and a vector each."
    return section(
        "As an album grows", "gamer bench study index -b out/pocket", ["index.json"], text, table(heads, rows)
    )


def neighbours() -> str:
    tables = []
    names = ["ann-clustered-100k.json", "ann-texts.json"]
    for name in names:
        d = load(name)
        engines = list(dict.fromkeys(row["algorithm"] for row in d["fastest"]))
        by = {(row["selectivity"], row["algorithm"]): row for row in d["fastest"]}
        shares = list(dict.fromkeys(row["selectivity"] for row in d["fastest"]))

        def cell(share: float, engine: str, by: dict[tuple[float, str], Any] = by) -> str | None:
            row = by.get((share, engine))
            return None if row is None else f"{row['qps']:,.1f} ({row['knn']:.3f})"

        rows: list[Sequence[Cell]] = [
            (f"{share:.2%}", *(cell(share, e) for e in engines)) for share in shares
        ]
        sizes = {row["algorithm"]: thousands(row["bytes_per_vector"]) for row in d["built"]}
        rows.append(("bytes a vector", *(sizes.get(e) for e in engines)))
        title = f"**{d['data']}: {d['vectors']:,} vectors of {d['dim']} dimensions**\n\n"
        tables.append(title + table(("rows that pass", *engines), rows))
    text = (
        "The fastest setting of each engine that reaches the wanted recall@10 against exact float search: "
        "queries a second (recall), one thread."
    )
    return section("Filtered nearest neighbours", "gamer bench study ann", names, text, *tables)


def language_model() -> str:
    d = load("llm-pocket.json")
    rows = [
        (
            s["engine"],
            s["weights"],
            f"{s['prefill_tps']:.0f} ({s['prompt']})",
            f"{s['decode_tps']:.1f} ({s['decoded']})",
        )
        for s in d["speeds"]
    ]
    first, fp32 = d["first"], d["quality"]
    text = (
        f"First token of a refinement of {first['prompt_tokens']} tokens, {first['prefix_tokens']} of them "
        f"in the shipped prefix: {milliseconds(first['without']['p50_ns'])} ms without the prefix, "
        f"{milliseconds(first['with_prefix']['p50_ns'])} ms with it. Beside the same decoder in fp32 over "
        f"{fp32['positions']} positions: the likeliest token is the same at {fp32['top1']:.0%}, perplexity "
        f"× {fp32['ratio']:.3f}."
    )
    heads = ("engine", "weights", "prefill, tokens/s", "decode, tokens/s")
    command = "gamer bench study llm -b out/pocket --set executorch=true"
    return section("The language model", command, ["llm-pocket.json"], text, table(heads, rows))


def processors() -> str:
    d = load("processors.json")
    kinds = list(d["rows"])
    roles = list(next(iter(d["rows"].values()))["components"])

    def cell(kind: str, role: str) -> str | None:
        measured = d["rows"][kind]["components"].get(role)
        return None if measured is None else f"{measured['cosine']:.4f}"

    rows = []
    for role in roles:
        needs = d["rows"][kinds[0]]["components"][role]["threshold"]
        rows.append((f"{role} (needs {needs})", *(cell(kind, role) for kind in kinds)))
    text = (
        "Worst cosine with torch, the same bundle on six kinds of processor (emulated or masked where not "
        "this one)."
    )
    return section(
        "Processors", "make processors", ["processors.json"], text, table(("component", *kinds), rows)
    )
