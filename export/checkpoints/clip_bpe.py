"""Builds CLIP's tokenizer from OpenAI's list of byte-pair merges, for checkpoints without a tokenizer.

The list is a file of the open_clip_torch package.
"""

from __future__ import annotations

import gzip
from itertools import islice

from ..errors import ExportError
from . import catalogue

FILE = "bpe_simple_vocab_16e6.txt.gz"
BEGIN, END = "<|startoftext|>", "<|endoftext|>"
WORD_END = "</w>"
MERGES = 49152 - 256 - 2  # the lines in use; the file has more
PIECES = r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"


def tokenizer() -> str:
    """The text of tokenizer.json. Raises ExportError if open_clip_torch is not installed."""
    from tokenizers import Regex, Tokenizer, normalizers, pre_tokenizers, processors
    from tokenizers.models import BPE

    pairs = merges()
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = [
        *letters,
        *(letter + WORD_END for letter in letters),
        *("".join(pair) for pair in pairs),
        BEGIN,
        END,
    ]
    bpe = Tokenizer(
        BPE(
            {word: n for n, word in enumerate(vocabulary)},
            pairs,
            unk_token=END,
            continuing_subword_prefix="",
            end_of_word_suffix=WORD_END,
        )
    )
    bpe.add_special_tokens([BEGIN, END])
    bpe.normalizer = normalizers.Sequence(
        [normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()]
    )
    split = pre_tokenizers.Split(Regex(PIECES), behavior="removed", invert=True)
    bpe.pre_tokenizer = pre_tokenizers.Sequence(
        [split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    end_tokens = [(token, bpe.token_to_id(token)) for token in (BEGIN, END)]
    bpe.post_processor = processors.TemplateProcessing(single=f"{BEGIN} $A {END}", special_tokens=end_tokens)
    return str(bpe.to_str())


def merges() -> list[tuple[str, str]]:
    """The byte-pair merges in order of priority. Raises ExportError."""
    path = catalogue.package_dir(catalogue.MERGES) / FILE
    try:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            pairs = [line.split() for line in islice(lines, 1, MERGES + 1)]
    except (OSError, UnicodeDecodeError) as error:
        raise ExportError(
            f"{path}: not readable ({str(error)[:80]}): reinstall {catalogue.MERGES.source}"
        ) from None
    if len(pairs) != MERGES or any(len(pair) != 2 for pair in pairs):
        raise ExportError(f"{path}: not OpenAI's list of byte pairs: reinstall {catalogue.MERGES.source}")
    return [(left, right) for left, right in pairs]
