#!/usr/bin/env bash
# Measures searches on the JVM as the app makes them, over an album of 20,000 made photos: bench.sh BUNDLE FOLDER
# [OUT.json] prints the first search's time and the later ones' as JSON. FOLDER keeps the album. The program runs
# twice, and the second run counts: the first one also does the models' self-checks, which the app keeps.
set -euo pipefail
HERE="$(cd "$(dirname "$0")" && pwd)"
[ $# -ge 2 ] || { sed -n 2,4p "$0" >&2; exit 2; }
BUNDLE="$(cd "$1" && pwd)"
mkdir -p "$2"
ALBUM="$(cd "$2" && pwd)/made-20000.gamer"
OUT="$("$HERE/build.sh")"
(cd "$HERE/../.." && "${PYTHON:-python3}" -m tools.made_album "$BUNDLE" 20000 "$ALBUM")
for _ in 1 2; do
  FOUND="$("$HERE/../java.sh" -cp "$OUT" -Dgamer.rules="$HERE/../../runtime/cues/cue_rules.json" gamer.replay.SearchBench "$BUNDLE" "$ALBUM" 10)"
done
PROCESSOR="$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)"
COMMIT="$(git -C "$HERE" rev-parse --short HEAD)"
"${PYTHON:-python3}" -c 'import json, sys
found = json.loads(sys.argv[1]) | {"processor": sys.argv[2], "processors": int(sys.argv[3]), "commit": sys.argv[4]}
print(json.dumps(found, indent=1))' "$FOUND" "$PROCESSOR" "$(nproc)" "$COMMIT" | tee "${3:-/dev/null}"
