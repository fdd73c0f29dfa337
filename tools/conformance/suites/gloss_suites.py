"""Suite `glosses`: queries in other languages, read word by word with tables of a few words.

The words are written by hand for this suite; no dictionary is used.
"""

from __future__ import annotations

import base64
import json
import random
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from hashlib import sha256
from pathlib import Path

from gamer.export.glosses.writing import Spelling, encoded
from gamer.index import Album
from gamer.runtime.errors import BundleError
from gamer.runtime.glosses.choice import chosen
from gamer.runtime.glosses.guess import ranks
from gamer.runtime.glosses.letters import Names, latin, sound, spoken
from gamer.runtime.glosses.reading import Piece, Reader
from gamer.runtime.glosses.table import START, Gloss, GlossTable, Rule, folded
from gamer.runtime.models.text import whole_words
from tools.conformance.fixture import Answers, Case, Given, Suite, base64_of, edited, floats
from tools.conformance.suites.album_suites import copied
from tools.conformance.words import strings

ALBUM = "album.gamer"
# Each word or phrase with its glosses, the best first.
DICTIONARIES = {
    "de": """
        der: the | die: the | das: the | ein: a | eine: a | im: in the | auf: on, upon | mit: with | meine: my
        katze: cat, tomcat | sofa: sofa, couch | kaffee: coffee | tasse: cup, mug | hund: dog, hound, mine car
        see: lake, sea | hat: holds, has | gewinnen: win | motorrad: motorcycle | schokolade: chocolate
        torte: cake | brunnen: fountain, well | blume: flower | rakete: rocket | nacht: night
        gestern abend: last night | straße: street
    """,
    "fr": """
        le: the | la: the | de: of | du: of the | un: a | sur: on | mon: my | chat: cat | chien: dog
        plage: beach, shore | pain: bread, loaf | café: coffee | fleur: flower | eau: water | feu: fire
        feu d artifice: fireworks | temple: temple | œuf: egg | lac: lake | fontaine: fountain
    """,
    "es": """
        el: the | la: the | un: a | en: in, on | mi: my | perro: dog | gato: cat | taza: cup | flor: flower
        ver: look, see | patio: court, yard | fuente: fountain | quiero: want | moto: motorcycle
    """,
    "ru": """
        собака: dog, hound | на: on | в: in | с: with | пляж: beach | кошка: cat | кофе: coffee | мой: my
        озеро: lake | фонтан: fountain | храм: temple | свадьба: wedding | цветок: flower
    """,
    "ja": "犬: dog | 猫: cat | 海: sea, beach | 犬小屋: kennel | の: of",
}
_SPELT = {
    "de": Spelling("de", (Rule("en", "e"), Rule("en", ""), Rule("es", "")), ("", "s", "n")),
    "fr": Spelling("fr", (Rule("s", ""),)),
    "es": Spelling("es", (Rule("s", ""),), endings=("lo", "la")),
    "ru": Spelling("ru", (Rule("е", "о"), Rule("е", ""), Rule("ой", "а"), Rule("ы", "а"))),
    "ja": Spelling("ja", spaceless=True),
}
_WORTH = (1.0, 0.55, 0.1)  # of a word's glosses, in their order
# A vocabulary of English in its order, spelt as tokenizers of several kinds do.
VOCABULARY = """
    [PAD] the of</w> Ġand ▁a i in ##ing on The with my is has for at dog cat bread beach lake water cup coffee
    street cake night wedding win son 1 see pain café josh flower sofa well spring hat die patio computer look
"""
NAMES = ("Josh Miller", "Melanie", "Caroline", "Anna-Lena Weiß", "PM", "of the Lake", "Julian")
HELD = ("dog", "shore", "coffee", "mug", "lake", "yard", "beach", "son", "chien")
ASKED = ("hund", "katzen", "straßes", "tasse", "gestern abend", "zzz", "a", "strasse")
_SAID = ("Кэролайн", "Каролины", "Мелани", "Юлиана", "Джош", "Джоша", "Анна", "ПМ", "кот", "Вайс")
_REFUSED = ("not a table of glosses", "damaged")  # parts of messages


def table(language: str) -> bytes:
    """The file of one language."""
    words = dict(_entries(DICTIONARIES[language]))
    return encoded(_SPELT[language], words, {word: [word] for word in words})


def _entries(text: str) -> Iterator[tuple[str, dict[str, float]]]:
    for entry in text.strip().replace("\n", "|").split("|"):
        word, glosses = entry.strip().split(": ")
        yield folded(word), dict(zip(glosses.split(", "), _WORTH, strict=False))


def with_tables(suite: Suite) -> Suite:
    """With the tables as they are encoded now."""
    tables = {
        "tables": {language: base64_of(table(language)) for language in DICTIONARIES},
        "vocabulary": " ".join(VOCABULARY.split()),
        "names": list(NAMES),
        "held": list(HELD),
        "asked": list(ASKED),
    }
    return replace(suite, shared=tables)


def generated(seed: int, count: int) -> Suite:
    """`count` random queries, mostly of words that the tables have, and a tenth as many damaged tables."""
    rng = random.Random(seed)
    junk = strings(max(1, count // 10), seed + 1)
    cases = []
    for n in range(count):
        query = rng.choice(junk) if rng.random() < 0.1 else _query(rng)
        cases.append(Case(f"{n:04d}", {"op": "read", "query": query, "held": rng.sample(_WORDS, 6)}))
    data = table("de")
    # Not in the header: Android's reader of JSON also takes what is almost JSON.
    sections = START.size + int.from_bytes(data[6:10], "little")
    for n in range(count // 10):
        places = rng.sample(range(sections, len(data)), rng.choice([1, 2, 10]))
        edits = [[place, f"{rng.randrange(256):02x}"] for place in places]
        cases.append(Case(f"damaged-{n:03d}", {"op": "damaged", "edits": edits}))
    return with_tables(Suite("glosses", tuple(cases), tolerance=1e-5))


_WORDS = [
    word for text in DICTIONARIES.values() for entry, glosses in _entries(text) for word in (entry, *glosses)
]


def _query(rng: random.Random) -> str:
    said = [word for word, _ in _entries(DICTIONARIES[rng.choice(list(DICTIONARIES))])]
    out = ""
    for _ in range(rng.choice([1, 2, 3, 4, 6])):
        word = rng.choice(said) if rng.random() < 0.7 else rng.choice([*_WORDS, *NAMES, *_SAID])
        if rng.random() < 0.4:
            word = rng.choice([str.capitalize, str.upper, str.lower])(word)
        out += word + rng.choice(["", "", "", "n", "en", "es", "s", "lo", "е", "ой", "а"])
        out += rng.choice([" ", " ", " ", ", ", "", "'", "-", "’"])
    return out


def staged(bundle: Path, to: Path) -> Path:
    """What a search opens of a bundle, with these tables instead of its own, in the new folder `to`."""
    raw = json.loads((bundle / "manifest.json").read_text(encoding="utf-8"))
    opened = [a for a in raw["artifacts"] if a["target"] == "onnx" and a["role"] == "text_tower"]
    kept = [file for file in raw["files"] if not file["name"].startswith("glosses-")]
    for path in (to / entry["path"] for entry in (*kept, *opened)):
        path.parent.mkdir(parents=True, exist_ok=True)
        _linked(bundle / path.relative_to(to), path)
    for language in DICTIONARIES:
        name, data = f"glosses-{language}.bin", table(language)
        (to / name).write_bytes(data)
        entry = {"name": name, "path": name, "bytes": len(data), "sha256": sha256(data).hexdigest()}
        kept.append(entry)
    (to / "manifest.json").write_text(json.dumps(raw | {"files": kept}), encoding="utf-8")
    return to


def _linked(source: Path, path: Path) -> None:
    try:
        path.hardlink_to(source)
    except OSError:  # another file system
        shutil.copyfile(source, path)


def glosses(shared: Given, folder: Path, stack: ExitStack) -> Answers:
    stage = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    tables = {language: base64.b64decode(text) for language, text in shared["tables"].items()}
    opened = [_written(stage / f"glosses-{language}.bin", data) for language, data in tables.items()]
    vocabulary = {token: n for n, token in enumerate(shared["vocabulary"].split())}
    reader = Reader(opened, ranks(whole_words(vocabulary)))
    names = Names(shared["names"])

    def damaged(given: Given) -> Given:
        """A table that is refused in one line, or read as far as it goes."""
        try:
            changed = _written(stage / "damaged.bin", edited(tables["de"], given))
            return {"glosses": "|".join(_glosses(changed.lookup(folded(word))) for word in shared["asked"])}
        except BundleError as error:
            raise BundleError(next(part for part in _REFUSED if part in str(error))) from None

    return {
        "read": lambda given: _read(reader, names, given.get("held") or shared["held"], given),
        "album": partial(_in_album, reader, folder),
        "letters": _letters,
        "latin": lambda given: {"text": latin(given["text"])},
        "folded": lambda given: {"text": folded(given["text"])},
        "like": lambda given: {"names": [names.like(word, given["least"]) for word in given["words"]]},
        "damaged": damaged,
    }


def _written(path: Path, data: bytes) -> GlossTable:
    path.unlink(missing_ok=True)  # another may be mapped
    path.write_bytes(data)
    return GlossTable(path)


def _read(reader: Reader, names: Names, held: Sequence[str], given: Given) -> Given | None:
    reading = reader.read(given["query"], names)
    if reading is None:
        return None
    out = {"language": reading.language, "pieces": "|".join(map(_piece, reading.pieces))}
    if (glossed := chosen(reading, lambda words: set(held) & set(words))) is not None:
        out |= {"text": glossed.text, "forms": "|".join("/".join(forms) for forms in glossed.forms)}
        out["lines"] = "|".join(glossed.lines)
    return out


def _piece(piece: Piece) -> str:
    """said=word*:gloss weight/…: the word where it is another, and the star if English has it too."""
    if not piece.options:
        return piece.said
    word = f"={piece.word}" if piece.word != piece.said else ""
    return f"{piece.said}{word}{'*' if piece.is_english else ''}:{_glosses(piece.options)}"


def _glosses(glosses: Sequence[Gloss]) -> str:
    """Each gloss with its weight in the table."""
    return "/".join(f"{gloss.text} {round(255 * gloss.weight)}" for gloss in glosses)


def _in_album(reader: Reader, folder: Path, given: Given) -> Given:
    """The words of a query in an album, with its names: of a word's glosses the greatest count."""
    with copied(folder, given) as path, Album.open(path) as album:
        reading = reader.read(given["query"], Names(entity.name for entity in album.listed_entities()))
        glossed = None if reading is None else chosen(reading, album.holding)
        assert glossed is not None, given
        words = [
            {"text": word.text, "rows": word.rows.tolist(), "bm25": floats(word.bm25)}
            for word in album.words(glossed.text, glossed.forms).words
        ]
        return {"text": glossed.text, "words": words}


def _letters(given: Given) -> Given:
    words = [latin(word) for word in given["text"].split()]
    return {
        "latin": " ".join(words),
        "spoken": " ".join(map(spoken, words)),
        "sound": " ".join(sound(spoken(word)) for word in words),
    }
