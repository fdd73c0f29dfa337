#!/usr/bin/env bash
# Runs a JVM with the jars and native libraries of android_demo/setup.sh:
# android_demo/java.sh -cp CLASSES MAIN ARGUMENT...
set -euo pipefail
HERE="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
TOOLS="${GAMER_TOOLS:-$HOME/.cache/gamer-tools}/kotlin"
CP="$("$HERE/kotlinc.sh" -classpath-only)"
if [ "${1:-}" = -cp ]; then CP="$2:$CP"; shift 2; fi
NATIVE="$TOOLS/ort"
MORE=()
# With GAMER_ORT: another ONNX Runtime library, such as the one that Python uses, because int8 kernels round
# differently between versions.
if [ -n "${GAMER_ORT:-}" ]; then
  NATIVE="$TOOLS/ort-$(echo "$GAMER_ORT" | sha256sum | cut -c1-12)"
  (
    command -v flock >/dev/null && flock 9  # several may start at once
    mkdir -p "$NATIVE"
    # The JNI library looks for ONNX Runtime's library in its own folder.
    [ "$NATIVE/libonnxruntime4j_jni.so" -nt "$TOOLS/ort/libonnxruntime4j_jni.so" ] || cp "$TOOLS/ort/libonnxruntime4j_jni.so" "$NATIVE/"
    [ -e "$NATIVE/libnnapi_shim.so" ] || ln -sf "$TOOLS/ort/libnnapi_shim.so" "$NATIVE/"
    for NAME in libonnxruntime.so libonnxruntime.so.1; do
      [ "$(readlink "$NATIVE/$NAME")" = "$GAMER_ORT" ] || ln -sfn "$GAMER_ORT" "$NATIVE/$NAME"
    done
  ) 9>"$NATIVE.lock"
  FILE="$(basename "$(readlink -f "$GAMER_ORT")")"
  MORE=(-Dgamer.ort="${FILE##*.so.}")  # the library's version: the Java API returns that of the JNI library
fi
export ORT_DISABLE_TELEMETRY=1  # the library reads it when it is loaded, before a program can set an option
exec java -Donnxruntime.native.path="$NATIVE" -Dorg.sqlite.lib.path="$TOOLS/jars" -Dorg.sqlite.lib.name=libsqlitejdbc.so \
  ${MORE[@]+"${MORE[@]}"} -cp "$CP" "$@"
