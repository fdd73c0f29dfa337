"""Draws a run as one self-contained HTML file: what was asked, what was found, what each layer did and cost. JSON first, then this.

No script, no external file; photographs are embedded as small JPEGs. Everything that came from outside is escaped by the template engine.
"""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass
from pathlib import Path

from gamer.index import IngestError, load_pixels
from gamer.runtime.answer import LAYERS, Answer
from gamer.runtime.explain import day
from gamer.runtime.manifest import Manifest

from .files import write_aside
from .latency import PAPER_MS, Latency, layers

THUMB = 240


@dataclass(frozen=True)
class Shown:
    """A hit as the page shows it. `picture` is a data: URL or ""."""

    rank: int
    id: str
    taken: str
    score: float
    why: str
    memory: str
    picture: str


@dataclass(frozen=True)
class Search:
    answer: Answer
    hits: tuple[Shown, ...]


def thumbnail(path: str | None) -> str:
    """A data: URL of the photo, at most THUMB pixels wide; "" when it cannot be read."""
    if path is None:
        return ""
    from PIL import Image

    try:
        image = Image.fromarray(load_pixels(Path(path)))
    except IngestError:
        return ""
    image.thumbnail((THUMB, THUMB))
    buffer = io.BytesIO()
    image.convert("RGB").save(buffer, "JPEG", quality=80)
    return "data:image/jpeg;base64," + base64.b64encode(buffer.getvalue()).decode()


def shown(answer: Answer) -> Search:
    """An answer with its pictures."""
    hits = []
    for rank, hit in enumerate(answer.hits, 1):
        why = ", ".join(f"{name} {value:+.2f}" for name, value in hit.parts.items() if value)
        if hit.matched:
            why += f" · nodes: {', '.join(hit.matched)}"
        taken = day(hit.taken_at) if hit.taken_at is not None else "unknown"
        hits.append(Shown(rank, hit.id, taken, hit.score, why, hit.memory or "", thumbnail(hit.path)))
    return Search(answer, tuple(hits))


def write(out: Path, manifest: Manifest, latency: Latency, answers: list[Answer]) -> None:
    """Writes the page aside and renames it to `out`."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined)
    found = layers(latency)
    worst = max((found[name].p95_ns for name in LAYERS if name in found), default=1.0) or 1.0
    parity = {m.role: m.parity for m in latency.models}
    parts = [r for r in latency.rows if r.layer == "component"]
    text = environment.get_template("report.html").render(
        manifest=manifest, latency=latency, searches=[shown(a) for a in answers], layers=[found[n] for n in (*LAYERS, "all") if n in found],
        paper=PAPER_MS, worst=worst, parts=parts, parity=parity,
    )  # fmt: skip
    write_aside(out, text)
