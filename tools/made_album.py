"""`python -m tools.made_album BUNDLE PHOTOS ALBUM` makes an album of the photos of `gamer bench study index`.

It is made for the encoders of the bundle; an album that exists is left as it is.
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
