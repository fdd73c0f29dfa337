#!/usr/bin/env bash
# Replays conformance fixtures through the Swift core: ios_demo/PhotoCore/replay.sh FOLDER...; one line a case, exit status 1 if any fails.
. "$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)/build.sh"
FOLDERS=()
for ONE in "$@"; do FOLDERS+=("$(cd "$ONE" && pwd -P)"); done
bind "${FOLDERS[@]}"
swift_run "$SCRATCH/release/photo-replay" "${FOLDERS[@]}"
