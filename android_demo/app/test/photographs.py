"""Writes photographs with EXIF headers to a folder, and videos as the stand-in for the platform has them.

For the tests of the app: photographs.py FOLDER.
"""

import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
from PIL import Image
from skimage import data
from sklearn.datasets import load_sample_image

BERLIN, PARIS, SYDNEY = (52.52, 13.405), (48.8566, 2.3522), (-33.8688, 151.2093)

# Name, pixels, when it was taken (EXIF), offset from UTC, where, EXIF's orientation.
PHOTOGRAPHS = (
    ("cat.jpg", data.chelsea, "2024:05:11 10:00:00", "+02:00", BERLIN, 1),
    ("coffee.jpg", data.coffee, "2024:04:20 09:30:00", "+02:00", PARIS, 6),
    ("rocket.jpg", data.rocket, "2023:07:01 18:00:00", "", None, 1),
    ("temple.jpg", lambda: load_sample_image("china.jpg"), "2022:10:03 12:00:00", "+10:00", SYDNEY, 1),
    ("flower.jpg", lambda: load_sample_image("flower.jpg"), "2024:05:30 23:30:00", "+02:00", BERLIN, 1),
    ("camera.jpg", lambda: np.stack([data.camera()] * 3, -1), "", "", None, 1),
)

# A video's name, where it was taken, and the photographs in it with how long each is seen, in ms.
VIDEOS = (
    ("walk.mp4", BERLIN, ((data.chelsea, 3_000), (data.rocket, 3_000))),
    ("trip.mp4", None, ((data.coffee, 20_000), (lambda: load_sample_image("china.jpg"), 20_000))),
)


def exif(taken: str, offset: str, place: tuple[float, float] | None, orientation: int) -> Image.Exif:
    """Builds an EXIF header: of `place`, degrees north and east."""
    out = Image.Exif()
    out[0x0112] = orientation
    out.get_ifd(0x8769).update({tag: text for tag, text in ((0x9003, taken), (0x9011, offset)) if text})
    if place:
        north, east = place
        out.get_ifd(0x8825).update({1: "NS"[north < 0], 2: angle(north), 3: "EW"[east < 0], 4: angle(east)})
    return out


def angle(degrees: float) -> tuple[Fraction, ...]:
    """Degrees, minutes and seconds, as EXIF writes them."""
    whole, rest = divmod(abs(degrees), 1)
    return tuple(Fraction(part).limit_denominator(10_000) for part in (whole, rest * 60, 0))


def main(folder: Path) -> None:
    """Writes the photographs and videos, and files that are none under such names."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, pixels, taken, offset, place, orientation in PHOTOGRAPHS:
        image = Image.fromarray(pixels())
        if orientation == 6:  # it must be turned by 90 degrees clockwise, to be seen upright
            image = image.transpose(Image.Transpose.ROTATE_90)
        image.save(folder / name, quality=92, exif=exif(taken, offset, place, orientation))
    for name, at, scenes in VIDEOS:
        frames = [Image.fromarray(pixels()).resize((480, 320)) for pixels, _ in scenes]
        where = "{:+08.4f}{:+09.4f}/".format(*at) if at else ""
        lasts = [ms for _, ms in scenes]
        frames[0].save(
            folder / name, "GIF", save_all=True, append_images=frames[1:], duration=lasts, comment=where
        )
    (folder / "damaged.mp4").write_bytes(b"\0\0\0\x18ftypisom" + b"not a video" * 20)
    (folder / "damaged.jpg").write_bytes(b"\xff\xd8\xff\xe0" + b"not a picture" * 20)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
