#!/usr/bin/env bash
# What tools/phone_search.py measures of searches on the JVM, with a heap of 256 MB, as an Android app may have:
# bench.sh BUNDLE ALBUM ROUNDS DATE K QUERY...
set -euo pipefail
HERE="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
OUT="$("$HERE/build.sh")"
exec "$HERE/../java.sh" -cp "$OUT" -Xmx256m -Dgamer.rules="$HERE/../../runtime/cues/cue_rules.json" gamer.replay.SearchBench "$@"
