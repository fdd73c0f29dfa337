"""Synthetic text for fixtures, written for this project: sentences, hard strings and random strings.

The committed tokenizers were trained on such sentences; the strings are inputs to tokenize.
"""

from __future__ import annotations

import random

_NOUNS = """
    dog cat chair coffee beach bridge bicycle birthday cake lantern puddle kite harbour mountain
    grandmother wedding airport noodles temple sunset
"""
NOUNS = _NOUNS.split()
_VERBS = "sleeping running laughing waiting photographed repaired carried painted opened crossing"
VERBS = _VERBS.split()
PLACES = "Lisbon Oslo Kyoto Napoli Berlin Sydney Toronto São_Paulo Zürich Reykjavík".replace("_", " ").split()
_OTHERS = "où était été Straße naïve собака на пляже 写真 海 猫と犬 ภาพถ่าย صورة 사진 γάτα"
OTHERS = _OTHERS.split()
_WHO = "my our the a his her Lena's Tom's grandpa's"
WHO = _WHO.split()
HARD = (
    "",
    " ",
    "a",
    "The coffee I photographed last spring",
    "don't can't I'll we've they're he'd I'm 'quoted' 'S 'LL",
    "IKEA chair, 119 euros (€119.00) — 20% off!!!",
    "  two  spaces   three\ttab\nnewline\r\nboth  ",
    "Ünïcödé Straße NAÏVE Ångström İstanbul ı ſ ﬁ Ǆ",
    "e\u0301 o\u0308 \u00e9 \u1e9b\u0323 A\u030a",
    "写真を撮った 海と猫 ひらがなカタカナ",
    "사진 한국어 텍스트",
    "ภาพถ่ายของฉัน",
    "صورة كلبي على الشاطئ",
    "тест собака Ёлка й",
    "🐶 👨‍👩‍👧‍👦 🇯🇵 ❤️ 👍🏽",
    "NUL\u0000 ctrl\u0007 soft\u00adhyphen zero\u200bwidth nbsp\u00a0here \ufeffbom \ufffdrepl \ue000private",
    "x" * 120,
    "supercalifragilistic" * 8,
    "1234567890 3.14159 1e-5 ½ ² ٣ Ⅳ 1st 2nd",
    "snake_case camelCase kebab-case dots.in.a.row email@example.org https://example.org/a?b=c#d",
    "<|endoftext|> <|startoftext|> <|im_start|>user\nhi<|im_end|> [CLS] [MASK] [SEP] ##s",
    "“curly” ‘quotes’ … – — « » „ ‹ ›",
    "\u2028line\u2029para\u000bvt\u000cff\u0085nel\u1680ogham\u3000wide",
    "ﾊﾟﾋﾟ ｆｕｌｌ ＷＩＤＴＨ ㌔ ㈱ ①",
    "a" + "\u0301" * 5 + "b",
    "we walked from the old temple down to the lake, had noodles, and took the last train back home, tired "
    "and happy, " * 3,
)


def _sentence(rng: random.Random) -> str:
    parts = [
        rng.choice(WHO),
        rng.choice(NOUNS),
        rng.choice(VERBS),
        rng.choice(["in", "near", "on the way to", "not far from"]),
        rng.choice(PLACES),
    ]
    if rng.random() < 0.4:
        parts += [
            "on",
            str(rng.randint(1, 28)),
            rng.choice(["May", "June", "December"]),
            str(rng.randint(1990, 2026)) + rng.choice([".", "!", "?"]),
        ]
    if rng.random() < 0.3:
        parts.insert(rng.randrange(len(parts)), rng.choice(OTHERS))
    return " ".join(parts)


_POOL = (
    "abcdefghijklmnopqrstuvwxyz" * 3
    + "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789" * 2
    + "      \t\n\u00a0\u3000'’\"-–—.,;:!?()[]{}<>|/\\@#$%^&*+=~`_€£¥°§½²"
    + "éèêëàâäôöûüçñßøåæœłđıİſžšıΐΰαβγδεζΩαбвгдежЁёйІїґ"
    + "海写真犬猫東京ひらカナ사진한글ภาพا\u0628صةאבגहिन्दी"
    + "\u0301\u0308\u030a\u0327\u0323\u20dd\u0000\u0007\u00ad\u200b\u200d\ufeff\ufffd\ue000🐶👍🏽❤️🇯🇵𝑨𝟘ﬁǄⅣ①ﾊﾟＷ"
)


def strings(count: int, seed: int) -> list[str]:
    """Random strings of all kinds of letters and sentences; no lone surrogates, which UTF-8 cannot encode."""
    rng = random.Random(seed)
    out = []
    for _ in range(count):
        pieces = [
            _sentence(rng) if rng.random() < 0.3 else "".join(rng.choices(_POOL, k=rng.randint(1, 25)))
            for _ in range(rng.randint(1, 4))
        ]
        out.append(rng.choice(["", " ", "  "]).join(pieces))
    return out
