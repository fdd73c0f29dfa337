#!/usr/bin/env bash
# Runs the core's tests on the JVM, and the example in examples/kotlin over a bundle (examples/check.sh), and prints
# `N passed, N failed`. The exit status is 1 if any failed.
set -euo pipefail
HERE="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
OUT="$("$HERE/build.sh")"
STATUS=0
LOG="$("$HERE/../java.sh" -cp "$OUT" -Dgamer.test="$HERE/test" org.junit.platform.console.ConsoleLauncher --scan-classpath "$OUT" \
  --include-classname '.*Test' --disable-banner --disable-ansi-colors --details=tree 2>&1)" || STATUS=$?
[ "$STATUS" -eq 0 ] || echo "$LOG" >&2
count() { grep -oE "[0-9]+ tests $1" <<< "$LOG" | grep -oE '^[0-9]+' || echo 0; }
FAILED="$(count failed)"
"$HERE/../../examples/check.sh" kotlin || { STATUS=1; FAILED=$((FAILED + 1)); }
echo "$(count successful) passed, $FAILED failed"
[ "$STATUS" -eq 0 ] && [ "$(count successful)" -gt 0 ]
