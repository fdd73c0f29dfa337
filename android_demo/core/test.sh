#!/usr/bin/env bash
# Runs the core's tests on the JVM, and the example in examples/kotlin over a bundle (examples/check.sh), and prints
# `N passed, N failed`. The exit status is 1 if any failed.
set -euo pipefail
HERE="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
OUT="$("$HERE/build.sh")"
read -r PASSED FAILED < <("$HERE/../junit.sh" "$OUT" "$OUT" -Dgamer.test="$HERE/test")
"$HERE/../../examples/check.sh" kotlin || FAILED=$((FAILED + 1))
echo "$PASSED passed, $FAILED failed"
[ "$FAILED" -eq 0 ]
