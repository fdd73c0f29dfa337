"""The query adapter: a small change of the text tower, for queries alone, learned from people's titles.

A title says what its author means by a photo, a memory what the photo shows. The adapter brings the query's
vector v_Q near to the vectors of the photos meant (the contrastive loss of the GAMER paper, Eq. 3 and 4, of
which only the query's side learns): the photos' vectors stay as they are, so that no album is encoded again.
It adds x · A · B of low rank to every layer (adapters: Houlsby et al. 2019, arXiv 1902.00751; low rank: Hu et
al. 2021, arXiv 2106.09685). It is an input of the exported tower, not a part of its weights: one file serves
all targets, and a person's own adapter needs no new export (training/queries.py).
"""

from __future__ import annotations

from pathlib import Path

from gamer.index.records import FloatArray
from gamer.runtime.models import query_adapter

from ..errors import ExportError
from ..settings import Settings

LICENCE = (
    "query adapter, Apache-2.0; trained on titles of photographs (CC BY 2.0) and captions (CC BY 4.0, "
    "Nguyen et al., camroll), whose pages and authors NOTICE.txt lists"
)
FOLDER = Path(__file__).parent.parent / "checkpoints" / "adapters"


def of(settings: Settings) -> FloatArray | None:
    """float32 [layers, 2, rank, H], the adapter that the recipe's own text tower comes with.

    None for a recipe without one, and for a text tower that the user brings: it would not fit.
    """
    path = file(settings)
    return None if path is None else query_adapter.read(path).values


def file(settings: Settings) -> Path | None:
    """The file of that adapter."""
    name = settings.chosen.adapter
    if not name or not settings.chosen.text or settings.source("text") is not None:
        return None
    return FOLDER / f"{name}{query_adapter.SUFFIX}"


def shape(settings: Settings) -> tuple[int, ...]:
    """[layers, 2, rank, H] of the adapters that the recipe's text tower takes.

    Raises ExportError for a text tower that takes none.
    """
    adapter = of(settings)
    if adapter is None:
        raise ExportError(
            f"the text tower of recipe {settings.recipe} takes no query adapter: name one in its entry of "
            "export/recipe.py"
        )
    return adapter.shape


def notice(settings: Settings) -> str:
    """Whose photos and words the adapter was trained on; "" without one."""
    path = file(settings)
    return "" if path is None else path.with_suffix(".txt").read_text(encoding="utf-8")
