#!/usr/bin/env bash
# Runs the JUnit tests in a folder of classes: android_demo/junit.sh CLASSES CLASS_PATH [JAVA_OPTION...]. Prints how many
# passed and how many failed, in one line, and JUnit's own report if any failed.
set -euo pipefail
HERE="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)"
CLASSES="$1" CP="$2"; shift 2
STATUS=0
LOG="$("$HERE/java.sh" -cp "$CP" "$@" org.junit.platform.console.ConsoleLauncher --scan-classpath "$CLASSES" \
  --include-classname '.*Test' --disable-banner --disable-ansi-colors --details=tree 2>&1)" || STATUS=$?
count() { grep -oE "[0-9]+ tests $1" <<< "$LOG" | grep -oE '^[0-9]+' || echo 0; }
PASSED="$(count successful)" FAILED="$(count failed)"
if [ "$STATUS" -ne 0 ] || [ "$PASSED" -eq 0 ]; then
  echo "$LOG" >&2
  [ "$FAILED" -ne 0 ] || FAILED=1
fi
echo "$PASSED $FAILED"
