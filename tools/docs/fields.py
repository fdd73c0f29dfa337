"""Writes the table of a photo's fields in index/FORMAT.md from their declarations: run it to add a field."""

from __future__ import annotations

from pathlib import Path

from gamer.index.album.declarations.field_tables import declaration
from gamer.index.fields import FIELDS

PAGE = Path(__file__).resolve().parents[2] / "index" / "FORMAT.md"
_HEAD = "| table | the field's name | `name` |\n|---|---|---|\n"


def written(page: str) -> str:
    """The page with the table and the declarations of all fields."""
    before, _, rest = page.partition(_HEAD)
    _, _, after = rest.partition("\n```\n")
    rows = (f"| `{field.table}` | `{field.name}` | {field.meaning}: {field.rule} |" for field in FIELDS)
    tables = (f"{declaration(field.table)};" for field in FIELDS)
    return "\n".join([before + _HEAD.rstrip(), *rows, "", "```sql", *tables, "```", after])


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
