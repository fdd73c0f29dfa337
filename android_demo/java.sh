#!/usr/bin/env bash
# A JVM with the jars and the native libraries of android_demo/setup.sh: android_demo/java.sh -cp CLASSES MAIN ARGUMENT...
set -euo pipefail
HERE="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
TOOLS="${GAMER_TOOLS:-$HOME/.cache/gamer-tools}/kotlin"
CP="$("$HERE/kotlinc.sh" -classpath-only)"
if [ "${1:-}" = -cp ]; then CP="$2:$CP"; shift 2; fi
NATIVE="$TOOLS/ort"
MORE=()
# Another ONNX Runtime library: the reference's own, for int8 kernels round differently from version to version.
if [ -n "${GAMER_ORT:-}" ]; then
  NATIVE="$TOOLS/ort-$(echo "$GAMER_ORT" | sha256sum | cut -c1-12)"
  mkdir -p "$NATIVE"
  ln -sf "$TOOLS/ort/libnnapi_shim.so" "$NATIVE/"
  cp "$TOOLS/ort/libonnxruntime4j_jni.so" "$NATIVE/jni.part" && mv "$NATIVE/jni.part" "$NATIVE/libonnxruntime4j_jni.so"  # looks for its library beside itself
  ln -sf "$GAMER_ORT" "$NATIVE/libonnxruntime.so"
  ln -sf "$GAMER_ORT" "$NATIVE/libonnxruntime.so.1"
  FILE="$(basename "$(readlink -f "$GAMER_ORT")")"
  MORE=(-Dgamer.ort="${FILE##*.so.}")  # its version: the bridge's own function tells the bridge's
fi
export ORT_DISABLE_TELEMETRY=1  # read as the library is loaded, before any program can say so
exec java -Donnxruntime.native.path="$NATIVE" -Dorg.sqlite.lib.path="$TOOLS/jars" -Dorg.sqlite.lib.name=libsqlitejdbc.so \
  ${MORE[@]+"${MORE[@]}"} -cp "$CP" "$@"
