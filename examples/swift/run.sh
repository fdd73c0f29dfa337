#!/usr/bin/env bash
# Builds Rank.swift, a target of the core's package, and runs it: run.sh BUNDLE PHOTO.rgb WIDTH HEIGHT SENTENCE...
[ $# -ge 5 ] || { sed -n 2p "$0" >&2; exit 2; }
. "$(cd "$(dirname "$0")" && pwd -P)/../../ios_demo/PhotoCore/build.sh"
BUNDLE="$(cd "$1" && pwd -P)"
PHOTO="$(cd "$(dirname "$2")" && pwd -P)/$(basename "$2")"
shift 2
bind "$BUNDLE" "$PHOTO"
swift_run "$SCRATCH/release/rank-example" "$BUNDLE" "$PHOTO" "$@"
