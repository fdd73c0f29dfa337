#!/usr/bin/env bash
# Checks the SwiftUI app as far as possible without Apple's SDK: every file parses and passes swift-format's
# lint. Types are not checked.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
../swift.sh sh -c 'for FILE in *.swift; do swiftc -frontend -parse "$FILE" || exit 1; done; swift format lint --strict --configuration "{\"version\":1,\"lineLength\":150,\"indentation\":{\"spaces\":4}}" *.swift'
echo "$(ls ./*.swift | wc -l) files of the iOS app parse and are linted; their types were not checked (no iOS SDK)"
