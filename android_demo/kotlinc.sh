#!/usr/bin/env bash
# Runs the Kotlin compiler of android_demo/setup.sh: android_demo/kotlinc.sh -d OUT [-cp MORE] SOURCE...
# The jars of the tools are on the class path.
set -euo pipefail
TOOLS="${GAMER_TOOLS:-$HOME/.cache/gamer-tools}/kotlin"
[ -d "$TOOLS/compiler/lib" ] || { echo "android_demo/kotlinc.sh: no Kotlin tools in $TOOLS; run make mobile-setup-kotlin" >&2; exit 3; }
LIB="$TOOLS/compiler/lib"
MORE=()
if [ "${1:-}" = -classpath-only ]; then exec echo "$LIB/kotlin-stdlib.jar:$LIB/kotlin-test.jar:$LIB/kotlin-test-junit5.jar:$TOOLS/ort/onnxruntime.jar$(printf ':%s' "$TOOLS"/jars/*.jar)"; fi
CP="$("$0" -classpath-only)"
while [ $# -gt 0 ]; do
  if [ "$1" = -cp ]; then CP="$2:$CP"; shift 2; else MORE+=("$1"); shift; fi
done
exec java -Xmx1500m -XX:+UseSerialGC -cp "$LIB/kotlin-compiler.jar:$LIB/kotlin-stdlib.jar:$LIB/kotlin-script-runtime.jar:$LIB/kotlin-reflect.jar:$LIB/annotations-13.0.jar" \
  org.jetbrains.kotlin.cli.jvm.K2JVMCompiler -kotlin-home "$TOOLS/compiler" -no-stdlib -no-reflect -cp "$CP" "${MORE[@]}"
