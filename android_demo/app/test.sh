#!/usr/bin/env bash
# Runs the app's screens and its job on a JVM, over the stand-in for the platform (platform/README.md), with a real bundle,
# photographs, and an SQLite without FTS5, and prints `N passed, N failed`. The exit status is 1 if any failed. Needs a bundle
# (GAMER_BUNDLE, else out/pocket) and a PYTHON with gamer and scikit-image. Where one is missing, a message says so and nothing
# is run; with GAMER_BUNDLE set that is a failure.
set -euo pipefail
HERE="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)"
BUNDLE="${GAMER_BUNDLE:-$HERE/../../out/pocket}"
WORK="$(mktemp -d)"; trap 'rm -rf "$WORK"' EXIT
skip() { echo "!! THE ANDROID APP'S SCREENS ARE NOT RUN: $1" >&2; [ -n "${GAMER_BUNDLE:-}" ] && exit 1; exit 0; }

[ -f "$BUNDLE/manifest.json" ] || skip "no bundle at $BUNDLE; run make export"
"${PYTHON:-python3}" "$HERE/test/photographs.py" "$WORK/photos" || skip "no scikit-image or no Pillow in ${PYTHON:-python3}"
"${PYTHON:-python3}" -m gamer pack "$BUNDLE" --targets onnx --without llm -o "$WORK/pocket.zip" >/dev/null || skip "no gamer in ${PYTHON:-python3}"
"${PYTHON:-python3}" -m gamer pack "$BUNDLE" --targets onnx -o "$WORK/whole.zip" >/dev/null
CORE="$("$HERE/../core/build.sh")"
PLAIN="$("$HERE/../plain_sqlite.sh")"
mkdir -p "$WORK/r" "$WORK/assets" "$WORK/out"
{ echo 'package gamer.app; public final class R { public static final class string {'
  sed -n 's/.*<string name="\([a-z_0-9]*\)".*/\1/p' "$HERE/src/main/res/values/strings.xml" | awk '{ printf "public static final int %s = %d;\n", $1, 2131689472 + NR }'
  echo '} }'; } > "$WORK/r/R.java"
cp "$HERE/../../runtime/cues/cue_rules.json" "$HERE/../../runtime/serve/static/land.json" "$WORK/assets/"
find "$HERE/../platform/src" -name '*.java' > "$WORK/sources"
javac -nowarn -d "$WORK/out" @"$WORK/sources" "$WORK/r/R.java"
"$HERE/../kotlinc.sh" -d "$WORK/out" -cp "$WORK/out:$CORE" -jvm-target 1.8 -Xlambdas=class -Xsam-conversions=class -nowarn "$HERE/src/main/kotlin" "$HERE/src/debug/kotlin" "$HERE/test"
read -r PASSED FAILED < <(LD_LIBRARY_PATH="$PLAIN" "$HERE/../junit.sh" "$WORK/out" "$WORK/out:$CORE" -Djava.awt.headless=true -Dgamer.main="$HERE/src/main" \
  -Dgamer.assets="$WORK/assets" -Dgamer.photos="$WORK/photos" -Dgamer.packed="$WORK/pocket.zip" -Dgamer.packed.whole="$WORK/whole.zip" ${PICTURES:+-Dgamer.pictures="$PICTURES"})
echo "$PASSED passed, $FAILED failed, on a stand-in for Android"
[ "$FAILED" -eq 0 ]
