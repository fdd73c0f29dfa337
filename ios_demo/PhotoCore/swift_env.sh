# Sourced by the scripts beside it: `swift_in ARGUMENT...` runs swift with this package's flags, on a Mac as it is, elsewhere in the tools' folder.
# Build products stay outside the tree.
set -euo pipefail
HERE="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)"
# ONNX Runtime's library reads it as it is loaded; in the tools' folder swift.sh sets it.
export ORT_DISABLE_TELEMETRY=1
TOOLS="${GAMER_TOOLS:-$HOME/.cache/gamer-tools}"
if [ "$(uname -s)" = Darwin ]; then
  ORT="${GAMER_ORT:?the folder of ONNX Runtime, with include/ and lib/}"
  SCRATCH="$TOOLS/swift/build/photocore"
  RULES="$(cd "$HERE/../.." && pwd -P)/runtime/cues/cue_rules.json"
  swift_run() { (cd "$HERE" && "$@"); }
else
  ORT=/opt/ort
  SCRATCH=/build/photocore
  RULES=/src/runtime/cues/cue_rules.json
  swift_run() { (cd "$HERE" && "$HERE/../swift.sh" "$@"); }
fi
FLAGS=(--scratch-path "$SCRATCH" -Xcc "-I$ORT/include" -Xlinker "-L$ORT/lib" -Xlinker -rpath -Xlinker "$ORT/lib")
# The folders and files that a program in the tools' folder may read under their own names.
bind() {
  local IFS=:
  export GAMER_BIND="$*"
}
