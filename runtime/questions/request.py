"""What of a text is the request, what is told before it, and what is asked for: photos, a time, a number."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from .question import Asks
from .words import Word, Words, index_of, listed, split_at, text_of, trimmed, words_of

_STORY = 4  # words that a sentence before the request has at least if it is its story
_QUESTIONS = ("how", "howmany", "when", "where", "which", "who")
# Verbs that ask for photos only after "may I", "I would": "I see the lake" may be a memory.
_WISHED = frozenset({"grateful", "happy", "have", "like", "look", "love", "need", "see", "want"})
_AT_THE_END = frozenset({"again", "lol", "nah", "omg", "or", "please", "thank you", "thanks"})
_CLOSED = frozenset({"did", "has", "have", "is", "was", "were"})
_WAS_AT = [["went", "to"], ["was", "at"], ["were", "at"], ["was", "in"], ["were", "in"]]


@dataclass(frozen=True)
class Request:
    """`words`: of the request, without what only asks. `story`: what was told before, to which it refers;
    `sentence`: the whole of it.

    `is_question`: whether it begins as one; `is_closed`: whether yes or no answers it; `was`: whether that is
    asked with "was" or "were". `asked`: whether photos are asked for; `shows`: whether by "show me", "find".
    `did`: whether it says what the photographer did. `everything`: whether all that fits is meant ("what else
    did I …"). `about_a_photo`: whether its subject is one ("which photo …").
    """

    words: tuple[Word, ...]
    asks: Asks = "photos"
    story: tuple[Word, ...] = ()
    sentence: tuple[Word, ...] = ()
    is_question: bool = False
    is_closed: bool = False
    was: bool = False
    asked: bool = False
    shows: bool = False
    did: bool = False
    everything: bool = False
    about_a_photo: bool = False


@dataclass(frozen=True)
class _Wanted:
    """`start`: the number of words that say what is asked for."""

    asks: Asks = "photos"
    start: int = 0
    is_closed: bool = False


def request_of(words: Words) -> Request:
    """The request that a text makes: of several sentences the last question, else the last that asks."""
    marked = _sentences(words)
    sentences = [[word for word in sentence if word.text != "?"] for sentence in marked]
    asking = [at for at, sentence in enumerate(sentences) if _requests(sentence)]
    tells = any(len(sentence) > _STORY and _is_told(sentence) for sentence in sentences[:-1])
    if not asking and tells and (marked[-1][-1].text == "?" or not _is_told(sentences[-1])):
        asking = [len(sentences) - 1]  # "Somebody made a giant paella. Crowd shots from that same event"
    if not asking:
        return _read(trimmed(words), ())
    chosen = next((at for at in reversed(asking) if marked[at][-1].text == "?"), asking[-1])
    if chosen and (asks := _only_asks(sentences[chosen])):
        return replace(_read(sentences[chosen - 1], ()), asks=asks, is_question=True)
    if chosen and _only_refers(sentences[chosen]):
        return replace(_read(sentences[chosen - 1], ()), asked=True)
    before = [sentence for sentence in sentences[:chosen] if len(sentence) > _STORY]
    if before:
        read = _read(sentences[chosen], _main_clause(before[-1]))
        return replace(read, sentence=tuple(before[-1]))
    short = [word for sentence in sentences[:chosen] for word in sentence]
    story, request = _told_before(sentences[chosen])
    return _read([*short, *request], story)


def said_length(words: Words) -> int:
    """The number of words of "I saw", "we also photographed" at the beginning; 0 without them."""
    if not words or words[0].key not in ("i", "i'd", "i've", "we", "we'd", "we've"):
        return 0
    at, had = 1, 0
    while at < len(words) and (words[at].key in listed("said_between") or words[at].key.endswith("ly")):
        at += 1
        had = at if words[at - 1].key == "had" else had
    if at < len(words) and words[at].has("seen"):
        return at + 1
    if had:
        return had  # "I had breakfast"
    return at + 2 if [word.key for word in words[at : at + 2]] in _WAS_AT else 0


# Sentences and what they refer to


def _sentences(words: Words) -> list[list[Word]]:
    """The sentences, without their full stops; a question keeps its mark."""
    runs: list[list[Word]] = [[]]
    for at, word in enumerate(words):
        if word.text in ".?!;—–…" or _introduces(words, at):
            if word.text == "?" and runs[-1]:
                runs[-1].append(word)
            runs.append([])
        else:
            runs[-1].append(word)
    return [run for run in runs if run]


def _introduces(words: Words, at: int) -> bool:
    """A colon before a question or a request."""
    if words[at].text != ":":
        return False
    rest = trimmed(words[at + 1 :], "filler")
    return bool(rest) and (rest[0].has("aux", "modal", "when", "where", "which", "who") or _opening(rest) > 0)


def _requests(sentence: Words) -> bool:
    """Whether a sentence asks for something."""
    plain = trimmed(sentence, "filler")
    if not plain:
        return False
    if plain[0].has(*_QUESTIONS, "aux", "modal", "request") or index_of(plain, "request") >= 0:
        return True
    return any(_begins_question(piece) for piece in split_at(plain, lambda word: word.text in ",:")[1:])


def _is_told(sentence: Words) -> bool:
    """Whether a sentence tells something: somebody did it, or it happened."""
    plain = trimmed(sentence, "filler")
    return bool(plain) and (plain[0].has("subject", "aside") or index_of(plain[1:4], "aux", "verb") >= 0)


def _only_refers(sentence: Words) -> bool:
    """ "Please show me those." """
    plain = trimmed(sentence, "filler")
    rest = plain[_opening(plain) :]
    return len(rest) < len(plain) and all(
        word.is_mark or word.has("aux", "courtesy", "filler", "picture", "them", "which") for word in rest
    )


def _only_asks(sentence: Words) -> Literal["", "when", "where"]:
    """ "Where was that?" """
    plain = trimmed(sentence, "filler")
    if len(plain) < 2 or not all(word.has("aux", "them") for word in plain[1:]):
        return ""
    return "when" if plain[0].has("when") else "where" if plain[0].has("where") else ""


def _told_before(sentence: list[Word]) -> tuple[tuple[Word, ...], list[Word]]:
    """ "Sam spilled wine on the carpet, show me the carpet before that": the story, and the request."""
    pieces = split_at(sentence, lambda word: word.text in ",:")
    for before, piece in zip(pieces[-2::-1], pieces[:0:-1], strict=True):
        if piece[-1].has("them") and len(before) > _STORY and _opening(trimmed(piece, "filler")):
            return tuple(trimmed(before, "filler")), piece
    return (), sentence


def _main_clause(sentence: list[Word]) -> tuple[Word, ...]:
    """What a story is about: what comes after "but", "so" or "then", and of that the first clause."""
    turns = [at for at, word in enumerate(sentence[:-3]) if word.key in ("but", "so", "then") and at]
    rest = sentence[turns[-1] + 1 :] if turns else sentence
    for at in range(3, len(rest) - 2):
        link = rest[at].key == "and" or rest[at].text == ","
        if link and (rest[at + 1].has("definite", "subject") or rest[at + 1].key in ("and", "nobody")):
            rest = rest[:at]
            break
    words = trimmed(rest, "filler", "link")
    keys = [word.key for word in words[:2]]
    if keys in (["we", "had"], ["i", "had"], ["there", "was"], ["there", "is"], ["there", "were"]):
        words = words[2:]  # "we had that awful frost": the frost
    return tuple(words)


# What is asked for


def _read(words: Words, story: tuple[Word, ...]) -> Request:
    plain = _without_reasons(_without_closing(trimmed(words, "filler")))
    opened = _opening(plain)
    tells = index_of(plain[:opened], "tells") >= 0  # "tell me how many …" is a question
    body = trimmed(_without_closing(plain[opened:]), "filler")
    existing = _existence(body)
    asked = opened > 0 or existing > 0 or any(word.key == "please" for word in words)
    rest = body[existing:]
    result = _asked(rest, asked and not tells)
    if existing and result.asks == "photos" and body[0].key in ("did", "was", "were"):
        result = _Wanted("fact", 0, True)  # "was there a cat …"
    begins = bool(rest) and rest[0].has(*_QUESTIONS, "aux")
    late = None if begins else _late_question(rest)
    if late is not None:
        result, rest = late
    return Request(
        words=tuple(rest[result.start :]),
        asks=result.asks,
        story=story,
        is_question=begins or late is not None or result.asks != "photos",
        is_closed=result.is_closed,
        was=result.is_closed and bool(rest) and rest[0].key in ("was", "were"),
        asked=asked,
        shows=index_of(plain[:opened], "shows") >= 0,
        did=_did(rest),
        everything=_is_everything(rest),
        about_a_photo=index_of(rest[:3], "picture") >= 0,
    )


def _without_reasons(words: list[Word]) -> list[Word]:
    """The words without a reason before the request: "I'm doing my taxes, so …"."""
    for at in range(2, len(words) - 1):
        if words[at].text != "," and words[at].key != "so":
            continue
        rest = trimmed(words[at:], "filler")
        asks = bool(rest) and (rest[0].has(*_QUESTIONS, "request", "modal") or _opening(rest) > 0)
        if (asks or words[at].key == "so") and words[0].has("aside") and not said_length(words):
            return rest
    return words


def _opening(words: Words) -> int:
    """The number of words at the beginning that only ask: "could you kindly show me"."""
    if not words or words[0].key in ("me", "us"):
        return 0  # "me looking for …"
    end, asks = 0, False
    for at, word in enumerate(words):
        if word.text == "," and at == end:
            end += 1
            continue
        if at and word.key == "you" and words[at - 1].has("modal") and (verb := _verb_after(words, at)):
            return verb
        if not word.has("courtesy", "filler", "modal", "request", "self") and word.key not in ("be", "have"):
            break
        if _asks_here(words, at):
            asks = True
        elif word.key == "have" or (asks and (word.has("modal") or word.key in ("i", "we"))):
            break
        end = at + 1
    return end if asks else 0


def _verb_after(words: Words, you: int) -> int:
    """The number of words of "could you VERB me", whatever the verb; 0 where a verb of the vocabulary asks.

    "Could you count …" keeps its verb, which says what is asked for.
    """
    verb = next((at for at in range(you + 1, len(words)) if not words[at].has("courtesy", "filler")), 0)
    if not verb or words[verb].key == "have" or words[verb].has("request", "seen"):
        return 0
    if words[verb].key == "count":
        return verb
    whom = verb + 1 < len(words) and words[verb + 1].key in ("me", "us")
    return verb + 1 + whom


def _asks_here(words: Words, at: int) -> bool:
    word, before = words[at], words[:at]
    if word.key == "have" and not (before and before[-1].key in ("i", "me", "us")):
        return False
    if not (word.has("request") or word.key == "have"):
        return False
    modal = any(one.has("modal") for one in before)
    if word.key == "get" and before and not modal and before[-1].key in ("i", "we"):
        return False  # "I get emotional"
    wished = any(one.has("modal") or one.key in ("i", "let", "please", "to", "we", "you") for one in before)
    return word.key not in _WISHED or at == 0 or wished


def _without_closing(words: list[Word]) -> list[Word]:
    """The words without what only asks at their end, or is said aside: ", if it is no trouble"."""
    while words:
        mark = next((at for at in range(len(words) - 1, -1, -1) if words[at].is_mark), -1)
        if mark >= 0 and _is_aside(words[mark + 1 :]):
            words = words[:mark]
        elif words[-1].key in _AT_THE_END:
            words = words[:-1]
        else:
            break
    return words


def _is_aside(piece: Words) -> bool:
    if len(piece) > 1 and piece[0].key == "if" and piece[1].key in ("it", "possible", "that", "you"):
        return True
    opened = _opening(piece)
    told = len(piece) > 1 and piece[0].has("aside") and not said_length(piece) and not _relates(piece)
    if told and (not opened or index_of(piece[:opened], "tells") >= 0):
        return True  # "…, I must send them to the bookkeeper"
    if opened and all(word.has(*listed("only_asking")) for word in piece[opened:]):
        return True  # "…, can you dig that up"
    return all(word.has(*listed("only_asking")) for word in piece)


def _relates(piece: Words) -> bool:
    return index_of(piece, "after", "before", "unit") >= 0


def _existence(words: Words) -> int:
    """The number of words of "do you have", "are there", "have I got"."""
    keys = [word.key for word in words[:4]]
    if keys[2:3] == ["still"]:
        return 4 if keys[3:] in (["got"], ["have"]) else 0
    if keys[:1] == ["there's"]:
        return 1
    if len(keys) < 2 or not words[0].has("aux", "modal") or keys[1] not in ("i", "there", "we", "you"):
        return 0
    if keys[2:] and keys[2] in ("be", "got", "have"):
        return 3
    return 2 if keys[1] == "there" else 0


def _late_question(words: list[Word]) -> tuple[_Wanted, list[Word]] | None:
    """ "After the concert, who was given the flowers": a question after its circumstances.

    Its words come after a comma, as the circumstances' tail.
    """
    circumstance = (
        bool(words)
        and words[0].key not in ("a", "an")
        and (words[0].has("after", "before", "definite", "preposition", "unit") or words[0].number > 0)
    )
    if circumstance:
        for at in range(3, len(words) - 2):
            begins = words[at].has("how", "howmany", "which", "who") and _begins_question(words[at:])
            if begins and not (words[at - 1].has("preposition") or words[at - 1].is_mark):
                comma = replace(words[at], text=",", key=",", values={})
                result = _asked(words[at:], False)
                return replace(result, start=0), [*words[:at], comma, *words[at + result.start :]]
    for mark in range(len(words) - 2, 0, -1):
        piece = words[mark + 1 :]
        if words[mark].is_mark and (
            _begins_question(piece) or _begins_closed(piece) or piece[0].has("howmany")
        ):
            result = _asked(piece, False)
            tail = piece[result.start :]
            if all(word.has("aux", "self", "subject", "them") for word in tail):
                return replace(result, start=0), words[:mark]  # "…, who is he"
            return replace(result, start=0), [*words[: mark + 1], *tail]
    return None


def _begins_question(words: Words) -> bool:
    plain = trimmed(words, "filler")
    if len(plain) < 3 or not plain[0].has(*_QUESTIONS):
        return False
    return plain[1].has("aux", "picture", "unit") or plain[0].has("which", "who")


def _begins_closed(words: Words) -> bool:
    """ "…, did the sweep come first", "…, was there a waterfall"."""
    asks = len(words) > 3 and words[0].key in _CLOSED
    return asks and (words[1].has("definite", "subject") or words[1].key == "there")


def _asked(words: Words, shown: bool) -> _Wanted:
    """What the beginning of a question asks for. `shown`: "show me what I took" asks no question."""
    if not words:
        return _Wanted()
    begin = 1 if words[0].has("preposition") and len(words) > 1 else 0
    first, follows = words[begin], words[begin + 1] if begin + 1 < len(words) else None
    if words[0].has("howmany") or words[0].key in ("count", "how much"):
        return _counted(words)
    if follows is not None and first.has("which") and follows.has("moment", "place"):
        return _Wanted("when" if follows.has("moment") else "where", begin + 2)
    # "When I was eating in Berlin" asks nothing; "where'd we eat" does.
    tells = follows is not None and (
        follows.has("subject") or follows.key in ("my", "our") or follows.key.endswith("ing")
    )
    inverted = follows is not None and (first.text.lower() != first.key or not tells)
    if inverted and first.has("when", "where") and begin == 0:
        return _Wanted("when" if first.has("when") else "where", begin + 1)
    if first.has("who"):
        return _Wanted("who", begin + 1)
    if words[0].has("how", "which") and not shown:
        return _of_which(words)
    if words[0].has("aux") and len(words) > 2 and not shown:
        return _Wanted("fact", 1, True)
    return _Wanted()


def _counted(words: Words) -> _Wanted:
    """Photos are counted; "how many weeks" and "how much was" ask for a fact."""
    follows = words[1] if len(words) > 1 else None
    photos = follows is not None and follows.has("picture")
    if words[0].key == "how much" and not photos:
        return _Wanted("fact", _subject_at(words))
    if follows is not None and follows.has("duration") and words[0].has("howmany"):
        return _Wanted("fact", _subject_at(words))
    return _Wanted("count", 1)


def _of_which(words: Words) -> _Wanted:
    """ "What", "which", "how": photos where photos or what was photographed are meant, else a fact."""
    keys = [word.key for word in words]
    if (number := index_of(words[:4], "howmany")) > 0:
        return _Wanted("count", number + 1)  # "what's the number of …"
    contracted = words[0].text.lower() != words[0].key
    what = words[0].has("which")
    states = len(keys) > 1 and words[1].has("article", "subject") and not contracted
    if not states and any(key in ("look", "looked", "looks") for key in keys):
        return _Wanted("photos", 1)  # "how did it look", "what did the shed look like"
    if "or" in keys and ("first" in keys or "earlier" in keys):
        return _Wanted("fact", 1)
    if keys[0] == "how":
        if states:
            return _Wanted()  # "how the kitchen looked"
        return _Wanted("fact", _subject_at(words))
    noun = next(
        (word for word in words[1:] if not word.has("article", "aux", "exactly", "number", "order")), None
    )
    if states or (
        what and (index_of(words[1:4], "picture") >= 0 or (noun is not None and noun.has("one", "picture")))
    ):
        return _Wanted()
    did = len(keys) > 3 and words[1].has("aux") and keys[2] in ("i", "we") and words[3].has("generic")
    shot = _did(words) and (index_of(words, "made") >= 0 or any(key in _SHOT for key in keys))
    came = keys[1:2] == ["else"] or any(key in ("came", "comes") for key in keys[1:4])
    if did or shot or (came and "or" not in keys):
        return _Wanted()
    return _Wanted("fact", _subject_at(words))


_SHOT = frozenset({"do", "else", "see", "seen", "up"})


def _subject_at(words: Words) -> int:
    """Where the subject of "what colour were the roses" begins."""
    return index_of(words[:6], "aux") + 1 or 1


def _did(words: Words) -> bool:
    """Whether the words say what the photographer did: "did I", "I saw"."""
    return any(
        word.key in ("i", "we")
        and ((at and words[at - 1].has("aux")) or (at + 1 < len(words) and words[at + 1].has("seen")))
        for at, word in enumerate(words)
    )


def _is_everything(words: Words) -> bool:
    """ "What else did I photograph", "how many", "which dogs did I see"."""
    if not words or not words[0].has("howmany", "which"):
        return False
    if words[0].has("howmany") or (words[0].key == "what" and _did(words)):
        return True
    return len(words) > 2 and words[0].key == "which" and words[1].key.endswith("s") and words[2].has("aux")


def gone_to(text: str) -> str:
    """ "India" of "our trip to India"; "" of anything else. A place or a time."""
    words = words_of(text)
    at = index_of(words, "stay")
    before, rest = words[: max(at, 0)], words[at + 2 :]
    to = at >= 0 and bool(rest) and words[at + 1].key in ("to", "in", "at")
    said = all(word.has("article", "picture", "preposition", *listed("only_asking")) for word in before)
    return text_of(rest) if to and said else ""
