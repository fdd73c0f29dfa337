"""What a turn leaves out because it was said before: "and Peter?", "she", "it", "no, I meant Kerry".

A conversation is read in order. What a turn refers to is put in its place, so that everything after this
module reads whole sentences: "Where does Peter live?", "My grandson Alfie lives in Kerry."
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from gamer.index.memory.records import ASSISTANT, StoredTurn

from ...questions.clauses import is_content, sentences_of
from ...questions.dates import DAY, MONTHS
from ...questions.reader import read
from ...questions.words import Word, words_of
from ..words import MOST, asks
from .facts import NOBODY, Meant, told
from .subjects import subject_of
from .tokens import keys_of, tokens_of
from .vocabulary import classes_of, is_being, kind

Act = Literal["tells", "asks", "corrects", "forgets", "deletes", "greets", "thanks", "shows", "orders"]
_TOLD: tuple[Act, ...] = ("tells", "corrects", "orders")  # what is kept of
MAX_HISTORY = 24  # turns that a turn may refer to
_LONG, _SHORT = 300, 80  # characters of a question, and of small talk
_FEW = 8  # words of what is left out, or put right
_FEWER = 4  # words of a photo's name: "that last blurry photo"
_REMEMBERED = 512  # turns that were read, since every turn is read after those before it
_WH = r"(?:what|when|where|who|why|how|which)"
_ALSO = re.compile(r"(?:and|or|(?:and )?(?:what|how) about)\b,? ?(?P<rest>[^?]{1,80})\?? ?$", re.IGNORECASE)
_WRONG = (
    r"(?:(?:oh|ah|sorry|oops|wait|actually|hm+|er+|no|nope|nah|wrong|correction|my mistake|i mis(?:spoke|"
    r"typed)|typo|that(?:'s| is) (?:wrong|not right|incorrect)|not (?:right|quite)|(?:forget|scratch|"
    r"strike) that)[ ,.:;!—–-]{1,4})"
)
_SAYS = r"(?:i meant(?: to say)?|i mean|make that|(?:it|that) should be|should be)"
_IS = r"(?:it's|its|it is|they're|he's|she's)"
_SOFTLY = r"(?:(?:actually|really|now|to be) ){0,2}"
_NOT = r"(?:,? not (?P<not>[^,.;]+?))?[.! ]*$"
# "No, I meant Kerry", "that's wrong, it's Thursdays", "no, not Monday, Tuesday"
_CORRECTS = (
    re.compile(rf"{_WRONG}{{0,4}}{_SAYS}\b[ ,:]*{_SOFTLY}(?P<value>[^.;!?]+?){_NOT}", re.IGNORECASE),
    re.compile(rf"{_WRONG}{{1,4}}{_IS} {_SOFTLY}(?P<value>[^.;!?]+?){_NOT}", re.IGNORECASE),
    re.compile(rf"{_WRONG}{{1,4}}not (?P<not>[^,.;]+)[,.;—– -]+(?P<value>[^,.;?]+)[.! ]*$", re.IGNORECASE),
    re.compile(
        r"(?:(?:no|nope|wrong)[ ,.:;!—–-]{1,4}){1,3}(?:(?:wait|actually)[ ,.:;!—–-]{1,4})?"
        r"(?P<value>[^,.;?!]+?)(?P<not>)[. ]*$",
        re.IGNORECASE,
    ),
)
# What says for certain that the last statement was wrong.
_SURELY = re.compile(
    r".*\b(?:i mean|i meant|wrong|not right|incorrect|my mistake|typo|mis(?:spoke|typed))\b",
    re.IGNORECASE,
)
# "No, I meant the dogs", "make that in Rome", after photos
_MEANT = re.compile(
    rf"{_WRONG}{{0,4}}(?:i meant?|make that)\b,? (?:(?P<where>at|from|in|of) )?(?:my |the )?"
    r"(?P<what>[\w'-]+(?: [\w'-]+){0,3})[.! ]*$",
    re.IGNORECASE,
)
_ONE = re.compile(r"\bthe (?:[\w'-]+ ){1,3}?(?:one|photo|picture)\b", re.IGNORECASE)
_NAMED = re.compile(r"(?:the )?(?!I\b|I')[A-ZÀ-Þ][\wà-ÿ'&.-]*(?: [A-ZÀ-Þ&][\wà-ÿ'&.-]*){0,3}$")
_AFTER = re.compile(r"(?: (?:now|instead|then|though|please|actually|euros?|pounds?))?")
_FORGETS = re.compile(
    r"(?:(?:please|okay|ok|wait|nah|actually|oh|no|sorry|can you|could you|just),? ){0,3}(?:forget|delete|"
    r"erase|scratch|strike) (?:that (?=(?:i|i'm|my|we|our)\b))?"
    r"(?P<what>(?!to\b|it\b|about\b)[^,;:.!?]{1,60}?)"
    r"(?:,? please)?[.!? ]*$",
    re.IGNORECASE,
)
# "Delete that photo": a conversation deletes none, and forgets nothing for it.
_DELETES = re.compile(
    r"(?:(?:please|okay|ok|and|now|then|can you|could you|just),? ){0,3}(?:delete|erase|remove|trash|bin|"
    r"throw away|get rid of|forget) (?P<what>[^,;:.!?]{1,60}?)(?:,? please)?[.!? ]*$",
    re.IGNORECASE,
)
_THESE = re.compile(
    r"(?:it|that|this|them|these|those|all(?: of (?:them|these|those))?)(?: (?:one|ones))?$", re.I
)
# "Only from 2025", "and in winter?", "just the ones with Anna", after photos. Without these words or a
# question mark it may be a statement: "In Porto Peter lives."
_NARROWS = re.compile(
    r"(?P<begin>(?:(?:and|but|now|ok|okay|only|just|please),? ){0,3}(?:(?:the|those|these) )?"
    r"(?:(?:one|photo|picture|pic)s? )?(?:(?:that (?:are|were)|taken) ){0,2})"
    r"(?P<where>after|at|before|by|during|from|in|near|on|with|without) (?:my |the )?"
    r"(?!.*\b(?:i|we|you|he|she|they|it|is|are|was|were)\b)"
    r"(?P<what>[\w'-]+(?: [\w'-]+){0,2}?)(?:,? please)?(?P<end>[.?! ]*)$",
    re.IGNORECASE,
)
# "How many is that?", after photos
_COUNTS = re.compile(
    r"(?:(?:and|so|ok|okay),? ){0,2}how many (?:(?:photos |pictures |pics )?of (?:them|these|those)\b.{0,30}|"
    r"(?:is (?:it|that|this)|are (?:there|these|those|they)|were (?:there|they))(?: in (?:all|total)| "
    r"altogether)?)[?.! ]*$",
    re.IGNORECASE,
)
# "Remind me to buy milk", "can you book a table?", "turn off the light", which nobody here does.
_ORDERS = re.compile(
    r"(?:(?:please|okay|ok|and|now|then|hey|can you|could you|would you|will you|i want you to),? ){0,3}"
    r"(?!call me\b|remind (?:me|us) (?!(?:to|that|at|on|in|tomorrow|tonight)\b))(?P<verb>[a-z]{3,10})"
    r"(?: (?:up|off|on))? (?:(?:me|us|an?|the|my|our|some|this|that|it|him|her|them|all)\b|(?-i:[A-Z]))",
    re.IGNORECASE,
)
_NO_ORDER = re.compile(rf"\b(?:is|was|are|were|has|had|{_WH})\b|'s\b", re.IGNORECASE)
_THOSE = re.compile(r"\b(?:only|just) .*\b(?:those|these|ones)\b", re.IGNORECASE)
_STATES = re.compile(r"[A-ZÀ-Þ0-9][\wà-ÿ'-]* (?:my |our )?[a-zà-ÿ]")  # "Peter lives", "Mondays my daughter"
_LAST = re.compile(
    r"(?:that|this|what i (?:just )?(?:said|told you)|the last (?:one|thing|bit)|my last (?:message|"
    r"sentence)|that last (?:one|bit|thing|part))(?: (?:i said|about it|again|bit|part|one|just now|"
    r"last bit))?(?:,? (?!(?:i|i'm|my|we|our)\b).{0,30})?$",  # "that I live in Lyon" names what
    re.IGNORECASE,
)
# "Everything about Eva" is one thing.
_ABOUT = re.compile(
    r"(?:everything|all|anything)(?: that)?(?: (?:i|you)(?: have|'ve)? (?:said|told you|know|know of))? "
    r"about (?P<what>(?!(?:me|us|you)\b).+)",
    re.IGNORECASE,
)
_PRONOUN = re.compile(r"(?:he|she|him|her|it|them|that|this|these|those)$", re.IGNORECASE)
_SOMEBODY = re.compile(r"(?:he|she|him|his|her|hers)$", re.IGNORECASE)
# "Photos of her at the beach", not "of her dog"
_WHOM = re.compile(
    r"\b(?P<of>about|by|for|from|of|to|with|without) (?:her|him)"
    r"(?=[ ,.?!]*$| (?:at|by|from|in|last|near|on|this|when|while|with|without)\b)",
    re.IGNORECASE,
)
# "Any other ones of her?", "more of him, please", after photos
_MORE = re.compile(
    r"(?:(?:and|but|now|ok|okay|please|so),? ){0,3}(?:(?:do you have|have you got|are there|is there|got|"
    r"can you show me|could you show me|show me|can i see|let me see|i want|i'd like) )?"
    r"(?:(?:any|some|a few|even|the|yet) )?(?:more|others?|another|further)"
    r"(?: (?:one|photo|picture|pic|shot)s?)?(?: of (?:the )?(?P<of>[\w'-]+(?: [\w'-]+){0,2}?))?"
    r"(?:,? please)?[.?! ]*$",
    re.IGNORECASE,
)
# "More of the same", "more of these pictures"
_SAME = re.compile(r"(?:same|it|(?:them|these|those|that|this)(?: [\w'-]+)?)$", re.IGNORECASE)
# Not in a conversation, where it may be a mistake or a stranger's words, but by `gamer memory forget --all`.
_EVERYTHING = re.compile(r"\b(?:everything|all|instructions?|anything|rules)\b", re.IGNORECASE)
_GREETS = re.compile(
    r"(?:(?:good (?:morning|afternoon|evening|day|night)|hi|hiya|hello|hey|heya|yo|oi|morning|evening|"
    r"howdy|bye|goodbye|see you|goodnight|cheerio|ta-ra|later|night|gn|there|again|you|all|love|pal|mate|"
    r"everyone|then|so|now|for|tomorrow|soon|folks)[ ,.!]*)+$",
    re.IGNORECASE,
)
_THANKS = re.compile(
    r"(?:(?:ok|okay|great|perfect|lovely|brilliant|super|nice|good|oh|ah|well|yes|right|"
    r"aye)[ ,.!]+){0,4}(?:thanks?|thank you|thankyou|cheers|ta|much appreciated|obrigad[oa]|"
    r"thx)\b[^?]{0,60}$",
    re.IGNORECASE,
)
_CHATS = re.compile(
    r"\b(?:how (?:are|do|did) you|how(?:'re you|'s it going| is it going| was your)|what(?:'s up| are you|"
    r" do you think| can you do)|who are you|are you (?:an?|ok|okay|there|human|real|alive|sure|happy|"
    r"tired|listening|well)\b|isn't (?:it|that)|don't you think|"
    r"\A(?:so |and |hey,? )?(?:where (?:do you live|are you from)|how old are you)[?!. ]*\Z|"
    r"do you (?:like|ever|sleep)|did you sleep|"
    r"can you hear|tell me a joke|your name|you alright)",
    re.IGNORECASE,
)
_SEES = re.compile(
    r"(?:(?:can|could|may) (?:i|you) |let me |please ){0,2}(?:see|show|show me|look at) (?:it|that|them|"
    r"those|the (?:photo|picture)s?)(?: to me)?(?: (?:again|so|then|please)){0,2}[.?! ]*$",
    re.IGNORECASE,
)
_LETS_SEE = re.compile(
    r"(?:let'?s|let me|lemme|can i|could i|gonnae|wanna|i want to|i'd like to) (?:see|show me|"
    r"look at) (?!if|how|whether|what|it\b|that\b[.?!]*$)",
    re.IGNORECASE,
)
# Kinds of values, one of which a correction replaces.
_KINDS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b{DAY}s?\b",
        rf"\b(?:the )?\d{{1,2}}(?:st|nd|rd|th)?(?: of)? (?:{MONTHS})(?: \d{{4}})?|"
        rf"\b(?:{MONTHS})(?: \d{{1,2}}(?:st|nd|rd|th)?)?\b",
        r"\b\d{1,2}[:.]\d\d\b|\b\d{1,2} ?(?:am|pm)\b",
        r"\b(?:last |this )?(?:spring|summer|autumn|fall|winter)\b",
        r"\b(?:19|20)\d\d\b",
        r"(?<![\w.])\d(?:[\w,-]|\.(?=\w)){0,20}",
    )
)  # fmt: skip
_NAME = re.compile(r"(?<![.!?] )(?<!^)\b[A-ZÀ-Þ][\wà-ÿ'-]*(?: [A-ZÀ-Þ][\wà-ÿ'-]*)*")
_THING = re.compile(
    r"\b(?:my|our|the) (?P<noun>(?:[a-zà-ÿ'-]+ ){0,3}?[a-zà-ÿ'-]+)(?= (?:is|was|are|were|at|in|on|before|"
    r"now|again|moved|called)\b|[?.!]|$)",
    re.IGNORECASE,
)
_OF_ME = tuple((re.compile(pattern, re.IGNORECASE), put) for pattern, put in (
    (r"\b(?:do|did) (?:i|we)\b", "does {}"), (r"\bam i\b", "is {}"), (r"\b(?:my|our)\b", "{}'s"),
))  # fmt: skip


@dataclass(frozen=True)
class Context:
    """`told`, `asked`: the last statement and the last question, whole. `meant`: whom "she" means.

    `shown`: ids of the photos that the last answer showed. `after_photos`: whether the last turn asked for
    some. `photos`: what was asked for when `shown` were found, "" if another thing was said since. `seen`:
    ids of those that were shown before `shown`, if it has more of the same.
    `told_by`: the number of the turn that told the last statement, 0 if none did.
    """

    meant: Meant = NOBODY
    told: str = ""
    asked: str = ""
    shown: tuple[str, ...] = ()
    after_photos: bool = False
    told_by: int = 0
    photos: str = ""
    seen: tuple[str, ...] = ()


NOTHING_SAID = Context()


@dataclass(frozen=True)
class Resolved:
    """A turn as a whole sentence. `forgets`: what is to be forgotten, "" for what was said last; `whole`: all
    that is known of it, "" if the turn does not say of whom. `more`: whether photos are asked for that were
    not shown.

    `of_shown`: whether it asks about the photos that were shown; `order`: which of them by time, 1 the first,
    -1 the last, 0 all.
    """

    act: Act
    text: str
    forgets: str = ""
    of_shown: bool = False
    order: int = 0
    whole: bool = False
    more: bool = False


def context_of(turns: Iterable[StoredTurn], owner: str, context: Context = NOTHING_SAID) -> Context:
    """What was said in a conversation, in order, after what `context` knows."""
    for stored in turns:
        turn = stored.turn
        if turn.speaker == ASSISTANT:
            context = replace(context, shown=turn.pictures or context.shown)
        elif turn.speaker == owner:
            said = resolve(turn.text, context)
            context = after(context, said)
            if said.act in _TOLD:
                context = replace(context, told_by=stored.id)
    return context


def after(context: Context, said: Resolved) -> Context:
    """What later turns may refer to once this was said."""
    if said.act in _TOLD:
        text = said.text[:MOST]
        meant, _ = told(text, context.meant)
        states = any(not asks(sentence) for sentence in sentences_of(text))
        return replace(
            context,
            meant=meant,
            told=text if states else context.told,
            shown=(),
            after_photos=False,
            photos="",
            seen=(),
        )
    if said.act in ("asks", "shows"):
        person = _person_of(said.text) or context.meant.person
        thing = _thing_of(said.text) or context.meant.thing
        again = said.of_shown and said.act == "shows"  # those that were found, or some of them
        found = "" if said.act == "asks" else said.text
        return replace(
            context,
            asked=context.asked if again else said.text,
            meant=Meant(person, thing),
            shown=context.shown if said.of_shown or said.act == "asks" else (),
            after_photos=said.act == "shows",
            photos=context.photos if said.of_shown else found,
            seen=context.seen if said.of_shown else (*context.seen, *context.shown) if said.more else (),
        )
    return context


@lru_cache(_REMEMBERED)
def resolve(text: str, context: Context) -> Resolved:
    """Reads a turn after what was said before it."""
    plain = " ".join(text[:MOST].split()).replace("’", "'")
    if (deletes := _DELETES.match(plain)) and _of_photos(deletes["what"], plain, context):
        return Resolved("deletes", plain)
    if forgets := _FORGETS.match(plain):
        what = forgets["what"]
        if about := _ABOUT.match(what):
            # Nobody is forgotten by a guess of whom "her" means.
            whose = "" if _PRONOUN.match(about["what"]) else about["what"]
            return Resolved("forgets", plain, whose, whole=True)
        if not _EVERYTHING.search(what):
            return Resolved("forgets", plain, "" if _LAST.match(what) else what)
    asked = any(asks(sentence) for sentence in sentences_of(plain))
    chats = _GREETS.match(plain) or (len(plain) < _SHORT and _CHATS.search(plain))
    if chats or (_THANKS.match(plain) and not asked):
        if told(plain, context.meant)[1]:  # "Thanks, my new address is 5 Elm Road"
            return Resolved("tells", text)
        return Resolved("greets" if chats else "thanks", plain)
    refers = _refers(plain, context)
    if _SEES.match(plain) and context.shown:
        return Resolved("shows", plain, of_shown=True)
    if context.shown and (order := _order(plain)) and all(map(_only_chooses, words_of(plain))):
        return Resolved("shows", plain, of_shown=True, order=order)
    if context.after_photos and _COUNTS.match(plain):
        return Resolved("shows", context.asked)
    if (more := _MORE.match(plain)) and (wanted := _more(more["of"] or "", context)):
        return wanted
    narrowed = _narrowed(plain)
    if narrowed and not context.after_photos and _THOSE.search(narrowed["begin"]):
        return Resolved("shows", f"show me photos {narrowed['where']} {narrowed['what']}")
    meant = (narrowed or _MEANT.match(plain)) if context.after_photos else None
    if meant and (again := _asked_again(meant, context.asked)):
        return Resolved("shows", again)
    if sees := next((one for one in sentences_of(plain) if read(one).shows or _LETS_SEE.match(one)), ""):
        return Resolved("shows", _of_whom(_LETS_SEE.sub("show me ", sees), context))
    pictured = read(plain, has_favourites=False).about_photos  # "my favourite" may be a colour
    if pictured and not refers:
        return Resolved("shows", _of_whom(plain, context))
    if _is_order(plain, context):
        return Resolved("orders", text)
    if not asked and (corrected := _corrected(plain, context.told)):
        return Resolved("corrects", corrected)
    if (also := _ALSO.match(plain)) and (whole := _completed(also["rest"], context)):
        return whole
    instead = _MEANT.match(plain) if context.asked and not asked and _SURELY.match(plain) else None
    if instead and (again := _asked_again(instead, context.asked)):
        return Resolved("asks", again)
    if asked and len(plain) < _LONG:
        if context.shown and (order := _order(plain)):
            return Resolved("asks", _ONE.sub("that", plain, count=1), of_shown=True, order=order)
        return Resolved("asks", _named(plain, context), of_shown=refers)
    return (
        Resolved("shows", _of_whom(plain, context))
        if pictured
        else Resolved("asks", plain)
        if asked
        else Resolved("tells", text)
    )


def _more(of: str, context: Context) -> Resolved | None:
    """More photos of what was asked for, or of something else; None if neither is known."""
    if _SOMEBODY.match(of):
        whom = _named_person(context.meant.person)
        if whom and whom.lower() not in context.photos.lower():
            return Resolved("shows", f"show me photos of {whom}")
        of = ""
    if not context.photos:
        return None
    different = of and not _SAME.match(of)
    return Resolved("shows", f"show me photos of {of}" if different else context.photos, more=True)


def _of_whom(plain: str, context: Context) -> str:
    """A text with whom it means by "of her"."""
    whom = _named_person(context.meant.person)
    return _WHOM.sub(rf"\g<of> {whom}", plain) if whom and not _person_of(plain) else plain


def _named_person(person: str) -> str:
    """How a sentence names a person; "" for ""."""
    return f"my {person}" if person and is_being(person) else person.title()


def _refers(plain: str, context: Context) -> bool:
    """Whether a text may ask about the photos that were shown: "when was it taken?"."""
    return bool(context.shown) and not kind("refers").isdisjoint(re.findall(r"[a-z']+", plain.lower()))


def _is_order(plain: str, context: Context) -> bool:
    """Whether a turn wants something done that a conversation cannot do, and tells no fact."""
    found = _ORDERS.match(plain)
    if found is None or found["verb"].lower() not in kind("order") or told(plain, context.meant)[1]:
        return False
    first, *others = sentences_of(plain)
    # "Ring my sister gave me is in the drawer", "text me what the password is"
    states = _NO_ORDER.search(first[found.end("verb") :]) is not None
    return not states and not any(map(asks, others))


def _order(plain: str) -> int:
    """Which of the photos that were shown is meant: "the oldest one", "when was the last taken?"; 0: none."""
    asked = read(plain)
    bare = not (asked.target or asked.anchor or asked.relation or asked.occasion)
    return asked.order if bare and asked.number <= 1 and len(plain.split()) < _FEW else 0


def _of_photos(what: str, plain: str, context: Context) -> bool:
    """Whether "delete that" means photos: they are named, or were what the last turn asked for."""
    words = [word for word in words_of(what) if not word.is_mark]
    at = next((n for n, word in enumerate(words[:_FEWER]) if word.has("picture")), None)
    if at is not None:
        ends = at + 1 == len(words) or words[at + 1].key in ("of", "from", "with", "in")
        if ends and {"i", "we", "what"}.isdisjoint(word.key for word in words[:at]):
            return True
    last = words[-1] if words else None
    ones = _THESE.match(what) or (last is not None and (last.has("order") or last.key in ("one", "ones")))
    return bool(context.after_photos and ones and "forget" not in plain.lower())


def _only_chooses(word: Word) -> bool:
    """Whether a word is of "show me the second one, please", and says nothing else."""
    return word.is_mark or word.has("order", "picture", "request") or word.key in kind("chooses")


def _completed(rest: str, context: Context) -> Resolved | None:
    """ "And Peter?", "and where?", "and before?", after a question."""
    words = rest.split()
    if not context.asked or len(words) >= _FEW or (len(words) > 3 and asks(rest)):
        return None
    begins = re.match(rf"{_WH}\b", rest, re.IGNORECASE)
    if context.shown and (order := _order(rest)):
        return Resolved("shows", rest, of_shown=True, order=order)
    if context.after_photos and not begins:
        return Resolved("shows", f"show me {rest}")
    if re.match(r"(?:before(?: that)?|previously|earlier|originally)$", rest, re.IGNORECASE):
        return Resolved("asks", f"{context.asked.rstrip(' ?')} before?")
    if begins and len(words) == 1:
        again = re.sub(rf"^(?:and )?{_WH}\b", rest, context.asked, count=1, flags=re.IGNORECASE)
        return Resolved("asks", again, of_shown=_refers(again, context))
    if subject_of(tokens_of(f"{rest[:1].upper()}{rest[1:]} is"), 0) is None:
        return None
    replaced = _with_person(context.asked, rest)
    return Resolved("asks", replaced) if replaced else None


def _with_person(question: str, person: str) -> str:
    """The question asked of another person; "" if it is about none."""
    tokens = tokens_of(question)
    for at in range(1, len(tokens)):
        if tokens[at].key in ("i", "we"):
            continue
        for end in range(min(at + 4, len(tokens)), at, -1):
            found = subject_of([*tokens[at:end], *tokens_of("is")], 0)
            if found is not None and found.person and not found.noun and found.end == end - at:
                return question[: tokens[at].start] + person + question[tokens[end - 1].end :]
        owner = subject_of([*tokens[at:], *tokens_of("is")], 0)
        if owner is not None and owner.person and owner.noun:
            last = next((n for n in range(at, len(tokens)) if tokens[n].key == "'s"), at)
            return question[: tokens[at].start] + person + question[tokens[last].start :]
    for pattern, put in _OF_ME:
        changed = pattern.sub(put.format(person), question, count=1)
        if changed != question:
            return changed
    return ""


def _named(question: str, context: Context) -> str:
    """The question with whom and what its pronouns mean; of photos that were shown these are the photos."""
    person, thing = context.meant.person, context.meant.thing
    if context.shown:
        return question
    if person and not _person_of(question):
        whom, question = _named_person(person), _of_whom(question, context)
        question = re.sub(r"\b(?:he|she|him)\b", whom, question, flags=re.IGNORECASE)
        question = re.sub(r"\b(?:his|her)\b(?= \w)", f"{whom}'s", question, flags=re.IGNORECASE)
    if thing:
        named = thing if "'s " in thing else f"my {thing}"
        put = rf"\1 {named}"
        question = re.sub(
            r"\b(was|is|were|are) (?:it|that)\b(?! (?:that|taken))",
            put,
            question,
            count=1,
            flags=re.IGNORECASE,
        )
    return question


def _person_of(text: str) -> str:
    """The person whom a question names; "" if it names none."""
    tokens = tokens_of(text)
    for at, token in enumerate(tokens):
        begins = at == 0 and token.is_name and len(tokens) > 1 and tokens[1].key != "'s"
        found = (
            None
            if begins or token.key in ("i", "we", "it")
            else subject_of([*tokens[at:], *tokens_of("is")], 0)
        )
        if found is not None and found.person:
            return found.person
    return ""


def _thing_of(question: str) -> str:
    found = _THING.search(question)
    return " ".join(keys_of(tokens_of(found["noun"]))) if found else ""


def _narrowed(plain: str) -> re.Match[str] | None:
    """What a turn after photos adds to what they were asked for; None if it may be a statement."""
    found = _NARROWS.match(plain)
    if found is None or _STATES.search(found["what"]):
        return None
    bare = not found["begin"] and "?" not in found["end"] and found["where"].lower() != "without"
    certain = any(pattern.fullmatch(found["what"]) for pattern in (*_KINDS, _NAMED))
    return None if bare and not certain else found


def _asked_again(found: re.Match[str], asked: str) -> str:
    """The last question for photos with what is meant instead or as well; "" if the turn does not say.

    `found`: of _MEANT or _NARROWS. A day or month takes the place of one, a place of one, a name of one, and
    else a thing of the thing that was asked for; where there is none, it is said in addition: "no, in Rome".
    """
    words = found["what"].split()
    if not all(is_content(words[at]) for at in (0, -1)) or not kind("aux").isdisjoint(words):
        return ""
    what, where = found["what"], (found["where"] or "").lower()
    question = asked.rstrip(" .?!")
    for pattern in _KINDS:
        if pattern.fullmatch(what):
            changed = pattern.sub(what, question)
            return changed if changed != question else f"{question} {where or 'from'} {what}"
    names = [one for one in _NAME.finditer(question) if not _KINDS[1].fullmatch(one[0])]
    is_place = where in ("at", "from", "in")
    if is_place:
        names = [one for one in names if re.search(r"\b(?:at|from|in) $", question[: one.start()])]
    if _NAMED.match(what) and names and (is_place or where in ("", "of")):
        return question[: names[-1].start()] + what + question[names[-1].end() :]
    if where and where != "of":
        return f"{question} {where} {what}"
    target = re.sub(
        r"(?i)^(?:[\w']+ ){0,3}?(?:photos?|pics?|pictures?) of (?:my |the )?", "", read(asked).target
    )
    thing = re.split(r" (?:at|by|from|in|near|of|on|with|without) ", target)[0]
    at = question.rfind(thing) if thing else -1
    return question[:at] + what + question[at + len(thing) :] if at >= 0 else f"show me {what}"


def _corrected(plain: str, before: str) -> str:
    """The last statement with what a correction puts right; "" if the turn is none.

    A value takes the place of one of its kind (a day, a number, a name), or, where the turn says for certain
    that something was wrong, of the last word.
    """
    found = next((found for pattern in _CORRECTS if (found := pattern.match(plain))), None)
    if found is None or not before or len(found["value"].split()) > _FEW:
        return ""
    # "No, that is wrong" does not say what is right.
    if re.fullmatch(_WRONG, f"{found['value']} ", re.IGNORECASE):
        return ""
    value, wrong = found["value"].strip(), (found["not"] or "").strip().lower()
    if wrong:
        at = before.lower().rfind(wrong)
        return before[:at] + value + before[at + len(wrong) :] if at >= 0 else ""
    bare = re.sub(r"^(?:on|at|in|the) ", "", value, flags=re.IGNORECASE)
    for pattern in _KINDS:
        new, old = pattern.match(bare), [*pattern.finditer(before)]
        if new and old and _AFTER.fullmatch(bare[new.end() :]):
            return before[: old[-1].start()] + new[0] + before[old[-1].end() :]
    names = [one for one in _NAME.finditer(before) if not _KINDS[1].fullmatch(one[0])]
    if names and _NAMED.match(value):
        return before[: names[-1].start()] + value + before[names[-1].end() :]
    last = re.search(r"(?P<last>(?:an? |the )?[\w'-]{1,40})[.! ]*$", before)
    parted = re.match(r"\w+(?: (?:wait|actually)\b|[,.;:!—–-])", plain)  # not "no coffee today"
    things = all(classes_of(word) for word in value.split())
    alike = last and parted and things and not classes_of(value).isdisjoint(classes_of(last["last"]))
    if last and (alike or _SURELY.match(plain)) and re.fullmatch(r"[\w'-]+(?: [\w'-]+){0,3}", value):
        return before[: last.start("last")] + value + before[last.end("last") :]
    return ""
