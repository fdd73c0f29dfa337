#!/usr/bin/env bash
# Replays conformance fixtures through the Swift core: ios_demo/PhotoCore/replay.sh FOLDER...; one line a case, exit status 1 if any fails.
. "$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)/build.sh"
FOLDERS=()
SEEN=()
for ONE in "$@"; do
  ONE="$(cd "$ONE" && pwd -P)"
  FOLDERS+=("$ONE")
  # The bundle, album and tokenizers that the fixtures name, and what lies beside the folder (golden files).
  while read -r PLACE; do [ -e "$PLACE" ] && SEEN+=("$PLACE"); done \
    < <(grep -ohE '"(bundle|album|tokenizer|gazetteer)": "/[^"]+"' "$ONE"/*.json | cut -d'"' -f4 | sort -u)
  case "$ONE" in */tests/golden/*) SEEN+=("$(dirname "$ONE")") ;; *) SEEN+=("$ONE") ;; esac
done
bind "${SEEN[@]}"
swift_run env PHOTO_RULES="$RULES" "$SCRATCH/release/photo-replay" "${FOLDERS[@]}"
