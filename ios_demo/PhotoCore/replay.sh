#!/usr/bin/env bash
# Replays conformance fixtures with the Swift core: ios_demo/PhotoCore/replay.sh FOLDER... prints one line per
# case; the exit status is 1 if any failed or was skipped.
. "$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)/build.sh"
FOLDERS=()
SEEN=()
for ONE in "$@"; do
  ONE="$(cd "$ONE" && pwd -P)"
  FOLDERS+=("$ONE")
  # Makes readable: the bundle, album and tokenizers that the fixtures name, and the golden files beside the
  # folder.
  while read -r PLACE; do [ -e "$PLACE" ] && SEEN+=("$PLACE"); done \
    < <(grep -ohE '"(bundle|album|tokenizer|gazetteer)": "/[^"]+"' "$ONE"/*.json | cut -d'"' -f4 | sort -u)
  case "$ONE" in */tests/golden/*) SEEN+=("$(dirname "$ONE")") ;; *) SEEN+=("$ONE") ;; esac
done
bind "${SEEN[@]}"
swift_run env PHOTO_RULES="$RULES" "$SCRATCH/release/photo-replay" "${FOLDERS[@]}"
