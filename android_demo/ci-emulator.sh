#!/usr/bin/env bash
# For a person with an emulator or a phone on adb: builds and installs the app, pushes a bundle and an album,
# searches, and keeps a screenshot and the app's log: ci-emulator.sh BUNDLE ALBUM OUT_FOLDER ["query"].
# The APK holds ARM64 code: use an ARM64 image, or one that translates. It has not been run by its authors.
set -euo pipefail
HERE="$(cd "$(dirname "$0")" && pwd)"
[ $# -ge 3 ] || { sed -n 2,4p "$0" >&2; exit 2; }
BUNDLE="$1" ALBUM="$2" OUT="$3" QUERY="${4:-coffee I photographed last spring}"
PLACE=/sdcard/Android/data/gamer.app/files
command -v adb >/dev/null || { echo "ci-emulator.sh: no adb; install Android's platform tools" >&2; exit 1; }
mkdir -p "$OUT"
APK=required "$HERE/build_apk.sh" "$OUT/gamer.apk"
adb wait-for-device
adb install -r "$OUT/gamer.apk"
adb shell mkdir -p "$PLACE/bundle"
adb push "$BUNDLE/." "$PLACE/bundle/"
adb push "$ALBUM" "$PLACE/album.gamer"
adb logcat -c
adb shell am start -W -n gamer.app/.MainActivity --es query "'${QUERY//\'/}'"
sleep 20  # the first search opens the bundle and checks it
adb exec-out screencap -p >"$OUT/search.png"
adb logcat -d >"$OUT/log.txt"
if grep -q "FATAL EXCEPTION" "$OUT/log.txt"; then echo "ci-emulator.sh: the app ended; see $OUT/log.txt" >&2; exit 1; fi
echo "$OUT/search.png, $OUT/log.txt"
