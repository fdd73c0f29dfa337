#!/usr/bin/env bash
# Builds a signed APK for arm64-v8a: [VARIANT=debug] android_demo/build_apk.sh [OUT.apk]. The debug build has another package and a
# screen that measures over a cable (app/src/debug), for `gamer bench device --device connected`. It uses Debian's tools, neither the
# Android SDK nor Gradle. aapt, zipalign, apksigner and ProGuard are from bookworm; the platform (API 23) and
# the dexer are from its predecessor, bullseye. The packages are unpacked, not installed. If they cannot be
# downloaded, a message says so and nothing is built (exit status 0; 3 with APK=required).
set -euo pipefail
HERE="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)"
TOOLS="${GAMER_TOOLS:-$HOME/.cache/gamer-tools}"
HOME_DIR="$TOOLS/android"
ROOT="$HOME_DIR/root"
VARIANT="${VARIANT:-release}"
[[ "$VARIANT" =~ ^(release|debug)$ ]] || { echo "VARIANT=$VARIANT: no such build; release or debug" >&2; exit 2; }
OUT="${1:-$TOOLS/gamer$([ "$VARIANT" = release ] || echo "-$VARIANT").apk}"
# By default the mirror that the system's apt uses.
MIRROR="${DEBIAN_MIRROR:-$(apt-get indextargets --format '$(REPO_URI)' 2>/dev/null | sed -n 's#/debian/*$#/debian#p' | sort -u | head -n 1 || true)}"
KEYS=/usr/share/keyrings/debian-archive-keyring.gpg
property() { sed -n "s/^$1=//p" "$HERE/sdk.properties"; }
MIN_SDK="$(property minSdk)"
TARGET_SDK="${TARGET_SDK:-$(property targetSdk)}"
NEW=(aapt android-libaapt android-libandroidfw android-libbase android-libcutils android-liblog android-libutils android-libziparchive
  android-libbacktrace libprotobuf-lite32 libzopfli1 p7zip-full zipalign apksigner libapksig-java proguard-cli libproguard-java android-framework-res)
OLD=(libandroid-23-java dalvik-exchange)
skip() { echo "!! NO APK IS BUILT: $*" >&2; [ "${APK:-}" != required ] || exit 3; exit 0; }

"$HERE/setup.sh" >&2
if [ ! -e "$HOME_DIR/ready-1" ]; then
  command -v apt-get >/dev/null && [ -e "$KEYS" ] && [ -n "$MIRROR" ] || skip "no apt, no Debian keyring, or no mirror named by apt (DEBIAN_MIRROR), here"
  rm -rf "$HOME_DIR"; mkdir -p "$ROOT"
  # Each suite gets an apt configuration and package lists separate from the system's.
  fetch() {
    local suite="$1" apt="$HOME_DIR/apt-$1"; shift
    mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$apt/debs"; : >"$apt/status"
    echo "deb [signed-by=$KEYS] $MIRROR $suite main" >"$apt/sources.list"
    local options=(-o "Dir::State=$apt" -o "Dir::State::lists=$apt/lists" -o "Dir::Cache=$apt/cache" -o "Dir::State::status=$apt/status"
      -o "Dir::Etc::SourceList=$apt/sources.list" -o Dir::Etc::SourceParts=/dev/null -o APT::Sandbox::User=)
    apt-get "${options[@]}" update -qq && (cd "$apt/debs" && apt-get "${options[@]}" download -qq "$@") || return 1
    for DEB in "$apt"/debs/*.deb; do dpkg -x "$DEB" "$ROOT"; done
    rm -rf "$apt"
  }
  fetch bookworm "${NEW[@]}" || skip "bookworm's Android tools cannot be fetched"
  fetch bullseye "${OLD[@]}" || skip "bullseye, which has the platform jar and the dexer, cannot be fetched any more"
  touch "$HOME_DIR/ready-1"
fi

export LD_LIBRARY_PATH="$ROOT/usr/lib:$ROOT/usr/lib/x86_64-linux-gnu/android:$ROOT/usr/lib/x86_64-linux-gnu:$ROOT/usr/lib/p7zip"
BIN="$ROOT/usr/lib/android-sdk/build-tools/debian"
JAVA="$ROOT/usr/share/java"
PLATFORM="$JAVA/com.android.android-23.jar"
FRAMEWORK="$ROOT/usr/share/android-framework-res/framework-res.apk"
STDLIB="$TOOLS/kotlin/compiler/lib/kotlin-stdlib.jar"
ORT="$TOOLS/kotlin/ort"
WORK="$(mktemp -d)"; trap 'rm -rf "$WORK"' EXIT
mkdir -p "$WORK/apk/lib/arm64-v8a"
MANIFEST="$WORK/AndroidManifest.xml"; SOURCES=("$HERE/app/src/main/kotlin"); PACKAGE=()
cp "$HERE/app/src/main/AndroidManifest.xml" "$MANIFEST"
if [ "$VARIANT" = debug ]; then
  # The package is renamed last, so that the names of the classes stay.
  python3 "$HERE/debug_manifest.py" "$HERE/app/src/debug/AndroidManifest.xml" "$MANIFEST"
  SOURCES+=("$HERE/app/src/debug/kotlin"); PACKAGE=(--rename-manifest-package gamer.app.debug --debug-mode)
fi

echo "== Kotlin → Java 8 classes"
FLAGS=(-jvm-target 1.8 -Xlambdas=class -Xsam-conversions=class -Xstring-concat=inline -nowarn)
# The core is compiled against Java 8's library, which API 26 has. The app is compiled against the platform's
# jar (API 23); it makes newer calls by reflection.
"$HERE/kotlinc.sh" -d "$WORK/core" -Xjdk-release=1.8 "${FLAGS[@]}" "$HERE/core/src"
mkdir -p "$WORK/gen" "$WORK/r"
SDK=(--min-sdk-version "$MIN_SDK" --target-sdk-version "$TARGET_SDK")
"$BIN/aapt" package -f -m "${SDK[@]}" -J "$WORK/gen" -M "$MANIFEST" -S "$HERE/app/src/main/res" -I "$FRAMEWORK"
javac -nowarn -Xlint:-options --release 8 -d "$WORK/r" "$WORK/gen/gamer/app/R.java"
"$HERE/kotlinc.sh" -d "$WORK/app" -cp "$WORK/core:$WORK/r:$PLATFORM" -no-jdk "${FLAGS[@]}" "${SOURCES[@]}"
mkdir -p "$WORK/assets" && cp "$HERE/../runtime/cues/cue_rules.json" "$HERE/../runtime/serve/static/land.json" "$WORK/assets/"
echo "== shrink and dex"
python3 "$HERE/lower_classes.py" "$ORT/onnxruntime.jar" "$WORK/ort.jar"
(cd "$WORK/core" && jar cf "$WORK/app.jar" . && cd "$WORK/app" && jar uf "$WORK/app.jar" . && cd "$WORK/r" && jar uf "$WORK/app.jar" .)
java -Xmx1g -jar "$JAVA/proguard.jar" -injars "$WORK/app.jar" -injars "$WORK/ort.jar" -injars "$STDLIB(!META-INF/**,!module-info.class)" \
  -libraryjars "$PLATFORM" -outjars "$WORK/shrunk.jar" -target 1.7 @"$HERE/app/proguard.pro" >"$WORK/proguard.log" || { tail -20 "$WORK/proguard.log" >&2; exit 1; }
java -Xmx1g -jar "$JAVA/com.android.dx.jar" --dex --min-sdk-version="$MIN_SDK" --output="$WORK/apk/classes.dex" "$WORK/shrunk.jar"
echo "== package, align, sign"
python3 -m zipfile -e "$ORT/onnxruntime.aar" "$WORK/aar"
cp "$WORK/aar/jni/arm64-v8a/"*.so "$WORK/apk/lib/arm64-v8a/"
"$BIN/aapt" package -f "${SDK[@]}" ${PACKAGE[@]+"${PACKAGE[@]}"} -M "$MANIFEST" -S "$HERE/app/src/main/res" -A "$WORK/assets" -I "$FRAMEWORK" -F "$WORK/unsigned.apk"
(cd "$WORK/apk" && find . -type f -printf '%P\n' | sort | xargs "$BIN/aapt" add "$WORK/unsigned.apk" >/dev/null)
"$BIN/zipalign" -f -p 4 "$WORK/unsigned.apk" "$WORK/aligned.apk"
# A debug key, created once per machine: enough for adb install, not for a store.
KEY="$HOME_DIR/debug.keystore"
[ -e "$KEY" ] || keytool -genkeypair -keystore "$KEY" -storepass android -keypass android -alias debug -keyalg RSA -validity 10000 -dname "CN=GAMER debug" >/dev/null 2>&1
java -jar "$JAVA/apksigner.jar" sign --ks "$KEY" --ks-pass pass:android --min-sdk-version "$MIN_SDK" --out "$WORK/signed.apk" "$WORK/aligned.apk"
java -jar "$JAVA/apksigner.jar" verify --verbose --min-sdk-version "$MIN_SDK" "$WORK/signed.apk" | grep -E '^Verif|v[23] scheme'
mkdir -p "$(dirname "$OUT")"
mv "$WORK/signed.apk" "$OUT"
"$BIN/aapt" dump badging "$OUT" | grep -E '^(package|sdkVersion|targetSdkVersion|native-code|launchable)'
echo "$OUT: $(stat -c %s "$OUT") bytes"
