#!/usr/bin/env bash
# A JVM with the jars and the native libraries of android_demo/setup.sh: android_demo/java.sh -cp CLASSES MAIN ARGUMENT...
set -euo pipefail
HERE="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
TOOLS="${GAMER_TOOLS:-$HOME/.cache/gamer-tools}/kotlin"
CP="$("$HERE/kotlinc.sh" -classpath-only)"
if [ "${1:-}" = -cp ]; then CP="$2:$CP"; shift 2; fi
exec java -Donnxruntime.native.path="$TOOLS/ort" -Dorg.sqlite.lib.path="$TOOLS/jars" -Dorg.sqlite.lib.name=libsqlitejdbc.so -cp "$CP" "$@"
