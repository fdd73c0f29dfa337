"""The photos most similar to a given photo, by the cosine of the vectors that the album holds.

Pictures are compared with pictures; of a photo without a picture's vector, what is said with what is said.
No model runs and no query is read, so that an album alone is enough. Stored preferences change nothing here:
they say which of two photos is better, not which is more alike.
"""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from gamer.index import Album, AlbumError, FloatArray

from .. import defaults
from ..errors import RuntimeFailure
from .answer import SimilarPhoto, SimilarPhotos
from .copies import MOST, together
from .hits import shown_memory
from .moments import moments
from .options import MAX_K

K = defaults.SIMILAR
# Channel → what is compared in it; the first that has the photo's vector is used.
CHANNELS = {"image": "what the pictures show", "text": "what is said of them, as it has no picture's vector"}


def similar(album: Album, row: int, k: int = K) -> SimilarPhotos:
    """The `k` photos most similar to that of `row`, best first, with copies put together.

    Of a photo with several memories, the mean of their vectors is compared with the best of each other photo.
    Raises RuntimeFailure for `k` outside 1..MAX_K and for a photo without a vector, AlbumError for a row that
    does not exist.
    """
    if not 1 <= k <= MAX_K:
        raise RuntimeFailure(f"k = {k}: choose 1 to {MAX_K}")
    album.load_graphs()
    channel, vector = _compared(album, row)
    number = 2 * k + 5  # copies make room for the photos behind them
    while True:
        found = album.search_vectors(channel, vector, number + 1)  # the photo itself is among them
        pairs = zip(found.rows.tolist(), found.scores.tolist(), strict=True)
        cosines = {row: 1.0} | {other: cosine for other, cosine in pairs if other != row}
        photos = _photos(album, cosines, vector if channel == "image" else None)
        asked, *others = together(album, photos, asked=row)
        if len(others) >= k or len(found.rows) <= number or number + 2 >= MOST:
            return SimilarPhotos(asked, channel, found.plan, tuple(others[:k]))
        number = min(2 * number, MOST - 2)  # the photo has many copies, or is one of a long burst


def row_named(album: Album, name: str) -> int:
    """The row of the photo that a person names: by its id, its short id, its row, or its file.

    A file is named by its path or the end of it. Raises RuntimeFailure for a name of no photo or of several.
    """
    with suppress(AlbumError):
        return album.row_of(name)
    if name.startswith("img_"):  # reading all ids of a large album takes as long as a search
        with suppress(AlbumError):
            return album.row_of_image(name)
    if name.isdecimal() and int(name) < len(album):
        return int(name)
    rows = album.rows_of_file(name)
    if len(rows) == 1:
        return rows[0]
    if rows:
        ids = ", ".join(photo.id for photo in album.photos(rows[:2]))
        raise RuntimeFailure(
            f"{album.path}: {len(rows)} photos have the file {name!r}: name one by its id ({ids} …)"
        )
    raise RuntimeFailure(
        f"{album.path}: no photo {name!r}: give its id, as `gamer search` prints it, its row, or its file"
    )


def _compared(album: Album, row: int) -> tuple[str, FloatArray]:
    """(the channel in which a photo is compared, its vector there, float32 [dim])."""
    photo = album.photo(row)
    for channel in CHANNELS:
        vector = album.mean_of(channel, np.array([row], np.int64))
        if vector is not None:
            return channel, vector
    raise RuntimeFailure(
        f"{photo.id}: no vector of its picture or of a memory: put its file back or describe it, then run "
        "gamer index add"
    )


def _photos(album: Album, cosines: dict[int, float], query: FloatArray | None) -> list[SimilarPhoto]:
    """`query`: the vector of the channel "image" that was compared, if it was that channel."""
    photos = album.photos(list(cosines))
    clips = moments(album, {photo.id: row for row, photo in zip(cosines, photos, strict=True)}, query)
    return [
        SimilarPhoto(
            row=row,
            id=photo.id,
            path=photo.path,
            taken_at=photo.wall,
            lat=photo.lat,
            lon=photo.lon,
            cosine=round(min(cosine, 1.0), 4),
            memory=shown_memory(photo),
            clip=clips.get(photo.id),
        )
        for (row, cosine), photo in zip(cosines.items(), photos, strict=True)
    ]
