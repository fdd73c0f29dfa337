#!/usr/bin/env bash
# A search on the JVM: runner.sh BUNDLE ALBUM "query" --now DATE prints the top five and the trace as JSON.
# --bench N measures, --add PHOTO.json adds a photo. `runner.sh check BUNDLE` runs every component's golden inputs,
# `runner.sh finish ALBUM` builds the segments that are due.
set -euo pipefail
HERE="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
OUT="$("$HERE/build.sh")"
exec "$HERE/../java.sh" -cp "$OUT" -Dgamer.rules="$HERE/../../runtime/cues/cue_rules.json" gamer.replay.Runner "$@"
