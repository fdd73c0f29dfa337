"""Where in a clip a query is met: the time of the frame whose vector fits best. Knows no file."""

from __future__ import annotations

from collections.abc import Mapping

from gamer.index import Album, FloatArray

from .answer import ClipMoment


def moments(album: Album, rows: Mapping[str, int], query: FloatArray | None) -> dict[str, ClipMoment]:
    """Id → moment, of those photos that are clips.

    `rows`: id → row. `query`: a vector of the channel "image", float32 [dim]; without one a clip's begin is
    meant.
    """
    out = {}
    for photo_id, clip in album.clips(list(rows)).items():
        begin = clip.start / 1000
        second = begin if query is None else album.second(rows[photo_id], clip, query)
        out[photo_id] = ClipMoment(begin, clip.end / 1000, second)
    return out


def clock(seconds: float) -> str:
    """A time in a clip as a person reads it: 0:12, 1:02:05."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
