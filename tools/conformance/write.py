"""`python -m tools.conformance.write --bundle B --album A -o DIR`: writes the fixtures that need an exported
bundle, with the Python reference.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from tools.conformance.model_suites import everything


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bundle", type=Path, required=True)
    parser.add_argument("--album", type=Path, required=True)
    parser.add_argument("-o", "--output", type=Path, required=True)
    arguments = parser.parse_args()
    stage = arguments.output.resolve() / "glossed"
    for suite in everything(arguments.bundle.resolve(), arguments.album.resolve(), stage):
        path = suite.write(arguments.output)
        print(f"{path}: {len(suite.cases)} cases")


if __name__ == "__main__":
    main()
