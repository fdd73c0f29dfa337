"""Export a small model, index a folder of photos and search it, from Python.

    python examples/export_and_search.py FOLDER "coffee last spring"

Needs the `export` extra. The bundle is written to out/example-bundle, the album to out/example.gamer.
"""

from __future__ import annotations

import sys
from pathlib import Path

from gamer.export.bundle.write import export
from gamer.export.settings import Settings
from gamer.runtime.indexing.build import build
from gamer.runtime.models.models import Models
from gamer.runtime.search.engine import Engine


def main(folder: Path, query: str, out: Path = Path("out")) -> None:
    bundle = out / "example-bundle"
    # The two towers are enough for a search; an export that is up to date returns at once.
    settings = Settings("pocket", parts=("image", "text"))
    export(settings, ("onnx",), bundle, jobs=1, report=lambda step, artifact: print(f"export: {step}"))

    album = build(folder, Models.open(bundle), out / "example.gamer")
    print(f"index: {album.photos} photos, {len(album.skips)} skipped")

    engine = Engine.open(bundle, album.path)
    for hit in engine.search(query, k=5).hits:
        print(f"{hit.probability:.2f}  {hit.path}")
    engine.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
