"""What a picture's header says of how it was taken: every field is declared once, in `Details`.

From a declaration follow the field's reading from a header, its optional table with a checksum
(album/declarations/field_tables.py), its key in JSON lines, its view and its filter in the API and on the
page, its word in a condition, and its row in FORMAT.md.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from .text import clean, of_tag

MAX_VALUE = 100  # characters of a field
_MAKE, _MODEL, _ORIENTATION, _FLASH, _COMMENT = 0x010F, 0x0110, 0x0112, 0x9209, 0x9286
_FIRED, _NO_FLASH = 0x01, 0x20  # bits of the tag: the flash fired; the camera has none
_TURNED = (5, 6, 7, 8)  # orientations by which a picture is shown on its side
# How systems name their screenshots; iPhones say it in EXIF's comment instead.
_SCREENSHOTS = (
    "screenshot",
    "screen shot",
    "bildschirmfoto",
    "capture d’écran",
    "captura de pantalla",
    "截屏",
    "屏幕截图",
    "スクリーンショット",
)


@dataclass(frozen=True)
class Header:
    """`width`, `height`: of the picture as it is stored. `tags`: EXIF's, by number, of any type.

    `name`: of the file, with its folder.
    """

    width: int
    height: int
    tags: Mapping[int, Any]
    name: str = ""


@dataclass(frozen=True)
class Field:
    """`table`: its optional table, and the plural of its name. `title`: its name for people.

    `meaning`: in words. `told`: a filter by it in words, with {} for the value. `example`: a value. `read`:
    its value in a header, or None; never raises. `choices`: all values; empty where any line is one.
    """

    table: str
    title: str
    meaning: str
    told: str
    example: str
    read: Callable[[Header], str | None]
    choices: tuple[str, ...] = ()
    name: str = ""  # that of its attribute of Details

    @property
    def rule(self) -> str:
        """What a value must be, after "must be"."""
        return (
            f"one of {', '.join(self.choices)}" if self.choices else f"a line of 1 to {MAX_VALUE} characters"
        )

    def fits(self, value: str) -> bool:
        return value in self.choices if self.choices else 0 < len(value) <= MAX_VALUE


def _declared(*declaration: Any, **more: Any) -> Any:
    return dataclasses.field(default=None, metadata={"declaration": Field(*declaration, **more)})


def one_line(text: str) -> str:
    """`text` as one line of at most MAX_VALUE characters."""
    return " ".join(clean(text, MAX_VALUE).split())


def camera_name(make: str, model: str) -> str | None:
    """ "Canon EOS 5D", not "Canon Canon EOS 5D"; one line, or None if neither is given."""
    make, model = one_line(make), one_line(model)
    named = model.casefold().startswith(make.casefold().split(" ")[0])
    return (model if named else f"{make} {model}").strip()[:MAX_VALUE].strip() or None


def _camera(header: Header) -> str | None:
    return camera_name(of_tag(header.tags.get(_MAKE)), of_tag(header.tags.get(_MODEL)))


def _orientation(header: Header) -> str | None:
    across, down = header.width, header.height
    if header.tags.get(_ORIENTATION) in _TURNED:
        across, down = down, across
    return "landscape" if across > down else "portrait" if across < down else "square"


def _lighting(header: Header) -> str | None:
    value = header.tags.get(_FLASH)
    if not isinstance(value, int) or value & _NO_FLASH:
        return None
    return "flash" if value & _FIRED else "ambient"


def _medium(header: Header) -> str | None:
    name, comment = header.name.casefold(), of_tag(header.tags.get(_COMMENT)).casefold()
    return "screenshot" if "screenshot" in comment or any(word in name for word in _SCREENSHOTS) else None


@dataclass(frozen=True, kw_only=True)
class Details:
    """The declared fields; None where nothing is known."""

    camera: str | None = _declared(
        table="cameras",
        title="Camera",
        meaning="maker and model of what took it, as the picture's header names them",
        told="by {}",
        example="Canon EOS 5D",
        read=_camera,
    )
    orientation: str | None = _declared(
        table="orientations",
        title="Orientation",
        meaning="whether the picture, as it is shown, is higher than wide or wider than high",
        told="in {}",
        example="portrait",
        read=_orientation,
        choices=("landscape", "portrait", "square"),
    )
    lighting: str | None = _declared(
        table="lightings",
        title="Light",
        meaning="whether the flash fired or the light that was there had to do",
        told="by {} light",
        example="flash",
        read=_lighting,
        choices=("ambient", "flash"),
    )
    medium: str | None = _declared(
        table="mediums",
        title="Medium",
        meaning="what it is if it is no photograph, by its name or its header",
        told="as a {}",
        example="screenshot",
        read=_medium,
        choices=("screenshot",),
    )


FIELDS: tuple[Field, ...] = tuple(
    dataclasses.replace(field.metadata["declaration"], name=field.name)
    for field in dataclasses.fields(Details)
)
_D = TypeVar("_D", bound=Details)


def values(item: object) -> dict[str, str]:
    """Name → value, of the fields that are known of an item with their attributes."""
    return {field.name: value for field in FIELDS if (value := getattr(item, field.name))}


def detailed(item: _D, known: Mapping[str, str]) -> _D:
    """`item` with these values, by name, in place of all that it had."""
    return dataclasses.replace(item, **cast(Any, {field.name: known.get(field.name) for field in FIELDS}))


def read(header: Header) -> dict[str, str]:
    """Name → value, of the fields that a header says."""
    return {field.name: value for field in FIELDS if (value := field.read(header))}
