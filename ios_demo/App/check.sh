#!/usr/bin/env bash
# Checks the SwiftUI app without Apple's SDK: every file passes swift-format's lint, and the types of the whole
# app (its debug build), and its data races, are checked in Swift 6 mode against the package and ios_demo/stubs, which declare
# what the app uses of Apple's frameworks. On a Mac, ci-mac.sh builds the app with the SDK itself.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
../PhotoCore/build.sh
../swift.sh sh -c '
  set -e
  swift format lint --strict --configuration "{\"version\":1,\"lineLength\":150,\"indentation\":{\"spaces\":4}}" *.swift
  OUT=/build/stubs; rm -rf "$OUT"; mkdir -p "$OUT"
  for NAME in CoreGraphics ImageIO CoreLocation UIKit AVFoundation Photos PhotosUI BackgroundTasks CoreML UniformTypeIdentifiers SwiftUI AVKit; do
    swiftc -emit-module -swift-version 6 -parse-as-library -module-name "$NAME" -I "$OUT" -o "$OUT/$NAME.swiftmodule" "../stubs/$NAME.swift"
  done
  C=../PhotoCore/Sources
  swiftc -typecheck -D DEBUG -swift-version 6 -parse-as-library -warnings-as-errors -module-name Gamer -I "$OUT" -I /build/photocore/release/Modules \
    -I "$C/CSQLite" -I "$C/COnnxRuntime" -Xcc -I/opt/ort/include *.swift
'
echo "$(ls ./*.swift | wc -l) files of the iOS app are linted, and their types checked against stubs (no iOS SDK)"
