#!/usr/bin/env bash
# Runs the package's tests, and the example in examples/swift over a bundle (examples/check.sh), and prints
# "N passed, N failed". The exit status is 1 if any failed.
. "$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)/swift_env.sh"
LOG="$(mktemp)"
trap 'rm -f "$LOG"' EXIT
STATUS=0
swift_run swift test "${FLAGS[@]}" >"$LOG" 2>&1 || STATUS=$?
PASSED="$(grep -c "^Test Case .* passed" "$LOG" || true)"
FAILED="$(grep -c "^Test Case .* failed" "$LOG" || true)"
if [ "$STATUS" != 0 ] || [ "$PASSED" = 0 ]; then
  grep -E "error|Error|crash|fatal" "$LOG" | grep -v "^Test Case" | head -40 >&2
  [ "$FAILED" != 0 ] || FAILED=1
fi
"$HERE/../../examples/check.sh" swift || FAILED=$((FAILED + 1))
echo "$PASSED passed, $FAILED failed"
[ "$FAILED" = 0 ]
