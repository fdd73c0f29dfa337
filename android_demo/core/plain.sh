#!/usr/bin/env bash
# Replays the fixtures of albums and of words with an SQLite that was built without FTS5, as Android's is. Prints
# "N passed, N failed"; the exit status is 1 if any failed.
set -euo pipefail
HERE="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
GOLDEN="$HERE/../../tests/golden/conformance"
PLAIN="$("$HERE/../plain_sqlite.sh")"
# What these say is of FTS5's own table: that it is made, or does not fit.
OF_FTS5='^album	(create|verify-clean-4|verify-memories|verify-optional-tables|verify-words|verify-own-words)	'
LINES="$(LD_LIBRARY_PATH="$PLAIN" "$HERE/replay.sh" "$GOLDEN/album.json" "$GOLDEN/lexical.json" || true)"
FOUND="$(grep -vP "$OF_FTS5" <<< "$LINES" || true)"
PASSED="$(grep -cP '\tpass(\t|$)' <<< "$FOUND" || true)"
FAILED="$(grep -cvP '\tpass(\t|$)' <<< "$FOUND" || true)"
grep -vP '\tpass(\t|$)' <<< "$FOUND" >&2 || true
# With FTS5 these would pass: then the library is not the one that was meant.
[ "$(grep -cP "$OF_FTS5" <<< "$LINES")" = 6 ] && ! grep -P "$OF_FTS5" <<< "$LINES" | grep -qP '\tpass(\t|$)' || { echo "$0: this SQLite has FTS5" >&2; FAILED=$((FAILED + 1)); }
echo "$PASSED passed, $FAILED failed, without FTS5"
[ "$FAILED" = 0 ] && [ "$PASSED" -gt 300 ]
