#!/usr/bin/env bash
# Searches an album with the Swift core: ios_demo/PhotoCore/runner.sh BUNDLE ALBUM "query" --now DATE; hits and trace as JSON, as `gamer search --json`.
# `runner.sh bench BUNDLE ALBUM --now DATE [-n RUNS]` measures; `runner.sh index BUNDLE ALBUM PHOTO.rgb WIDTH HEIGHT ID [--memory TEXT]` adds a photo.
# `runner.sh check BUNDLE` opens every component and prints the worst cosine of each one's golden inputs.
# `runner.sh searches BUNDLE ALBUM ROUNDS QUERY... --now DATE` is what tools/phone_search.py measures.
# `runner.sh finish ALBUM` builds the segments that are due, for an album whose entities have their vectors.
. "$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)/build.sh"
COMMAND=()
if [ "${1:-}" = check ] && [ $# = 2 ]; then
  BUNDLE="$(cd "$2" && pwd -P)"
  bind "$BUNDLE"
  swift_run "$SCRATCH/release/photo-runner" check "$BUNDLE"
  exit 0
fi
if [ "${1:-}" = finish ] && [ $# = 2 ]; then
  if [ "$(uname -s)" = Darwin ]; then
    "$SCRATCH/release/photo-runner" finish "$2"
  else
    WORK="$(mktemp -d "$BUILD/finish-XXXXXX")"
    trap 'rm -rf "$WORK" "$LOG"' EXIT
    cp "$2" "$WORK/album.gamer"
    swift_run "$SCRATCH/release/photo-runner" finish "/build/$(basename "$WORK")/album.gamer"
    cp "$WORK/album.gamer" "$2"
  fi
  exit 0
fi
case "${1:-}" in bench | index | searches) COMMAND=("$1"); shift ;; esac
[ $# -ge 2 ] || { sed -n 2,6p "${BASH_SOURCE[0]}" >&2; exit 2; }
BUNDLE="$(cd "$1" && pwd -P)"
ALBUM="$(cd "$(dirname "$2")" && pwd -P)/$(basename "$2")"
shift 2
PLACES=("$BUNDLE")
[ -e "$ALBUM" ] && [ "${COMMAND[*]:-}" != index ] && PLACES+=("$ALBUM")
if [ "${COMMAND[*]:-}" = index ] && [ "$(uname -s)" != Darwin ]; then
  # Files bound from outside are read-only, and the writer needs a writable folder: it works on a copy of the
  # album in the build folder, which is then copied back.
  WORK="$(mktemp -d "$BUILD/index-XXXXXX")"
  trap 'rm -rf "$WORK" "$LOG"' EXIT
  [ -e "$ALBUM" ] && cp "$ALBUM" "$WORK/album.gamer"
  cp "$1" "$WORK/photo.rgb"
  shift
  bind "${PLACES[@]}"
  INSIDE="/build/$(basename "$WORK")"
  swift_run env PHOTO_RULES="$RULES" "$SCRATCH/release/photo-runner" index "$BUNDLE" "$INSIDE/album.gamer" "$INSIDE/photo.rgb" "$@"
  cp "$WORK/album.gamer" "$ALBUM"
  exit 0
fi
bind "${PLACES[@]}"
swift_run env PHOTO_RULES="$RULES" "$SCRATCH/release/photo-runner" "${COMMAND[@]}" "$BUNDLE" "$ALBUM" "$@"
