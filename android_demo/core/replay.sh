#!/usr/bin/env bash
# Replays conformance fixtures: replay.sh DIR... prints SUITE, CASE, pass|fail|skip and a message for each
# case. The exit status is 1 if any failed or was skipped.
set -euo pipefail
HERE="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
OUT="$("$HERE/build.sh")"
exec "$HERE/../java.sh" -cp "$OUT" -Dgamer.rules="$HERE/../../runtime/cues/cue_rules.json" gamer.replay.Replay "$@"
