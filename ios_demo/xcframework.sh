#!/usr/bin/env bash
# Fetches ONNX Runtime 1.29 for iOS, the version of the Android app and of the conformance runs, as PhotoCore/onnxruntime.xcframework,
# which Package.swift links. Requires npm and openssl.
set -euo pipefail
HERE="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)"
TOOLS="${GAMER_TOOLS:-$HOME/.cache/gamer-tools}"
PACKAGE=com.github.asus4.onnxruntime
VERSION=0.4.9
SHA512="BkzxduSZ9IkeDP6Q8lz2TFU2ie7hSSvS7ZIfzMooExoq0CNzJnuuGaUJ7IsojBgqO4ouD1jXah8OYyJbCN29Fg=="
OUT="$HERE/PhotoCore/onnxruntime.xcframework"
[ -e "$OUT/Info.plist" ] && { echo "$OUT"; exit 0; }
FILE="$TOOLS/downloads/$PACKAGE-$VERSION.tgz"
mkdir -p "$TOOLS/downloads"
[ -e "$FILE" ] || (cd "$TOOLS/downloads" && npm pack --silent "$PACKAGE@$VERSION" >/dev/null)
[ "$(openssl dgst -sha512 -binary "$FILE" | openssl base64 -A)" = "$SHA512" ] || { echo "$0: $FILE is not the file that was pinned; delete it and run again" >&2; exit 1; }
WORK="$(mktemp -d "$HERE/PhotoCore/.fetching.XXXXXX")"; trap 'rm -rf "$WORK"' EXIT
tar -xzf "$FILE" -C "$WORK" 'package/Plugins/iOS~/onnxruntime.xcframework'
mv "$WORK/package/Plugins/iOS~/onnxruntime.xcframework" "$OUT"
echo "$OUT"
