"""`python -m tools.size [COMMIT...]`: what there is to read, at some commits: a table in Markdown.

A statement is an `ast.stmt`: it counts the same however it is laid out. Links (src/gamer) count once.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass

HEADS = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Part:
    """Some files: `lines` those that are not blank, `documented` the share of what may have a docstring."""

    files: int
    lines: int
    statements: int
    mean_line: float
    longest_line: int
    documented: float
    annotated: float


def part(sources: Iterable[str]) -> Part:
    files = statements = heads = documented = functions = annotated = 0
    lengths = list[int]()
    for source in sources:
        files += 1
        lengths += [len(line) for line in source.splitlines() if line.strip()]
        for node in ast.walk(ast.parse(source)):
            statements += isinstance(node, ast.stmt)
            if isinstance(node, HEADS):
                heads += 1
                documented += ast.get_docstring(node) is not None
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                functions += 1
                annotated += node.returns is not None
    return Part(
        files,
        len(lengths),
        statements,
        sum(lengths) / max(1, len(lengths)),
        max(lengths, default=0),
        documented / max(1, heads),
        annotated / max(1, functions),
    )


def parts(commit: str) -> tuple[Part, Part]:
    """Of the code, and of its tests."""

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], capture_output=True, text=True, check=True).stdout

    entries = [line.split(maxsplit=3) for line in git("ls-tree", "-r", commit).splitlines()]
    names = [name for mode, _, _, name in entries if name.endswith(".py") and mode != "120000"]

    def read(name: str) -> str:
        return git("show", f"{commit}:{name}")

    tests = [name for name in names if name.startswith("tests/")]
    return part(map(read, sorted(set(names) - set(tests)))), part(map(read, tests))


def main() -> None:
    commits = sys.argv[1:] or ["HEAD"]
    columns = [one for commit in commits for one in parts(commit)]
    titles = [f"{commit}{which}" for commit in commits for which in ("", ", tests")]
    print("| | " + " | ".join(titles) + " |\n|---|" + "---|" * len(titles))
    for name in Part.__dataclass_fields__:
        cells = [getattr(one, name) for one in columns]
        said = [f"{cell:,}" if isinstance(cell, int) else f"{cell:.2f}" for cell in cells]
        print(f"| {name.replace('_', ' ')} | " + " | ".join(said) + " |")


if __name__ == "__main__":
    main()
