"""Closed formulas for the multiply-adds of the recipes' networks, as papers count them.

They are a second, independent count: tests compare the count of the exported graph with them, and the paper's
figure is compared with theirs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..published import PAPER


@dataclass(frozen=True)
class Encoder:
    """A transformer that processes all its tokens at once: ViT, CLIP's text tower, BERT, a DPE expert."""

    width: int
    layers: int
    hidden: int  # inner width of the two-matrix MLP

    def macs(self, tokens: int, attended: int | None = None) -> int:
        """Layers × (q, k, v, out: 4·n·d²; scores and their weighted sum: 2·pairs·d; MLP: 2·n·d·m).

        `attended`: the query-key pairs, if fewer than n².
        """
        pairs = tokens * tokens if attended is None else attended
        return self.layers * (
            4 * tokens * self.width**2 + 2 * pairs * self.width + 2 * tokens * self.width * self.hidden
        )


@dataclass(frozen=True)
class Vit:
    """A vision transformer of square images and patches, with a class token.

    `projection`: the output width, 0 if there is no projection.
    """

    body: Encoder
    image: int
    patch: int
    projection: int

    @property
    def tokens(self) -> int:
        return (self.image // self.patch) ** 2 + 1

    def macs(self) -> int:
        """Patch embedding (patches × 3·p²·d), the body, the projection of the class token."""
        return (
            (self.tokens - 1) * 3 * self.patch**2 * self.body.width
            + self.body.macs(self.tokens)
            + self.body.width * self.projection
        )


@dataclass(frozen=True)
class Llm:
    """A decoder with grouped-query attention, rotary positions and a gated MLP (Llama, Qwen2, Gemma)."""

    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int
    vocab: int

    def token(self, context: int, head: bool = True) -> int:
        """Multiply-adds of one token that attends to `context` positions, itself included."""
        return self.layers * (self.linear() + 2 * context * self.heads * self.head_dim) + (
            self.hidden * self.vocab if head else 0
        )

    def linear(self) -> int:
        """Multiply-adds of one layer's matrices for one token: q, k, v, out, gate, up, down."""
        width = self.head_dim
        return (
            self.hidden * width * (self.heads + 2 * self.kv_heads)
            + self.heads * width * self.hidden
            + 3 * self.hidden * self.intermediate
        )

    def prompt(self, tokens: int, past: int = 0, head: bool = True) -> int:
        """Multiply-adds of a causal prompt: each token attends to itself and to those before it.

        `head`: with the output head, which is computed for the last token only.
        """
        pairs = tokens * past + tokens * (tokens + 1) // 2
        return self.layers * (tokens * self.linear() + 2 * pairs * self.heads * self.head_dim) + (
            self.hidden * self.vocab if head else 0
        )


@dataclass(frozen=True)
class Expert:
    """A DPE expert: patch features in, transformer blocks, soft prompts out."""

    features: int
    body: Encoder
    hidden: int

    def macs(self, patches: int) -> int:
        return (
            patches * self.features * self.body.width
            + self.body.macs(patches)
            + patches * self.body.width * self.hidden
        )


CLIP_L_IMAGE = Vit(Encoder(1024, 24, 4096), 224, 14, 768)
CLIP_L_TEXT = Encoder(768, 12, 3072)
CLIP_L_WORDS = 77  # the text tower's fixed length
QWEN2_1B5 = Llm(hidden=1536, layers=28, heads=12, kv_heads=2, head_dim=128, intermediate=8960, vocab=151_936)
# The paper gives the number of an expert's blocks (8) but no width. 1024, the width of CLIP-ViT-L/14, is the
# natural reading and our assumption.
PAPER_EXPERT = Expert(1024, Encoder(1024, 8, 4096), 1536)
PAPER_PATCHES = 256  # of CLIP-ViT-L/14 at 224 pixels
EXPERT_88M = Expert(1024, Encoder(960, 8, 3840), 1536)  # of the recipe gamer-qwen2-1.5b-88m


@dataclass(frozen=True)
class Candidate:
    """One way to count the paper's system, in 10⁹.

    `off`: relative distance between the paper's figure and the nearer of `giga_macs` and `giga_flops`.
    """

    what: str
    giga_macs: float
    giga_flops: float
    off: float


def candidates(query_tokens: int = 12) -> tuple[Candidate, ...]:
    """What the paper's figure for GAMER with Qwen2-1.5B (Table 1) may have counted, nearest first.

    `query_tokens`: the length of a query, which the paper does not give.
    """
    image, words = CLIP_L_IMAGE.macs(), CLIP_L_TEXT.macs(CLIP_L_WORDS)
    expert, llm = PAPER_EXPERT.macs(PAPER_PATCHES), QWEN2_1B5
    query = llm.prompt(query_tokens)
    ways = {
        "one token of Qwen2-1.5B": llm.token(query_tokens),
        f"a query of {query_tokens} tokens through Qwen2-1.5B": query,
        f"a query of {query_tokens} tokens through its layers, no head": llm.prompt(query_tokens, head=False),
        f"a query of {query_tokens} tokens, and its reformulation of as many, decoded": query
        + llm.prompt(query_tokens, query_tokens)
        + ((query_tokens - 1) * llm.hidden * llm.vocab),
        "CLIP-ViT-L/14 on one image of 224 pixels": image,
        "CLIP-ViT-L/14's text tower on 77 tokens": words,
        f"text tower and a query of {query_tokens} tokens": words + query,
        "one DPE expert on 256 patches (assumed width 1024)": expert,
        "2.2 DPE experts on 256 patches (assumed width 1024)": round(PAPER.experts * expert),
        "image, and 2.2 experts": image + round(PAPER.experts * expert),
        "image, 2.2 experts, and Qwen2 on 256 soft prompts and the query": image
        + round(PAPER.experts * expert)
        + llm.prompt(PAPER_PATCHES + query_tokens),
    }
    return nearest(ways, PAPER.gamer_g)


def nearest(ways: Mapping[str, int], target: float) -> tuple[Candidate, ...]:
    """The counts `ways`, description → multiply-adds, by their distance to `target` (10⁹)."""
    found = [_candidate(description, macs / 1e9, target) for description, macs in ways.items()]
    return tuple(sorted(found, key=lambda c: c.off))


def _candidate(description: str, giga: float, target: float) -> Candidate:
    off = min(abs(giga - target), abs(2 * giga - target)) / target
    return Candidate(description, round(giga, 2), round(2 * giga, 2), round(off, 3))


@dataclass(frozen=True)
class Fit:
    """The query length at which Qwen2-1.5B alone comes nearest to the paper's figure, in one convention.

    The output head is counted for the last token.
    """

    counted: str
    tokens: int
    giga: float


def fits(target: float = PAPER.gamer_g) -> tuple[Fit, ...]:
    """The fit to `target`, in 10⁹, in each convention.

    One more token adds 1.3 G (multiply-adds) or 2.6 G (FLOPs): some length always comes near, so a fit proves
    nothing.
    """
    out = []
    for counted, factor in (("multiply-adds", 1), ("FLOPs", 2)):
        size = {n: factor * QWEN2_1B5.prompt(n) / 1e9 for n in range(1, 65)}
        best = min(size, key=lambda n, size=size: abs(size[n] - target))  # type: ignore[misc]
        out.append(Fit(counted, best, round(size[best], 2)))
    return tuple(out)
