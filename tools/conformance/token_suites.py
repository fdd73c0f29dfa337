"""Suites of the three kinds of tokenizer.

The tokenizers are small ones trained on synthetic text, configured like those of the bundles.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tools.conformance.fixture import Case, Suite
from tools.conformance.words import HARD, sentences, strings

KINDS = ("wordpiece", "bpe_bytelevel", "bpe_clip")
_SEED = 7


def train(kind: str, path: Path) -> None:
    """Trains a tokenizer of one kind and writes its tokenizer.json.

    Training differs from run to run, so the committed file is the fixture and is written only once.
    """
    from tokenizers import Tokenizer

    maker = {"wordpiece": _wordpiece, "bpe_bytelevel": _bytelevel, "bpe_clip": _clip}[kind]
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
        out.append(suite(kind, path, f"tokenizers/{kind}.json", (*HARD, *sentences(8, 99), *strings(40, 5))))
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
