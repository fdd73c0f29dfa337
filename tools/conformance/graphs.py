"""`python -m tools.conformance.graphs`: has each port build an album's graph, and reads it here.

Prints a line for each: whether `verify` finds the album sound, the share of the true nearest vectors that a
walk of the graph finds, and the milliseconds that the port took. A graph that finds less than LEAST of what
Python's own finds is a failure.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from gamer.index import Album, AlbumMeta, AlbumWriter, Encoded, FloatArray, Photo
from tools.conformance.runners import COMMANDS, printed
from tools.conformance.table import absent

VECTORS, DIM, CENTRES, QUERIES, K = 4_000, 48, 80, 100, 10
LEAST = 0.98
_NEVER = 10**9  # vectors from which Python would build a graph


def main() -> None:
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        bare = Path(folder, "bare.gamer")
        asked = _made(bare)
        own = Path(shutil.copy(bare, Path(folder, "python.gamer")))
        with AlbumWriter.extend(own) as writer:
            writer.finish(_no_names)
        reference = recall(own, asked)
        print(f"Python  finds {reference:.3f} of the {K} nearest of {VECTORS} vectors")
        for port in (port for port in COMMANDS if not absent(port)):
            album = Path(shutil.copy(bare, Path(folder, f"{port}.gamer")))
            failures += _compare(port, album, asked, reference)
    sys.exit(1 if failures else 0)


def _compare(port: str, album: Path, asked: FloatArray, reference: float) -> bool:
    try:
        spent = printed(port, ["finish", str(album)], [album.parent])["ms"]
    except (subprocess.SubprocessError, OSError, ValueError, KeyError) as error:
        print(f"{port:<8}{error} {getattr(error, 'stderr', '') or ''}"[:400], flush=True)
        return True
    with Album.open(album) as opened:
        problems = opened.verify()
    found = recall(album, asked)
    failed = bool(problems) or found < LEAST * reference
    print(
        f"{port:<8}finds {found:.3f}; {'; '.join(problems) or 'sound'}; {spent:.0f} ms"
        f"{'  FAILED' if failed else ''}",
        flush=True,
    )
    return failed


def recall(album: Path, asked: FloatArray) -> float:
    """Of the K nearest by an exact scan, the share that the graph finds.

    Raises ValueError without a graph.
    """
    shares = []
    with Album.open(album) as opened:
        for query in asked:
            true = opened.search_vectors("image", query, K, plan="exact").rows
            walked = opened.search_vectors("image", query, K, plan="hnsw")
            if walked.plan != "hnsw":
                raise ValueError(f"{album}: no graph")
            shares.append(len(np.intersect1d(true, walked.rows)) / K)
    return float(np.mean(shares))


def _made(path: Path) -> FloatArray:
    """Writes an album of clustered vectors without a graph; queries float32 [Q, D] near the same centres."""
    rng = np.random.default_rng(7)
    centres = rng.standard_normal((CENTRES, DIM))

    def near(count: int) -> FloatArray:
        around = centres[rng.integers(0, CENTRES, count)] + 0.7 * rng.standard_normal((count, DIM))
        return np.asarray(around / np.linalg.norm(around, axis=1, keepdims=True), np.float32)

    vectors = near(VECTORS)
    with AlbumWriter.create(path, AlbumMeta("text", "image", DIM, 0.5), hnsw_from=_NEVER) as writer:
        writer.add([Encoded(Photo(f"p{n}"), {"image": vectors[n : n + 1]}, ()) for n in range(VECTORS)])
        writer.finish(_no_names)
    return near(QUERIES)


def _no_names(names: object) -> FloatArray:
    del names
    return np.zeros((0, DIM), np.float32)


if __name__ == "__main__":
    main()
