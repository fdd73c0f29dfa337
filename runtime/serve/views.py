"""The API's requests and responses, in addition to the engine's Answer; the source of the OpenAPI schema.

Times are integers, milliseconds of wall time as if UTC; positions are degrees, WGS 84.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, make_dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, create_model

from gamer.index.album.declarations import collection_tables
from gamer.index.fields import FIELDS, Details, values
from gamer.index.fields import Field as Declared
from gamer.index.memory.records import Block, Kind, Origin
from gamer.index.records import Level

from ..search.answer import Answer
from ..search.options import MAX_QUERY

MAX_PHOTOS = 200
MAX_NAME = 200  # characters of a person's name
LAST_DAY = 4_102_444_800_000  # 2100-01-01

Mode = Literal["fused", "paper", "strict"]
Refine = Literal["off", "fast", "llm"]


def number(value: object) -> object:
    """JSON's 5 and 5.0 are accepted as integers, "5" and true are not."""
    if isinstance(value, bool | str):
        raise ValueError("a number is wanted")
    return value


def digits(value: object) -> object:
    """For numbers in an address, where "+0.0" would be 0."""
    if isinstance(value, str) and not re.fullmatch("0|[1-9][0-9]*", value):
        raise ValueError("a whole number is wanted")
    return value


def whole(value: object) -> object:
    """For times in an address or in JSON, which may be before 1970."""
    if isinstance(value, str) and not re.fullmatch("0|-?[1-9][0-9]*", value):
        raise ValueError("a whole number is wanted")
    return value


def truth(value: object) -> object:
    """For an address, where "yes" and "1" would be true."""
    if isinstance(value, str) and value not in ("true", "false"):
        raise ValueError("true or false is wanted")
    return value


class Body(BaseModel):
    """What a request says; what nobody reads is refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


VISIBLE = r"[^\s\x00-\x1f\x7f-\x9f]"  # a character other than white space and control characters
QueryText = Annotated[
    str,
    Field(
        min_length=1,
        max_length=MAX_QUERY,
        pattern=VISIBLE,
        examples=["coffee last spring"],
    ),
]


FIRST_DAY = -62_135_596_800_000  # 0001-01-01
_SIDE = r"-?[0-9]{1,3}(\.[0-9]{1,9})?"
Source = Literal["chat", "social", "ocr", "caption", "note", "people", "label", "place"]
Time = Annotated[int, Field(ge=FIRST_DAY, le=LAST_DAY)]
Box = Annotated[str, Field(pattern=f"^{_SIDE}(,{_SIDE}){{3}}$", examples=["48.1,16.2,48.3,16.5"])]
PersonName = Annotated[str, Field(min_length=1, max_length=MAX_NAME, pattern=VISIBLE, examples=["Anna"])]
FolderName = Annotated[str, Field(min_length=1, max_length=MAX_NAME, pattern=VISIBLE, examples=["2024/Rome"])]
PlaceName = Annotated[str, Field(min_length=1, max_length=80, pattern=VISIBLE, examples=["Vienna"])]


def _value(field: Declared) -> Any:
    """The type of a field's value in a filter."""
    pattern = f"^({'|'.join(field.choices)})$" if field.choices else VISIBLE
    limits = Field(min_length=1, max_length=MAX_NAME, pattern=pattern, examples=[field.example])
    return Annotated[str, limits, Field(description=field.meaning)]


if TYPE_CHECKING:
    Detailed = BaseModel
else:
    Detailed = create_model("Detailed", **{field.name: (_value(field) | None, None) for field in FIELDS})


class Filter(Detailed):
    """Which photos are shown at all; what is left out lets all through, and all that is given must hold.

    `start`, `end`: wall time, both included. `box`: south, west, north, east in degrees. `place`: a name of
    the gazetteer. `source`: of a memory that the photo has. `person`: a whole name that a memory of
    source `people` has. `folder`: of its file, below the folder of all. `favourites`: only those. The rest
    are whole values of fields.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    start: Annotated[Time, BeforeValidator(number)] | None = None
    end: Annotated[Time, BeforeValidator(number)] | None = None
    box: Box | None = None
    place: PlaceName | None = None
    source: Source | None = None
    person: PersonName | None = None
    folder: FolderName | None = None
    favourites: Annotated[bool, Field(strict=True)] = False

    @property
    def details(self) -> dict[str, str]:
        """The wanted fields: name → value."""
        return values(self)


EVERYTHING = Filter()
MAX_IDS = 20_000  # of one selection
PhotoIds = Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Field(min_length=1, max_length=MAX_IDS)]


class FavouritesRequest(Body):
    """`favourite`: whether the photos `ids` shall be marked; unknown ids are passed over."""

    ids: PhotoIds
    favourite: Annotated[bool, Field(strict=True)]


class Named(Body, strict=True):
    """A name for a collection."""

    name: Annotated[str, Field(min_length=1, max_length=collection_tables.MAX_NAME, pattern=VISIBLE)]


class CollectionRequest(Named):
    """`search`: the page's address of a search; `ids`: the photos of a selection."""

    search: Annotated[str, Field(max_length=MAX_QUERY)] = ""
    ids: Annotated[list[Annotated[str, Field(min_length=1)]], Field(max_length=MAX_IDS)] = []


class ExportRequest(Body):
    """`all`: also the photos that are labelled to stay on the device."""

    ids: PhotoIds
    all: Annotated[bool, Field(strict=True)] = False


class OpenedRequest(Body):
    """The query whose answers a photo was opened from."""

    query: QueryText


class SearchRequest(Body):
    """`query` must contain a character other than white space and control characters.

    `now`: the time from which "last spring" is counted. `only`: the photos that may be found.
    """

    query: QueryText
    k: Annotated[int, Field(ge=1, le=MAX_PHOTOS), BeforeValidator(number)] | None = None
    mode: Mode = "fused"
    refine: Refine = "fast"
    now: Annotated[int, Field(ge=0, le=LAST_DAY), BeforeValidator(number)] | None = None
    only: Filter = EVERYTHING


@dataclass(frozen=True)
class EntityNode:
    """An entity node over δ. `photos`: how many of the photos left by the cube it is linked to."""

    row: int
    name: str
    kind: str
    similarity: float
    photos: int


@dataclass(frozen=True)
class Subgraph:
    """The part of the entity graph that layer 2 chose, limited to the hits.

    `mentions`: (entity row, photo row); `relations`: (entity row, entity row).
    """

    entities: tuple[EntityNode, ...]
    mentions: tuple[tuple[int, int], ...]
    relations: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class SearchResult:
    """A search's response.

    `answer`: the engine's, with file names instead of paths, and of each entity's photos only those among the
    hits. `doubtful`: whether the album more likely does not hold what is meant. `favourites`: rows of the
    hits that are marked.
    """

    answer: Answer
    doubtful: bool
    subgraph: Subgraph
    favourites: tuple[int, ...]


@dataclass(frozen=True)
class MemoryView:
    source: str
    text: str


@dataclass(frozen=True)
class ClipView:
    """A video, or a part of one: where it begins and ends in its file, and the file's length, in seconds."""

    start: float
    end: float
    length: float


@dataclass(frozen=True)
class PhotoView(Details):
    """`name`: the file's name, without its folder.

    `here`: whether the file is still at the path that the album has. `memories`: without the mark of a
    favourite. `stays`: whether its labels keep it on the device. `clip`: null for a photo. `live`: whether it
    is a Live Photo, with its motion beside it.
    """

    row: int
    id: str
    name: str | None
    here: bool
    taken_at: int | None
    tz_source: str
    lat: float | None
    lon: float | None
    memories: tuple[MemoryView, ...]
    sharing: str | None
    sensitivity: str | None
    favourite: bool
    stays: bool
    clip: ClipView | None
    live: bool


@dataclass(frozen=True)
class PersonView:
    """`id`: as `gamer people` calls them. `name`: null until the owner gives one. `faces`, `photos`: how
    many. `face`: the number of the clearest.
    """

    id: str
    name: str | None
    faces: int
    photos: int
    face: int


@dataclass(frozen=True)
class PeopleView:
    """`searched`: whether anybody was looked for. `rest`: how many people are not listed."""

    searched: bool
    people: tuple[PersonView, ...]
    rest: int


@dataclass(frozen=True)
class FaceView:
    """`id`: of the face. `row`: of its photo."""

    id: int
    row: int


@dataclass(frozen=True)
class Faces:
    person: PersonView
    faces: tuple[FaceView, ...]


@dataclass(frozen=True)
class PeopleForgotten:
    """`faces`: how many were deleted."""

    faces: int


@dataclass(frozen=True)
class Title:
    """What a photo is called. `shows`: the likeliest label of its picture. `place`: a city, with the code of
    its country.
    """

    row: int
    shows: str | None
    place: str | None


@dataclass(frozen=True)
class Listed:
    """A photo of the timeline. `shows`, `place`: as in Title."""

    row: int
    id: str
    taken_at: int | None
    favourite: bool
    shows: str | None
    place: str | None


@dataclass(frozen=True)
class PhotoPage:
    """`edition`: the album's state, in which rows are counted: another one after every change."""

    edition: str
    photos: tuple[Listed, ...]


@dataclass(frozen=True)
class Month:
    """`start`: the month's first millisecond."""

    start: int
    photos: int


@dataclass(frozen=True)
class Shelf:
    """A timeline: how many photos each month has, newest first; those without a date come last.

    `edition`: as in PhotoPage. `total`: all photos.
    """

    edition: str
    total: int
    months: tuple[Month, ...]
    undated: int


@dataclass(frozen=True)
class Marked:
    """`ids`: the photos whose mark this changed. `edition`: as in PhotoPage, after it."""

    ids: tuple[str, ...]
    edition: str


@dataclass(frozen=True)
class Export:
    """A selection, to be fetched by `id` as files or as a list.

    `stay`: how many are left out because their labels keep them on the device; `gone`: because their files
    are not where the album found them. `bytes`: of the files.
    """

    id: str
    photos: int
    bytes: int
    stay: int
    gone: int


@dataclass(frozen=True)
class SourceCount:
    """How many photos have a memory of a source."""

    source: Source
    photos: int


@dataclass(frozen=True)
class NameCount:
    """How many photos a person is named in, or have a value of a field."""

    name: str
    photos: int


@dataclass(frozen=True)
class Place:
    """The photos of one grid cell, at their mean position.

    `name`: the nearest city; null for the smaller cells of an album with many.
    """

    lat: float
    lon: float
    photos: int
    name: str | None


if TYPE_CHECKING:

    class _Choices:
        def __init__(self, **choices: tuple[NameCount, ...]) -> None: ...
else:
    _Choices = make_dataclass(
        "_Choices", [(field.table, tuple[NameCount, ...]) for field in FIELDS], frozen=True, kw_only=True
    )


@dataclass(frozen=True)
class Overview(_Choices):
    """The album's months and places, for the page's timeline and map.

    Only months and cells that hold photos; `undated` and `unplaced` count photos without time or place.
    `sources`: those that a filter finds photos by. `people`, `folders`, and for each field its values:
    likewise, the most seen first; of many the first.
    """

    months: tuple[Month, ...]
    undated: int
    places: tuple[Place, ...]
    unplaced: int
    sources: tuple[SourceCount, ...]
    people: tuple[NameCount, ...]
    folders: tuple[NameCount, ...]


@dataclass(frozen=True)
class Stats:
    """Counts, the encoders that made the album's vectors, the default K, and queries that fit the album.

    `edition`: as in PhotoPage.
    """

    photos: int
    with_time: int
    with_place: int
    memories: int
    entities: int
    file_bytes: int
    text_encoder: str
    image_encoder: str
    delta: float
    k: int
    examples: tuple[str, ...]
    edition: str


@dataclass(frozen=True)
class AlbumView:
    """`address`: of its page. `here`: whether it is the album that was asked."""

    name: str
    address: str
    here: bool


@dataclass(frozen=True)
class OwnMemory:
    """What the album knows about its owner. `key`: what it is about; "" stands alone.

    `block`: of a core memory, whether it tells of the owner (human) or of how to answer them (persona).
    `past`: a later value took its place. `ends`: when that was, or of an episode its last turn. `origin`: who
    wrote it down. `turns`: how many it was drawn from.
    """

    id: str
    kind: Kind
    block: Block
    key: str
    text: str
    at: int
    past: bool
    ends: int | None
    origin: Origin
    sharing: Level | None
    turns: int


@dataclass(frozen=True)
class MemoryPage:
    """`total`: how many there are with those that are on other pages."""

    memories: tuple[OwnMemory, ...]
    total: int


@dataclass(frozen=True)
class TurnView:
    """What one speaker said at once; its first 2,000 characters."""

    id: str
    chat: str
    speaker: str
    at: int
    text: str


@dataclass(frozen=True)
class MemoryDetailView:
    """`said`: the turns it was drawn from. `others`: the other values of its key. Both by time.

    `drawn`: other memories that were drawn from these turns. Of each at most the first 200.
    """

    memory: OwnMemory
    said: tuple[TurnView, ...]
    others: tuple[OwnMemory, ...]
    drawn: tuple[OwnMemory, ...]


@dataclass(frozen=True)
class Changed:
    """`id`: of the memory that holds what was written."""

    id: str


@dataclass(frozen=True)
class MemoriesForgotten:
    """The ids of all that was forgotten."""

    memories: tuple[str, ...]
    turns: tuple[str, ...]


@dataclass(frozen=True)
class Uploaded:
    """`name`: under which the file was saved. `new`: false if the same file was there already."""

    name: str
    new: bool


@dataclass(frozen=True)
class SkippedFile:
    name: str
    reason: str


@dataclass(frozen=True)
class UploadState:
    """Whether files are taken (`on`), and how the indexing of what came goes.

    `largest`: bytes of one file. `suffixes`: of names that are taken. `done`, `total`: photos of the run in
    progress or the last one. `added`: photos that the last run added. `kept_out`: those in the folder that
    were removed from the album before. `skips`: the first files that it left
    out, of `skipped`. `error`: why it failed; what was sent is saved all the same.
    """

    on: bool
    largest: int
    suffixes: tuple[str, ...]
    state: Literal["idle", "waiting", "indexing", "failed"]
    done: int
    total: int
    added: int
    kept_out: int
    skipped: int
    skips: tuple[SkippedFile, ...]
    error: str | None


@dataclass(frozen=True)
class Health:
    """`token`: whether the rest of the API requires a token."""

    status: Literal["ok"]
    version: str
    token: bool
