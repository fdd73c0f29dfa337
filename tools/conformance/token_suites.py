"""Suites of the kinds of tokenizer.

The tokenizers are small ones trained on synthetic text, configured like those of the bundles.
"""

from __future__ import annotations

import base64
import io
import json
import tempfile
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.runtime.cues import test_languages
from tools.conformance.fixture import Case, Suite
from tools.conformance.words import HARD, sentences, strings

KINDS = ("wordpiece", "bpe_bytelevel", "bpe_clip", "unigram", "unigram_bytes")
_SEED = 7
# Texts in many scripts, and characters that normalisation changes.
_SCRIPTS = (
    *(row[0] for row in test_languages.FOREIGN[::3]),
    "café cafe\u0301 e\u0301e\u0302 \u1e69 s\u0323\u0307",
    "ﬁne ﬂat ﬃ Ⅳ ① ㍿ ㎏ ½ ²³ ℃ Å ẛ",
    "ＦＵＬＬ　ｗｉｄｔｈ　１２３ ｶﾀｶﾅ ｶﾞﾊﾟ",
    "a\u200bb\u200ec\ufeffd\u00ade\u2028f\u0085g\u0007h",
    "  two  spaces   three\t\ttabs\r\nlines  ",
    "▁ already ▁▁ marked",
    "한국어 문장과 ᄒ\u1161ᆫ 조합형",
    "ภาษาไทย กำลัง ภาพถ่าย",
    "हिन्दी क्षमा தமிழ் العربية עברית",
    "👨‍👩‍👧 🇩🇪🇫🇷 👍🏽 ☀️ ❤️‍🔥",
    "𝑨𝑩 𝔸 🄰 ａ̈ o\u0308\u0304",
    "\u0301alone \u0301\u0301 x\u0335\u0336",
    "unknownunknown 龘龘龘 龘a龘 ꙮ",
    "a" * 300,
)


def train(kind: str, path: Path) -> None:
    """Trains a tokenizer of one kind and writes its tokenizer.json.

    Training differs from run to run, so the committed file is the fixture and is written only once.
    """
    from tokenizers import Tokenizer

    maker = {
        "wordpiece": _wordpiece,
        "bpe_bytelevel": _bytelevel,
        "bpe_clip": _clip,
        "unigram": _unigram,
        "unigram_bytes": _unigram_bytes,
    }[kind]
    raw = maker(sentences(1500, _SEED))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(Tokenizer.from_str(json.dumps(raw)).to_str(pretty=False) + "\n", encoding="utf-8")


def suite(kind: str, tokenizer: Path, relative: str, texts: Sequence[str]) -> Suite:
    """Token ids of `texts` by the tokenizer in the file; for the byte-level one also the decoded text."""
    from tokenizers import Tokenizer

    opened: Any = Tokenizer.from_file(str(tokenizer))
    opened.no_padding()
    cases = []
    for n, text in enumerate(texts):
        ids = list(opened.encode(text).ids)
        out: dict[str, Any] = {"ids": ids}
        if kind == "bpe_bytelevel":
            out["text"] = opened.decode(ids)
        cases.append(Case(f"{n:04d}", {"text": text}, out))
    return Suite(kind, tuple(cases), {"tokenizer": relative})


def committed(folder: Path) -> list[Suite]:
    out = []
    for kind in KINDS:
        path = folder / "tokenizers" / f"{kind}.json"
        if not path.exists():
            train(kind, path)
        texts = [*HARD, *sentences(8, 99), *strings(40, 5)]
        if kind.startswith("unigram"):
            texts += _SCRIPTS
        if kind == "unigram":
            texts += strings(120, 6)
        out.append(suite(kind, path, f"tokenizers/{kind}.json", texts))
    return out


def _wordpiece(texts: Sequence[str]) -> dict[str, Any]:
    from tokenizers import BertWordPieceTokenizer

    trainer = BertWordPieceTokenizer(lowercase=True)
    trainer.train_from_iterator(texts, vocab_size=700, min_frequency=1, show_progress=False)
    raw: dict[str, Any] = json.loads(trainer.to_str())
    raw["truncation"] = {"direction": "Right", "max_length": 48, "strategy": "LongestFirst", "stride": 0}
    raw["padding"] = None
    marks = [("[CLS]", raw["model"]["vocab"]["[CLS]"]), ("[SEP]", raw["model"]["vocab"]["[SEP]"])]
    raw["post_processor"] = {
        "type": "TemplateProcessing",
        "single": [_mark("[CLS]"), {"Sequence": {"id": "A", "type_id": 0}}, _mark("[SEP]")],
        "pair": [
            _mark("[CLS]"),
            {"Sequence": {"id": "A", "type_id": 0}},
            _mark("[SEP]"),
            {"Sequence": {"id": "B", "type_id": 1}},
            _mark("[SEP]"),
        ],
        "special_tokens": {name: {"id": name, "ids": [i], "tokens": [name]} for name, i in marks},
    }
    return raw


def _mark(name: str) -> dict[str, Any]:
    return {"SpecialToken": {"id": name, "type_id": 0}}


def _added(names: Sequence[str], first: int = 0) -> list[dict[str, Any]]:
    plain = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return [{"id": first + n, "content": name, **plain} for n, name in enumerate(names)]


def _bytelevel(texts: Sequence[str]) -> dict[str, Any]:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    trained: Any = Tokenizer(models.BPE())
    trained.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trained.decoder = decoders.ByteLevel()
    names = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    trainer = trainers.BpeTrainer(
        vocab_size=800,
        special_tokens=names,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    trained.train_from_iterator(texts, trainer)
    raw: dict[str, Any] = json.loads(trained.to_str())
    raw["post_processor"] = {
        "type": "TemplateProcessing",
        "single": [{"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {},
    }
    raw["added_tokens"] = _added(names)
    raw["model"].update(continuing_subword_prefix="", end_of_word_suffix="")
    return raw


def _clip(texts: Sequence[str]) -> dict[str, Any]:
    """Like openai/clip-vit-large-patch14's tokenizer.json.

    NFC, white space collapsed to one blank, lower case; words end in </w>.
    """
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

    trained: Any = Tokenizer(models.BPE(unk_token="<|endoftext|>", end_of_word_suffix="</w>"))
    trained.normalizer = normalizers.Sequence(
        [normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()]
    )
    words = Regex(r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+")
    trained.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(words, "removed", invert=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False),
        ]
    )
    trainer = trainers.BpeTrainer(
        vocab_size=1100,
        end_of_word_suffix="</w>",
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    trained.train_from_iterator(texts, trainer)
    raw: dict[str, Any] = json.loads(trained.to_str())
    vocab: dict[str, int] = raw["model"]["vocab"]
    # CLIP's vocabulary has each byte in two forms: within a word, and at its end.
    for byte in pre_tokenizers.ByteLevel.alphabet():
        vocab.setdefault(byte, len(vocab))
        vocab.setdefault(byte + "</w>", len(vocab))
    start, end = len(vocab), len(vocab) + 1
    vocab |= {"<|startoftext|>": start, "<|endoftext|>": end}
    raw["added_tokens"] = [
        {**token, "normalized": token["content"] == "<|startoftext|>"}
        for token in _added(["<|startoftext|>", "<|endoftext|>"], start)
    ]
    raw["post_processor"] = {
        "type": "RobertaProcessing",
        "sep": ["<|endoftext|>", end],
        "cls": ["<|startoftext|>", start],
        "trim_offsets": False,
        "add_prefix_space": False,
    }
    raw["decoder"] = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
    raw["truncation"] = {"direction": "Right", "max_length": 40, "strategy": "LongestFirst", "stride": 0}
    return raw


def _unigram(texts: Sequence[str]) -> dict[str, Any]:
    """Like multilingual-E5's tokenizer.json, which is XLM-RoBERTa's, with a smaller map of characters."""
    made = _sentencepiece([*texts, *(row[0] for row in test_languages.FOREIGN)], bytes_too=False)
    ids = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3}
    pieces = [[name, 0.0] for name in ids] + made["vocab"]
    metaspace = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
    return {
        "version": "1.0",
        "truncation": {"direction": "Right", "max_length": 64, "strategy": "LongestFirst", "stride": 0},
        "padding": None,
        "added_tokens": _added(list(ids)),
        "normalizer": {"type": "Precompiled", "precompiled_charsmap": made["charsmap"]},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, metaspace]},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [_mark("<s>"), {"Sequence": {"id": "A", "type_id": 0}}, _mark("</s>")],
            "pair": [_mark("<s>"), {"Sequence": {"id": "A", "type_id": 0}}, _mark("</s>")],
            "special_tokens": {n: {"id": n, "ids": [ids[n]], "tokens": [n]} for n in ("<s>", "</s>")},
        },
        "decoder": metaspace,
        "model": {"type": "Unigram", "unk_id": 3, "vocab": pieces, "byte_fallback": False},
    }


def _unigram_bytes(texts: Sequence[str]) -> dict[str, Any]:
    """A unigram model that spells unknown characters in bytes, normalised as `tokenizers` trains it."""
    made = _sentencepiece(texts, bytes_too=True)
    spaces = {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}
    metaspace = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": _added(["<unk>"]),
        "normalizer": {"type": "Sequence", "normalizers": [{"type": "Nmt"}, {"type": "NFKC"}, spaces]},
        "pre_tokenizer": metaspace,
        "post_processor": None,
        "decoder": metaspace,
        "model": {
            "type": "Unigram",
            "unk_id": 0,
            "vocab": [["<unk>", 0.0], *made["vocab"]],
            "byte_fallback": True,
        },
    }


def _sentencepiece(texts: Sequence[str], *, bytes_too: bool) -> dict[str, Any]:
    """The pieces with scores, and the map of characters (base64), of a model that SentencePiece trains."""
    import sentencepiece
    from sentencepiece import sentencepiece_model_pb2

    with tempfile.TemporaryDirectory() as folder:
        rules = Path(folder, "rules.tsv")
        rules.write_text("".join(_rule(source) for source in _mapped()), encoding="utf-8")
        written = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(texts),
            model_writer=written,
            vocab_size=800 if bytes_too else 900,
            model_type="unigram",
            hard_vocab_limit=False,
            character_coverage=0.995,
            byte_fallback=bytes_too,
            normalization_rule_tsv=str(rules),
            num_threads=1,
            minloglevel=2,
        )
    proto: Any = sentencepiece_model_pb2
    model = proto.ModelProto.FromString(written.getvalue())
    marks = {"<unk>", "<s>", "</s>"}
    return {
        "vocab": [[p.piece, p.score] for p in model.pieces if p.piece not in marks],
        "charsmap": base64.b64encode(model.normalizer_spec.precompiled_charsmap).decode(),
    }


def _mapped() -> list[str]:
    """Characters and pairs of characters that NFKC, or the removal of controls, changes."""
    ranges = (
        (1, 0x20),
        (0x7F, 0x180),
        (0x1E00, 0x1F00),
        (0x2000, 0x2200),
        (0x2460, 0x2480),
        (0x3000, 0x3001),
    )
    more = ((0x3300, 0x33FF), (0xFB00, 0xFB07), (0xFF01, 0xFFA0), (0xFEFF, 0xFF00), (0x1D400, 0x1D434))
    single = [chr(n) for low, high in (*ranges, *more) for n in range(low, high)]
    pairs = [
        letter + mark for letter in "aceinosuyzAEOU" for mark in "\u0300\u0301\u0302\u0303\u0308\u0323\u0327"
    ]
    return [c for c in (*single, *pairs) if _normal(c) != c]


def _normal(text: str) -> str:
    if text in "\t\n\r\u2028\u2029\u200b\ufeff":
        return " "
    return "" if unicodedata.category(text[0]) in ("Cc", "Cf") else unicodedata.normalize("NFKC", text)


def _rule(source: str) -> str:
    codes = [" ".join(f"{ord(c):X}" for c in text) for text in (source, _normal(source))]
    return "\t".join(codes) + "\n"
