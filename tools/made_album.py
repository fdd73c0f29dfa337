"""`python -m tools.made_album BUNDLE PHOTOS ALBUM`: an album of made photos, as `gamer bench index` measures them, with
the encoders of a bundle; an album that exists is left as it is.
"""

from __future__ import annotations

import sys
from pathlib import Path

from gamer.bench.index.growth import build
from gamer.runtime.models.models import Models


def main(bundle: Path, count: int, album: Path) -> None:
    if album.exists():
        return
    models = Models.open(bundle)
    dim = int(models.text.encode(["dimensions"]).shape[1])
    build(album, models, count, dim, lambda line: print(line, file=sys.stderr))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
