"""Which stored fact a question asks for: of whom, which relation, and whether the earlier value is meant."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from gamer.index.memory.records import Item

from ...questions.clauses import stem
from ...questions.words import index_of, words_of
from ..words import MOST, content
from .facts import BEFORE, DATE
from .subjects import begin_of, subject_of
from .tokens import Token, keys_of, plain, tokens_of
from .values import job_in
from .vocabulary import classes_of, is_being, kind, relation_named

_NAME = "'s name"  # ends the key of what somebody is called
_SINGLE = frozenset(  # relations of one value at a time
    ["home", "employer", "job", "age", "diet", "car", "name", "study", "origin", "birthplace"]
)
_LASTING = frozenset(["age", "allergy", "birthday", "birthplace", "origin"])  # which have no value before
_NEGATED = re.compile(
    r"(?:not|no longer|never|do not|don't|does not|doesn't|isn't|quit|left|stopped|stop|leave)\b",
    re.IGNORECASE,
)
_EVERYTHING = re.compile(  # "what do you know about me", "who am I", "what have I told you so far?"
    r"(?:(?:so|and|ok(?:ay)?|well),? )?(?:(?:what|everything|all) (?:that )?(?:(?:do|can|did) )?"
    r"(?:you|i|have i|did i) (?:know|remember|learned|told|tell|said)(?: you)?(?: so far)?"
    r"(?: (?:about|of) (?:me|myself|us))?|"
    r"(?:what|who) am i|tell me (?:something )?about (?:me|myself))(?: so far)?\W*$",
    re.IGNORECASE,
)
_DISLIKE = frozenset(map(stem, ("dislike", "detest", "hate", "not", "don", "doesn")))
_TASTE = _DISLIKE.union(
    map(
        stem,
        ("do", "does", "i", "my", "we", "he", "she", "they", "what", "like", "love", "enjoy", "most", "t"),
    )
)
_OF_THEM = re.compile(
    r"\bwhat (?:do|can) you (?:know|remember) (?:about|of) (?:my )?[\w'-]+\W*$", re.IGNORECASE
)
_MOST_KNOWN = 12  # facts that are told at once
_OF_A_THING = re.compile(r"the ((?:[\w-]+ ){1,3})(?:of|for) (?:my|our|the) ([\w-]+)")
_ENDS = Token("is", "is", 0, 0)
EVERYTHING = "everything"  # the relation of a question for all that is known
Keys = Mapping[str, Sequence[Item]]


@dataclass(frozen=True)
class FactQuestion:
    """`person`: whom it is about, "" for the owner, None if it names nobody. `relation`: what of them, or "".

    `noun`: stems of what is possessed ("shoe size"), else empty. `words`: stems of what it says. `past`:
    whether the value before is asked for. `closed`: whether yes or no answers it.
    """

    person: str | None
    relation: str
    noun: frozenset[str]
    words: frozenset[str]
    past: bool
    closed: bool


def read(question: str, people: Collection[str] = ()) -> FactQuestion:
    """Reads a question, of which the first MOST characters count. `people`: known names, in lower case."""
    text = " ".join(question[:MOST].split()).replace("’", "'")
    every = tokens_of(text)
    tokens = [token for token in every if token.key not in kind("aside")]
    keys = keys_of(tokens)
    person, noun = _of_whom(tokens, people)
    if noun and not person and not {"called", "named"}.isdisjoint(keys):
        person, noun = noun, ""  # "what is my board called?"
    relation = _relation(keys, noun, person)
    if _EVERYTHING.match(text) or (person and not noun and not relation and _OF_THEM.search(text)):
        relation = EVERYTHING
    return FactQuestion(
        person=person,
        relation=relation,
        noun=frozenset(map(stem, noun.split() if noun != relation else ())),
        words=frozenset(map(stem, re.findall(r"[^\W_]+", text))),
        past=_is_past(text, keys_of(every), relation),
        closed=keys[begin_of(tokens) : begin_of(tokens) + 1] != [] and keys[begin_of(tokens)] in kind("aux"),
    )


# Of whom and what


def _of_whom(tokens: Sequence[Token], people: Collection[str]) -> tuple[str | None, str]:
    """The person and the thing of theirs that a question names: after its verb, else anywhere."""
    subjects = [at + 1 for at, token in enumerate(tokens[:-1]) if token.key in kind("aux")]
    for at in (*subjects, *range(len(tokens))):
        token = tokens[at]
        if token.key in kind("asks") or (at == 0 and at not in subjects and token.is_name):
            continue
        if token.key in people:
            named = subject_of([replace(token, text=token.text.capitalize()), *tokens[at + 1 :], _ENDS], 0)
            return (named.person, named.noun) if named else (token.key, _noun(tokens[at + 1 :]))
        if (found := _owned(tokens[at:])) is not None:
            return found
    own = not {"i", "me", "my", "mine", "we", "our", "us"}.isdisjoint(keys_of(tokens))
    return ("" if own else None), ""


def _owned(tokens: Sequence[Token]) -> tuple[str, str] | None:
    key, follows = tokens[0].key, tokens[1].key if len(tokens) > 1 else ""
    thing = _OF_A_THING.match(" ".join(keys_of(tokens)))
    if thing and thing[1] != "name ":
        return None if is_being(thing[2]) else ("", thing[1] + thing[2])
    if key in ("i", "we"):
        return "", ""
    if key == "the" and follows in kind("pet"):
        return _owned([replace(tokens[0], key="my"), *tokens[1:]])
    if key not in ("my", "our", "the") and not tokens[0].is_name and key not in kind("called"):
        return None
    found = subject_of([*tokens, _ENDS], 0)
    if found is not None and (found.person or found.noun):
        return found.person, found.noun
    if key == "the" or tokens[0].is_name or key in kind("called"):
        return None
    return (follows, "") if is_being(follows) else ("", _noun(tokens[1:]))


def _noun(tokens: Sequence[Token]) -> str:
    words = []
    for token in tokens[:4]:
        if token.is_mark or token.key in kind("aux") or token.key in kind("ends noun"):
            break
        words.append(token.key)
    return " ".join(words)


def _relation(keys: Sequence[str], noun: str, person: str | None) -> str:
    """The relation that a question asks for; "" if it names something else."""
    *of_time, last = noun.split() or [""]
    if last in relation_named() and kind("of time").issuperset(of_time):
        return relation_named()[last]
    if noun:
        return "birthday" if noun == "birthday" else ""
    have = {plain(key) for key in keys} | set(keys)
    asks = next((key for key in keys if key in kind("asks")), "")
    where = asks == "where" or not kind("place").isdisjoint(have)
    at_work = not kind("workplace").isdisjoint(have)
    dated = asks == "when" or not {"year", "day", "date", "month"}.isdisjoint(have)
    tastes, did = kind("taste") & have, {"eat", "like", "drink" if "did" in keys else ""}
    works = "work" in have and (
        where or at_work or asks in ("who", "whom") or (not asks and {"at", "for"} & have)
    )
    is_only, open_ = "be" in have and "work" not in have, asks in ("what", "which", "how")
    does = asks == "what" and "do" in keys and keys[-1] in ("do", "does", "work")
    rules: tuple[tuple[str, object], ...] = (
        ("allergy", {"allergic", "allergy", "allergies"} & have),
        ("birthplace", "born" in have and not dated and (where or asks in ("which", "what"))),
        ("birthday", {"born", "birthday"} & have),
        ("age", (asks == "how" and "old" in have) or "age" in have),
        ("name", {"called", "name", "named"} & have or (asks == "who" and person and is_only)),
        ("diet", have & kind("diet") or "diet" in have),
        ("car", "drive" in have or ("car" in have and {"have", "own"} & have)),
        ("likes", tastes and (not asks or (open_ and tastes - did))),
        ("likes", asks == "what" and "do" in have and "look" not in have and "like" in keys[-2:]),
        ("home", kind("lives") & have and "moving" not in keys and (where or not asks)),
        ("origin", "from" in have and "be" in have and (where or not asks)),
        ("employer", works or (at_work and "at" in have and person is not None)),
        ("job", does or ({"living", "work"} & have and asks in ("what", "which", "how", ""))),
        ("study", {"study", "major"} & have),
        ("job", not asks and job_in(" ".join(keys))),
    )  # fmt: skip
    return next((name for name, asked in rules if asked), "")


def _is_past(text: str, keys: Sequence[str], relation: str) -> bool:
    """Whether what no longer holds is asked for: "before", "used to", "where did I live"."""
    words = words_of(text)
    if relation in _LASTING or (index_of(words, "now") >= 0 and "before" not in keys):
        return False
    for at, word in enumerate(words):
        after, follows = words[at - 1].key if at else "", words[at + 1].key if at + 1 < len(words) else ""
        no = (
            word.key == "once"
            or (after, word.key) == ("how", "old")
            or (word.key, follows) == ("first", "name")
        )
        if word.has("past") and not no:
            return True
    tells = {"get", "join", "mention", "move", "moved", "say", "tell"}
    did = relation in _SINGLE and "did" in keys and tells.isdisjoint(keys)
    return ({"first", "at"} <= set(keys)) or (did and not {"where", "what", "which", "who"}.isdisjoint(keys))


# The facts that are asked for


def names_of(items: Iterable[Item]) -> dict[str, str]:
    """ "sister" → "clara": what those are called of whom it is known."""
    return {
        item.value.key.removesuffix(_NAME): item.value.text.casefold()
        for item in items
        if item.value.key.endswith(_NAME) and not item.past
    }


def people_of(items: Sequence[Item]) -> frozenset[str]:
    """The names, and words such as "sister", of whom something is known, in lower case."""
    keys = (item.value.key.removesuffix(BEFORE).removeprefix(DATE) for item in items)
    return frozenset(key.rpartition("'s ")[0] for key in keys if "'s " in key).union(names_of(items).values())


def alike(items: Sequence[Item]) -> list[frozenset[str]]:
    """Those who are known, each by what they are called: "sister" and "clara"."""
    named = [frozenset({kin, *name.split()}) for kin, name in names_of(items).items()]
    return [*named, *(frozenset({one}) for one in people_of(items).difference(*named))]


def aliases(person: str | None, items: Sequence[Item]) -> frozenset[str]:
    """What a person is called; nothing for the owner and for nobody."""
    if not person:
        return frozenset()
    return frozenset({person}).union(*(forms for forms in alike(items) if person in forms))


def of_oneself(asked: FactQuestion, items: Sequence[Item]) -> FactQuestion:
    """The question, of the owner where it calls them by their own name."""
    own = {item.value.text.casefold() for item in items if item.value.key == "name" and not item.past}
    named = asked.person and any(asked.person in (name, name.partition(" ")[0]) for name in own)
    return replace(asked, person="") if named else asked


def fitting(asked: FactQuestion, items: Sequence[Item]) -> list[Item]:
    """The core memories that the question asks for: of each key the value that is meant."""
    core = [item for item in items if item.value.kind == "core"]
    names = names_of(core)
    keys: dict[str, list[Item]] = {}
    for item in sorted(core, key=lambda item: (item.value.at, item.id)):
        key = _canonical(item.value.key, names)
        values = keys.setdefault(key.removesuffix(BEFORE), [])
        if not item.past and not key.endswith(BEFORE):  # of two names of one person, the latest value holds
            values[:] = [replace(one, past=True) for one in values]
        values.append(replace(item, past=item.past or key.endswith(BEFORE)))
    asked = replace(asked, person=asked.person and _kin(asked.person, names))
    found = (_asked_for(keys[key], asked) for key in _keys_of(asked, keys))
    once = dict[str, Item]()
    for value in found:
        if value is not None:
            once.setdefault(value.value.text.casefold(), value)
    return [*once.values()]


def _kin(person: str, names: Mapping[str, str]) -> str:
    """ "sister" for "clara", if that is who she is."""
    return next((kin for kin, name in names.items() if person in (name, *name.split()[:1])), person)


def _canonical(key: str, names: Mapping[str, str]) -> str:
    """A key of "clara's" as one of "sister's"."""
    owner, of, what = key.removeprefix(DATE).partition("'s ")
    return f"{DATE if key.startswith(DATE) else ''}{_kin(owner, names) if of else owner}{of}{what}"


def _keys_of(asked: FactQuestion, keys: Keys) -> list[str]:
    owner = f"{asked.person}'s " if asked.person else ""
    if asked.relation == "likes":
        liked = [key for key in keys if key.startswith(f"{owner}likes ")]
        best = _best({key: _share(key.removeprefix(f"{owner}likes "), asked) for key in liked})
        best = best or [key for key in liked if not asked.closed and _is_of_kind(keys[key][-1], asked)]
        every = [key for key in liked if _dislikes(keys[key][-1]) == (not _DISLIKE.isdisjoint(asked.words))]
        return best or (every if len(asked.words - _TASTE) <= bool(owner) else [])
    if asked.relation == EVERYTHING:
        whose = {key: key.removeprefix(DATE).partition("likes ")[0].rpartition("'s ")[0] for key in keys}
        theirs = [key for key in keys if whose[key] == (asked.person or "")]
        return [key for key in theirs if not key.startswith("persona") or key == "persona: name"][
            -_MOST_KNOWN:
        ]
    if asked.relation == "allergy":
        of_theirs = [key for key in keys if key.startswith(f"{owner}allergy")]
        if not asked.closed or not asked.words.isdisjoint(map(stem, ("anything", "something", "any"))):
            return of_theirs
        return [key for key in of_theirs if _share(key.removeprefix(f"{owner}allergy: "), asked) >= 0.5]
    exact = {
        "birthday": f"{DATE}{owner}birthday",
        "": f"{DATE}{asked.person}"
        if asked.person in kind("kin") and not asked.noun
        else "",  # "the dentist"
    }.get(asked.relation, owner + asked.relation)
    if exact in keys:
        return [exact]
    if asked.relation == "name" and not owner and "persona: name" in keys:
        return ["persona: name"]
    return _by_words(asked, keys) if asked.person is not None or not asked.relation else []


def _by_words(asked: FactQuestion, keys: Keys) -> list[str]:
    """The keys whose words the question has: "date of stats exam", "wifi password"."""
    scores: dict[str, float] = {}
    for key in keys:
        owner, of, what = key.removeprefix(DATE).rpartition("'s ")
        theirs = owner == (asked.person or "") or (of and asked.person is None and _share(owner, asked) == 1)
        if not theirs or what in relation_named() or what.startswith(("likes ", "allergy", "persona")):
            continue
        words = {stem(word) for word in content(what) or [what]}
        hits, missing = len(words & asked.words), len(asked.noun - words)
        if asked.noun and (asked.noun.isdisjoint(words) or (missing and not key.startswith(DATE))):
            continue
        if 2 * hits > len(words) or (asked.noun and asked.noun <= words):
            scores[key] = hits / len(words) - 0.1 * missing + 0.01 * hits
    return _best(scores)


def _is_of_kind(item: Item, asked: FactQuestion) -> bool:
    """Whether a taste is of what the question names ("what do I drink?"), or the verb of it ("… prefer?")."""
    named = {stem(kind.split()[-1]) for kind in classes_of(item.value.text)}
    verb = {stem(item.value.text.split()[0])} & {stem("prefer")}
    return not is_negated(item.value.text) and not (named | verb).isdisjoint(asked.words)


def _dislikes(item: Item) -> bool:
    return is_negated(item.value.text) or stem(item.value.text.split()[0]) in _DISLIKE


def _best(scores: Mapping[str, float]) -> list[str]:
    """The keys of the greatest score, of at least a half."""
    greatest = max(scores.values(), default=0.0)
    return [key for key, score in scores.items() if score > greatest - 1e-9] if greatest >= 0.5 else []


def _share(named: str, asked: FactQuestion) -> float:
    words = {stem(word) for word in named.split()}
    return len(words & asked.words) / len(words) if words else 0.0


def _asked_for(values: Sequence[Item], asked: FactQuestion) -> Item | None:
    """The current value, or the one that the question names; with `past`, the last other one before it.

    None if there is none.
    """
    current = next((item for item in reversed(values) if not item.past), None)
    named = [item for item in values if asked.relation != "likes" and _says(item, asked)]
    if not asked.past:
        return named[-1] if named and current is None and not asked.closed else current
    pivot = named[-1] if named else current
    old = [item for item in values if item.past and not is_negated(item.value.text)]
    if pivot is not None:
        text, at = pivot.value.text.casefold(), pivot.value.at
        old = [
            item for item in old if item.value.text.casefold() != text and (not named or item.value.at <= at)
        ]
    return old[-1] if old else None


def _says(item: Item, asked: FactQuestion) -> bool:
    words = {stem(word) for word in content(item.value.text)}
    return bool(words) and words <= asked.words


def agrees(asked: FactQuestion, value: str) -> bool | None:
    """Whether a closed question names this value; None where that cannot be told."""
    if is_negated(value):
        return False
    words = {stem(word) for word in content(value)}
    return True if words & asked.words else False if asked.relation in _SINGLE else None


def is_negated(value: str) -> bool:
    """Whether a value says that something no longer holds."""
    return _NEGATED.match(value) is not None


def birthday(asked: FactQuestion, items: Sequence[Item]) -> Item | None:
    """The day of birth that answers how old somebody is."""
    born = replace(asked, relation="birthday") if asked.relation == "age" else None
    return next(iter(fitting(born, items)), None) if born else None


def before(item: Item, items: Sequence[Item]) -> Item | None:
    """The value that held before a current one."""
    old = [
        one
        for one in items
        if one.value.key.removesuffix(BEFORE) == item.value.key
        and (one.past or one.value.key.endswith(BEFORE))
        and not is_negated(one.value.text)
        and one.value.text.casefold() != item.value.text.casefold()
    ]
    # What was replaced came right before; "I used to live in Rome" does not say when.
    return max(old, key=lambda one: (not one.value.key.endswith(BEFORE), one.value.at, one.id), default=None)
