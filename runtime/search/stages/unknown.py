"""What a photo's memory would be expected to add to its score, for photos of which nobody has said anything.

Counted as nothing, a missing memory would rank its photo below each that has one. So it counts as what the
memories of the album's described photos add for this query: their mean, and a share of their spread, because
among many photos some would fit well; more where the picture fits better than the album's pictures do. Only
the summands of the score are known here, not what they were made of.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gamer.index import FloatArray

# Summands that a memory gives; labels and place names give some of them, too.
TOLD = ("text", "words", "coverage", "context_words", "context_coverage", "entity", "related")


@dataclass(frozen=True)
class Weights:
    """`spread`: of the standard deviation of the described photos' evidence. `picture`: for each nat by which
    the image's summand exceeds that of the mean picture. `most`: of the meaning of the memory that fits best.
    `few`: so many photos whose memories add nothing are counted beside the described ones, because the mean
    of a few may be that of the one that is meant.

    Of values of the first two whose loss is within 0.02 of the least (bench/results/withheld.json), no others
    find more of the photos without memories. The third keeps a described photo before a copy of it that is
    not.
    """

    spread: float = 0.5
    picture: float = 2.26
    most: float = 0.9
    few: float = 8.0


DEFAULT = Weights()


@dataclass(frozen=True, eq=False)
class Evidence:
    """Summands of rows, each name → float32 [rows], and bool [rows]: `told`, whether somebody described the
    photo (it has a text vector); `seen`, whether it has an image vector.
    """

    parts: Mapping[str, FloatArray]
    told: NDArray[np.bool_]
    seen: NDArray[np.bool_]


def expected(of: Evidence, among: Evidence, weights: Weights = DEFAULT) -> FloatArray:
    """float32 [rows of `of`]: the evidence expected of each photo that is not told; 0 for the others.

    At most the mean or, if that is more, `most` of what the best memory's meaning adds: what is known to fit
    ranks before what seems to. `among`: rows that stand for the whole album.
    """
    told = np.zeros(int(among.told.sum()), np.float64)
    for name in TOLD:
        if name in among.parts:
            told += among.parts[name][among.told]
    share = told.size / (told.size + weights.few)
    mean = share * float(told.mean()) if told.size else 0.0
    usual = mean + weights.spread * share * float(told.std()) if told.size else 0.0
    out = np.full(len(of.told), usual, np.float64)
    if among.seen.any():
        pictures = among.parts["image"].astype(np.float64)
        better = of.parts["image"].astype(np.float64) - pictures[among.seen].mean()
        out += weights.picture * np.where(of.seen, better, 0.0)
    if told.size:
        best = float(among.parts["text"][among.told].max())
        out = np.minimum(out, max(mean, weights.most * best))
    return np.asarray(np.where(of.told, 0.0, out), np.float32)
