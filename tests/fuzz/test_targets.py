"""Each fuzz target on its seeds, and on 40 seeded mutations of each: it answers, or refuses in one line.

`python -m tools.fuzz.run` looks further, guided by coverage; what it finds becomes a seed.
"""

from __future__ import annotations

import random

import pytest

from tools.fuzz.targets import MAX_BYTES, SEEDS, TARGETS

MUTATIONS = 40


def mutated(data: bytes, chance: random.Random) -> bytes:
    """The data with up to four pieces deleted, doubled, overwritten, or one bit flipped."""
    out = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        start = chance.randrange(len(out) + 1)
        end = min(len(out), start + chance.choice((1, 4, 32, 512)))
        how = chance.randrange(4)
        if how == 0:
            del out[start:end]
        elif how == 1:
            out[start:start] = out[start:end] * chance.choice((1, 20))
        elif how == 2:
            out[start:end] = chance.randbytes(end - start)
        elif start < len(out):
            out[start] ^= 1 << chance.randrange(8)
    return bytes(out)


def test_every_target_has_seeds() -> None:
    assert {folder.name for folder in SEEDS.iterdir()} == set(TARGETS)


def test_no_seed_is_cut() -> None:
    assert max(seed.stat().st_size for seed in SEEDS.glob("*/*")) <= MAX_BYTES


@pytest.mark.parametrize("name", TARGETS)
def test_hostile_input_is_answered_or_refused_in_one_line(name: str) -> None:
    if needs := TARGETS[name].needs:
        pytest.importorskip(needs)
    chance = random.Random(name)
    for seed in sorted((SEEDS / name).iterdir()):
        data = seed.read_bytes()
        TARGETS[name](data)
        for _ in range(MUTATIONS):
            TARGETS[name](mutated(data, chance))
