#!/usr/bin/env bash
# For a person with a Mac (Xcode 16, XcodeGen, npm): fetches ONNX Runtime, builds the app for the simulator, installs
# it with a bundle and an album, searches, and keeps a screenshot: ci-mac.sh BUNDLE ALBUM OUT_FOLDER ["query"].
# It has not been run by its authors.
set -euo pipefail
HERE="$(cd "$(dirname "$0")" && pwd)"
[ $# -ge 3 ] || { sed -n 2,4p "$0" >&2; exit 2; }
BUNDLE="$1" ALBUM="$2" QUERY="${4:-coffee I photographed last spring}"
"$HERE/xcframework.sh"
mkdir -p "$3"
OUT="$(cd "$3" && pwd)"
DEVICE="${DEVICE:-iPhone 16}"
(cd "$HERE/App" && xcodegen)
xcodebuild -project "$HERE/App/Gamer.xcodeproj" -scheme Gamer -sdk iphonesimulator -destination "platform=iOS Simulator,name=$DEVICE" \
  -derivedDataPath "$OUT/build" CODE_SIGNING_ALLOWED=NO build
xcrun simctl boot "$DEVICE" || true # it may be booted already
xcrun simctl bootstatus "$DEVICE"
xcrun simctl install "$DEVICE" "$OUT/build/Build/Products/Debug-iphonesimulator/Gamer.app"
DOCUMENTS="$(xcrun simctl get_app_container "$DEVICE" org.example.gamer data)/Documents"
mkdir -p "$DOCUMENTS"
rm -rf "$DOCUMENTS/bundle"
cp -R "$BUNDLE" "$DOCUMENTS/bundle"
cp "$ALBUM" "$DOCUMENTS/album.gamer"
xcrun simctl launch "$DEVICE" org.example.gamer -query "$QUERY"
sleep 20 # the first search opens the bundle and checks it
xcrun simctl io "$DEVICE" screenshot "$OUT/search.png"
xcrun simctl spawn "$DEVICE" launchctl list | grep -q org.example.gamer || { echo "ci-mac.sh: the app ended" >&2; exit 1; }
echo "$OUT/search.png"
