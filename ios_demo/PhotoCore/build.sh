#!/usr/bin/env bash
# Builds the package's programs. The other scripts in this folder source it and then have `swift_run` and
# `bind`.
. "$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)/swift_env.sh"
LOG="$(mktemp)"
trap 'rm -f "$LOG"' EXIT
swift_run swift build -c release "${FLAGS[@]}" >"$LOG" 2>&1 || { cat "$LOG" >&2; exit 1; }
