#!/usr/bin/env bash
# Compiles the core, the programs that replay fixtures and run it, and its tests, if a source has changed. The
# classes are written outside the tree, for each checkout apart; prints their folder.
set -euo pipefail
HERE="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
OUT="${GAMER_TOOLS:-$HOME/.cache/gamer-tools}/kotlin/build/$(sha256sum <<< "$HERE" | head -c 12)/core"
mkdir -p "$OUT"
TESTS="$([ -d "$HERE/test" ] && echo "$HERE/test" || true)"
STAMP="$OUT.stamp"
# The flags of the APK, so that everything compiled here can be dexed.
FLAGS=(-jvm-target 1.8 -Xlambdas=class -Xsam-conversions=class -Xstring-concat=inline -nowarn)
NOW="$( (cd "$HERE" && find src jvm replay $([ -d test ] && echo test) build.sh -type f -print0 | sort -z | xargs -0 sha256sum) | sha256sum)"
if [ ! -f "$STAMP" ] || [ "$(cat "$STAMP")" != "$NOW" ]; then
  (
    flock 9
    if [ ! -f "$STAMP" ] || [ "$(cat "$STAMP")" != "$NOW" ]; then
      rm -rf "$OUT" && mkdir -p "$OUT"
      "$HERE/../kotlinc.sh" "${FLAGS[@]}" -d "$OUT" "$HERE/src" "$HERE/jvm" "$HERE/replay"${TESTS:+ "$TESTS"} >&2
      echo "$NOW" > "$STAMP"
    fi
  ) 9> "$OUT.lock"
fi
echo "$OUT"
