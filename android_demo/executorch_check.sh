#!/usr/bin/env bash
# Compiles the app's ExecuTorch backend against the core and the declarations in stubs/, since ExecuTorch's Android package is not
# at hand: it checks the types, and runs nothing.
set -euo pipefail
HERE="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)"
CORE="$("$HERE/core/build.sh")"
WORK="$(mktemp -d)"; trap 'rm -rf "$WORK"' EXIT
javac -nowarn -d "$WORK/stubs" "$HERE"/stubs/org/pytorch/executorch/*.java
"$HERE/kotlinc.sh" -d "$WORK/out" -cp "$WORK/stubs:$CORE" -jvm-target 1.8 -Werror "$HERE/app/src/executorch/kotlin"
echo "the ExecuTorch backend of the Android app compiles against declarations (its package was not run)"
