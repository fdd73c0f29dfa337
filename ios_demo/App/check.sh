#!/usr/bin/env bash
# What can be checked of the SwiftUI app without Apple's SDK: that every file parses, and swift-format's lint. Types are not checked.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
../swift.sh sh -c 'for FILE in *.swift; do swiftc -frontend -parse "$FILE" || exit 1; done; swift format lint --strict --configuration "{\"version\":1,\"lineLength\":150,\"indentation\":{\"spaces\":4}}" *.swift'
echo "$(ls ./*.swift | wc -l) files of the iOS app parse and are linted; their types were not checked (no iOS SDK)"
