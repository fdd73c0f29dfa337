"""Export a small model, index a folder of photos and search it, from Python.

    python examples/export_and_search.py FOLDER "coffee last spring"

Needs the `export` extra. The bundle is written to out/example-bundle, the album to out/example.gamer.
"""

from __future__ import annotations

import sys
from pathlib import Path

import gamer
from gamer.export.settings import Settings


def main(folder: Path, query: str, out: Path = Path("out")) -> None:
    # The two towers are enough for a search; an export that is up to date returns at once.
    towers = Settings("pocket", parts=("image", "text"))
    bundle = gamer.export("pocket", to=out / "example-bundle", settings=towers, jobs=1)

    with gamer.build(folder, to=out / "example.gamer", bundle=bundle) as album:
        if album.built is not None:
            print(f"index: {album.built.photos} photos, {len(album.built.skips)} skipped")
        for hit in album.search(query, k=5):
            print(f"{hit.probability:.2f}  {hit.path}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
