#!/usr/bin/env bash
# Builds an SQLite as Android's is built, with FTS3 and FTS4 and without FTS5, once, and prints its folder. With the folder in
# LD_LIBRARY_PATH the core's tests and replays run with it: Debian's JDBC driver takes the library from there. Requires npm and gcc.
set -euo pipefail
TOOLS="${GAMER_TOOLS:-$HOME/.cache/gamer-tools}"
# SQLite's source in one file comes with this package; 12.4.1 has SQLite 3.50.4.
PACKAGE=better-sqlite3
VERSION=12.4.1
SHA512="3yVdyZhklTiNrtg+4WqHpJpFDd+WHTg2oM7UcR80GqL05AOV0xEJzc6qNvFYoEtE+hRp1n9MpN6/+4yhlGkDXQ=="
OUT="$TOOLS/kotlin/sqlite-without-fts5-$VERSION"
if [ ! -e "$OUT/libsqlite3.so.0" ]; then
  FILE="$TOOLS/downloads/$PACKAGE-$VERSION.tgz"
  mkdir -p "$TOOLS/downloads"
  [ -e "$FILE" ] || (cd "$TOOLS/downloads" && npm pack --silent "$PACKAGE@$VERSION" >/dev/null)
  [ "$(openssl dgst -sha512 -binary "$FILE" | base64 -w0)" = "$SHA512" ] || { echo "$0: $FILE is not the file that was pinned; delete it and run again" >&2; exit 1; }
  WORK="$(mktemp -d)"; trap 'rm -rf "$WORK"' EXIT
  tar -xzf "$FILE" -C "$WORK" package/deps/sqlite3
  gcc -shared -fPIC -O1 -Wl,-soname,libsqlite3.so.0 -DSQLITE_THREADSAFE=1 -DSQLITE_ENABLE_FTS3 -DSQLITE_ENABLE_FTS4 -DSQLITE_ENABLE_COLUMN_METADATA \
    -o "$WORK/libsqlite3.so.0" "$WORK/package/deps/sqlite3/sqlite3.c" -lpthread -lm -ldl
  mkdir -p "$OUT" && mv "$WORK/libsqlite3.so.0" "$OUT/"
fi
echo "$OUT"
