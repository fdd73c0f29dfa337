"""`python -m tools.conformance.write --bundle B --album A -o DIR`: the fixtures that need an exported bundle,
from the Python reference.
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
    asked = parser.parse_args()
    for suite in everything(asked.bundle.resolve(), asked.album.resolve()):
        path = suite.write(asked.output)
        print(f"{path}: {len(suite.cases)} cases")


if __name__ == "__main__":
    main()
