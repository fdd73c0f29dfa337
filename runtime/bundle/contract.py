"""What a program that uses an artifact without this project has to do, as the manifest's data.

These are the entries only; export/bundle/contracts.py writes them.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class InputContract:
    """What the caller puts into one input.

    `name`: the tensor's, or its beginning and "*" for all tensors that begin so. `holds`, `layout`: the
    content and the axes, in words. `range`: the least and the greatest value, empty if there is no limit.
    `normalised_by`: "graph" if the artifact itself subtracts the mean and divides by the deviation, so that
    the caller must not; "" where nothing is normalised. `prepare`: the caller's steps, in words. `file`: the
    bundle's file that the steps need, such as a tokenizer. `max_length`, `pad_to`: tokens of the longest
    text, and of the padded text (0: no padding).
    """

    name: str
    holds: str
    layout: str
    prepare: str
    range: tuple[float, ...] = ()
    normalised_by: str = ""
    file: str = ""
    max_length: int = 0
    pad_to: int = 0


@dataclass(frozen=True)
class OutputContract:
    """What one output holds. `name`: as in InputContract. `unit_length`: its last axis is L2-normalised."""

    name: str
    holds: str
    unit_length: bool = False


@dataclass(frozen=True)
class Golden:
    """Files with which a caller checks his own code.

    `inputs`: input → file (.npy) of its values. `steps`: how to feed them. `output`: what is compared with
    the rows of the file `want` (fp32 torch's). `cosine`: the least cosine of a row that is right. `texts`: a
    JSON file with texts and their token ids, for tokenizers; "" without one.
    """

    inputs: dict[str, str]
    steps: str
    output: str
    want: str
    cosine: float
    texts: str = ""


@dataclass(frozen=True)
class Contract:
    """The contract of one artifact. `golden`: None if the bundle has no fixtures for it."""

    inputs: tuple[InputContract, ...]
    outputs: tuple[OutputContract, ...]
    golden: Golden | None = None
