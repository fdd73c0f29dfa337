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
  # The JNI library looks for ONNX Runtime's library in its own folder, which appears whole: several may start at once.
  if [ ! "$NATIVE/libonnxruntime4j_jni.so" -nt "$TOOLS/ort/libonnxruntime4j_jni.so" ] || [ ! -e "$NATIVE/libonnxruntime.so.1" ]; then
    PART="$(mktemp -d "$NATIVE.XXXXXX")"
    cp "$TOOLS/ort/libonnxruntime4j_jni.so" "$PART/"
    ln -s "$TOOLS/ort/libnnapi_shim.so" "$PART/"
    ln -s "$GAMER_ORT" "$PART/libonnxruntime.so"
    ln -s "$GAMER_ORT" "$PART/libonnxruntime.so.1"
    rm -rf "$NATIVE"
    mv -T "$PART" "$NATIVE" 2>/dev/null || rm -rf "$PART"  # another was first
  fi
  FILE="$(basename "$(readlink -f "$GAMER_ORT")")"
  MORE=(-Dgamer.ort="${FILE##*.so.}")  # the library's version: the Java API returns that of the JNI library
fi
export ORT_DISABLE_TELEMETRY=1  # the library reads it when it is loaded, before a program can set an option
exec java -Donnxruntime.native.path="$NATIVE" -Dorg.sqlite.lib.path="$TOOLS/jars" -Dorg.sqlite.lib.name=libsqlitejdbc.so \
  ${MORE[@]+"${MORE[@]}"} -cp "$CP" "$@"
