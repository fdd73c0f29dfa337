# Sourced by the other scripts in this folder. `swift_run COMMAND ARGUMENT...` runs a command in the package's
# folder: directly on a Mac, elsewhere in the chroot of the Swift tools. Build products stay outside the tree.
set -euo pipefail
HERE="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)"
# ONNX Runtime's library reads this variable when it is loaded; in the chroot swift.sh sets it.
export ORT_DISABLE_TELEMETRY=1
TOOLS="${GAMER_TOOLS:-$HOME/.cache/gamer-tools}"
BUILD="$TOOLS/swift/build/$(sha256sum <<< "$(cd "$HERE/../.." && pwd -P)" | head -c 12)" # as swift.sh names it
if [ "$(uname -s)" = Darwin ]; then
  ORT="${GAMER_ORT:?the folder of ONNX Runtime, with include/ and lib/}"
  SCRATCH="$BUILD/photocore"
  RULES="$(cd "$HERE/../.." && pwd -P)/runtime/cues/cue_rules.json"
  swift_run() { (cd "$HERE" && "$@"); }
else
  ORT=/opt/ort
  SCRATCH=/build/photocore
  RULES=/src/runtime/cues/cue_rules.json
  swift_run() { (cd "$HERE" && "$HERE/../swift.sh" "$@"); }
fi
FLAGS=(--scratch-path "$SCRATCH" -Xcc "-I$ORT/include" -Xlinker "-L$ORT/lib" -Xlinker -rpath -Xlinker "$ORT/lib")
# bind PATH...: makes these folders and files readable in the chroot, under the same paths.
bind() {
  local IFS=:
  export GAMER_BIND="$*"
}
