#!/usr/bin/env bash
# Runs a command in the chroot of the Swift tools (ios_demo/setup.sh): ios_demo/swift.sh COMMAND ARGUMENT...
# There the repository is mounted at /src, and the command starts in the folder that corresponds to the
# present one. The paths in $GAMER_BIND (separated by colons) are mounted read-only under the same names.
# Build folders belong in a folder of $GAMER_TOOLS/swift/build (there /build), so that the tree stays clean: swift build
# --scratch-path /build/NAME
set -euo pipefail
HERE="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)"
TOOLS="${GAMER_TOOLS:-$HOME/.cache/gamer-tools}/swift"
[ -e "$TOOLS/root/opt/ort/lib/libonnxruntime.so.1" ] || { echo "ios_demo/swift.sh: no Swift tools in $TOOLS; run make mobile-setup-swift" >&2; exit 3; }
FOLDER="$(pwd -P)"
case "$FOLDER/" in "$HERE"/*) INSIDE="/src${FOLDER#"$HERE"}" ;; *) INSIDE=/src ;; esac
# Of each checkout a folder of its own: two of them would build over each other.
BUILD="$TOOLS/build/$(sha256sum <<< "$HERE" | head -c 12)"
mkdir -p "$BUILD"
# With GAMER_ORT: another ONNX Runtime library, such as the one that Python uses, because int8 kernels round
# differently between versions. A program is linked to the symbol names of one version, so the library is
# copied without symbol versions.
if [ -n "${GAMER_ORT:-}" ]; then
  OTHER="$TOOLS/ort-unversioned-$(sha256sum <"$GAMER_ORT" | cut -c1-12).so"
  if [ ! -e "$OTHER" ]; then
    cp "$GAMER_ORT" "$OTHER.part"
    python3 -c 'import sys; sys.path.insert(0, sys.argv[1]); import pathlib, relink_jni; relink_jni.drop_versions(pathlib.Path(sys.argv[2]), relink_jni.DEFINED)' "$HERE/android_demo" "$OTHER.part"
    mv "$OTHER.part" "$OTHER"
  fi
fi
export HERE TOOLS BUILD INSIDE OTHER
# The mounts are in a namespace of this command and end with it.
exec unshare -m bash -euc '
  ROOT="$TOOLS/root"
  mkdir -p "$ROOT/src" "$ROOT/build"
  mount --bind "$HERE" "$ROOT/src"
  mount --bind "$BUILD" "$ROOT/build"
  mount -t proc proc "$ROOT/proc"
  mount --bind /dev "$ROOT/dev"
  if [ -n "${OTHER:-}" ]; then mount --bind "$OTHER" "$ROOT/opt/ort/lib/libonnxruntime.so.1"; fi
  IFS=:
  for ONE in ${GAMER_BIND:-}; do
    if [ -d "$ONE" ]; then mkdir -p "$ROOT$ONE"; elif [ ! -e "$ROOT$ONE" ]; then mkdir -p "$(dirname "$ROOT$ONE")"; touch "$ROOT$ONE"; fi  # else it is in a folder mounted before
    mount --bind "$ONE" "$ROOT$ONE"
    mount -o remount,bind,ro "$ROOT$ONE"
  done
  exec chroot "$ROOT" /usr/bin/env -i PATH=/usr/bin:/bin:/usr/sbin:/sbin HOME=/build LANG=C.UTF-8 ORT_DISABLE_TELEMETRY=1 sh -c "cd \"\$0\" && exec \"\$@\"" "$INSIDE" "$@"
' bash "$@"
