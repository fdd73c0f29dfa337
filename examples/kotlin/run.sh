#!/usr/bin/env bash
# Compiles Rank.kt against the core, as a program of its own, and runs it: run.sh BUNDLE PHOTO SENTENCE...
set -euo pipefail
HERE="$(cd "$(dirname "$0")" && pwd)"
DEMO="$HERE/../../android_demo"
[ $# -ge 3 ] || { sed -n 2p "$0" >&2; exit 2; }
CORE="$("$DEMO/core/build.sh")"
OUT="$(dirname "$CORE")/example"
# Compiled again only if it, or the core, has changed.
NOW="$(cat "$CORE.stamp" "$HERE/Rank.kt" | sha256sum)"
(
  flock 9
  if [ "$(cat "$OUT.stamp" 2>/dev/null)" != "$NOW" ]; then
    "$DEMO/kotlinc.sh" -jvm-target 1.8 -d "$OUT" -cp "$CORE" "$HERE/Rank.kt" >&2
    echo "$NOW" > "$OUT.stamp"
  fi
) 9> "$OUT.lock"
exec "$DEMO/java.sh" -cp "$OUT:$CORE" RankKt "$@"
