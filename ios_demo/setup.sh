#!/usr/bin/env bash
# Sets up the Swift tools on Debian or Ubuntu, x86-64: a chroot of Debian trixie with swiftlang and ONNX
# Runtime's C library. It needs to run only once and takes about 2.8 GB in
# ${GAMER_TOOLS:-$HOME/.cache/gamer-tools}/swift, outside the tree. Requires root (debootstrap, chroot); the
# exit status is 3 without it. ios_demo/swift.sh runs commands in the chroot. A Mac with Xcode needs none of
# this.
set -euo pipefail
TOOLS="${GAMER_TOOLS:-$HOME/.cache/gamer-tools}"
HOME_DIR="$TOOLS/swift"
ROOT="$HOME_DIR/root"
# By default the mirror that the system's apt uses.
MIRROR="${DEBIAN_MIRROR:-$(apt-get indextargets --format '$(REPO_URI)' 2>/dev/null | sed -n 's#/debian/*$#/debian#p' | sort -u | head -n 1 || true)}"
ORT=com.github.asus4.onnxruntime
ORT_VERSION=0.4.9   # contains ONNX Runtime 1.29
ORT_SHA512="BkzxduSZ9IkeDP6Q8lz2TFU2ie7hSSvS7ZIfzMooExoq0CNzJnuuGaUJ7IsojBgqO4ouD1jXah8OYyJbCN29Fg=="
PACKAGES=swiftlang,swiftlang-dev,libswiftlang,libc6-dev,libstdc++-14-dev,gcc,libsqlite3-dev,binutils,git
STAMP="$HOME_DIR/ready-1-$ORT_VERSION"

[ -e "$STAMP" ] && { echo "Swift tools are ready in $HOME_DIR"; exit 0; }
[ "$(uname -m)" = x86_64 ] || { echo "ios_demo/setup.sh: made for x86-64; this is $(uname -m)" >&2; exit 3; }
if [ "$(id -u)" != 0 ] || ! unshare -m true 2>/dev/null; then
  echo "ios_demo/setup.sh: debootstrap and chroot need root and the right to unshare mounts; run it as root: sudo GAMER_TOOLS=$TOOLS $0" >&2
  exit 3
fi
[ -n "$MIRROR" ] || { echo "ios_demo/setup.sh: apt names no Debian mirror; set DEBIAN_MIRROR" >&2; exit 1; }
command -v npm >/dev/null || { echo "ios_demo/setup.sh: npm not found; install Node.js" >&2; exit 1; }
mkdir -p "$HOME_DIR"

if [ ! -e "$HOME_DIR/rooted" ]; then
  command -v debootstrap >/dev/null || { apt-get update -qq; apt-get install -y -qq --no-install-recommends debootstrap >/dev/null; }
  rm -rf "$ROOT"
  echo "== Debian trixie with swiftlang, into $ROOT (about 2 minutes)"
  # The running system's Debian keyring verifies trixie too.
  debootstrap --variant=minbase --include="$PACKAGES" trixie "$ROOT" "$MIRROR" >"$HOME_DIR/debootstrap.log" 2>&1 \
    || { tail -20 "$HOME_DIR/debootstrap.log" >&2; exit 1; }
  rm -rf "$ROOT"/var/cache/apt/archives/*.deb
  touch "$HOME_DIR/rooted"
fi

# One package contains the C headers (of the iOS framework) and the Linux library. The Kotlin set-up uses
# other parts of the same file.
TARBALL="$TOOLS/downloads/$ORT-$ORT_VERSION.tgz"
if [ ! -e "$TARBALL" ]; then
  mkdir -p "$TOOLS/downloads"
  (cd "$TOOLS/downloads" && npm pack --silent "$ORT@$ORT_VERSION" >/dev/null)
fi
[ "$(openssl dgst -sha512 -binary "$TARBALL" | base64 -w0)" = "$ORT_SHA512" ] || { echo "ios_demo/setup.sh: $TARBALL is not the file that was pinned; delete it and run again" >&2; exit 1; }
UNPACKED="$HOME_DIR/unpacked"
echo "== ONNX Runtime's C library"
rm -rf "$UNPACKED"; mkdir -p "$UNPACKED"
tar -xzf "$TARBALL" -C "$UNPACKED" package/Plugins/iOS~ package/Plugins/Linux
HEADERS="$(dirname "$(find "$UNPACKED" -path '*ios-arm64/*' -name onnxruntime_c_api.h | head -1)")"
mkdir -p "$ROOT/opt/ort/include" "$ROOT/opt/ort/lib"
cp "$HEADERS"/*.h "$ROOT/opt/ort/include/"
cp "$UNPACKED/package/Plugins/Linux/x64/libonnxruntime.so" "$ROOT/opt/ort/lib/libonnxruntime.so.1"
ln -sf libonnxruntime.so.1 "$ROOT/opt/ort/lib/libonnxruntime.so"
echo /opt/ort/lib >"$ROOT/etc/ld.so.conf.d/ort.conf"
chroot "$ROOT" ldconfig
rm -rf "$UNPACKED"
touch "$STAMP"
echo "Swift tools are ready in $HOME_DIR"
