#!/usr/bin/env bash
# Sets up an emulated ARM64 Python with ONNX Runtime on Debian, x86-64: qemu-user 10, Debian's arm64
# python3.11 and its C library, and the aarch64 wheels that the rooms index and runtime import. It needs to
# run only once and takes about 450 MB in ${GAMER_TOOLS:-$HOME/.cache/gamer-tools}/arm64. Root is not
# required, because packages are unpacked and not installed. $1: a Python with pip, whose versions of these
# packages are used. The emulated x86-64 processors of `make processors` run in the same qemu.
set -euo pipefail
PYTHON="${1:-python3}"
HOME_DIR="${GAMER_TOOLS:-$HOME/.cache/gamer-tools}/arm64"
# By default the mirror that the system's apt uses.
MIRROR="${DEBIAN_MIRROR:-$(apt-get indextargets --format '$(REPO_URI)' 2>/dev/null | sed -n 's#/debian/*$#/debian#p' | sort -u | head -n 1 || true)}"
KEYS=/usr/share/keyrings/debian-archive-keyring.gpg
LIBRARIES=(python3.11-minimal libpython3.11-minimal libpython3.11-stdlib libc6 libgcc-s1 libstdc++6 zlib1g libexpat1 libffi8 libssl3 libbz2-1.0 liblzma5
  libsqlite3-0 libuuid1)
PACKAGES="onnxruntime numpy pillow usearch numkong apsw tokenizers platformdirs tqdm"
VERSIONS="$("$PYTHON" -c 'import sys; from importlib.metadata import version; print(*(f"{name}=={version(name)}" for name in sys.argv[1:]))' $PACKAGES)"
STAMP="$HOME_DIR/ready-$(echo "$VERSIONS" | sha256sum | cut -c1-16)"
[ -e "$STAMP" ] && exit 0
command -v apt-get >/dev/null && [ -e "$KEYS" ] && [ -n "$MIRROR" ] || { echo "arm64/setup.sh: made for Debian; no apt, keyring or mirror (DEBIAN_MIRROR) here" >&2; exit 3; }
rm -rf "$HOME_DIR"; mkdir -p "$HOME_DIR/root" "$HOME_DIR/qemu" "$HOME_DIR/site"

# fetch ARCHITECTURE SUITE FOLDER PACKAGE...: downloads the packages and unpacks them to the folder. It uses
# an apt configuration and package lists separate from the system's.
fetch() {
  local architecture="$1" suite="$2" into="$3" apt="$HOME_DIR/apt-$1"; shift 3
  mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$apt/debs"; : >"$apt/status"
  echo "deb [signed-by=$KEYS] $MIRROR $suite main" >"$apt/sources.list"
  local options=(-o "Dir::State=$apt" -o "Dir::State::lists=$apt/lists" -o "Dir::Cache=$apt/cache" -o "Dir::State::status=$apt/status"
    -o "Dir::Etc::SourceList=$apt/sources.list" -o Dir::Etc::SourceParts=/dev/null -o "APT::Architecture=$architecture" -o "APT::Architectures=$architecture"
    -o APT::Sandbox::User=)
  apt-get "${options[@]}" update -qq
  (cd "$apt/debs" && apt-get "${options[@]}" download -qq "$@")
  for DEB in "$apt"/debs/*.deb; do dpkg -x "$DEB" "$into"; done
  rm -rf "$apt"
}
echo "== ARM64: qemu-user, Debian's python3.11 for arm64, $VERSIONS"
fetch amd64 bookworm-backports "$HOME_DIR/qemu" qemu-user   # bookworm's version 7.2 crashes in ONNX Runtime
fetch arm64 bookworm "$HOME_DIR/root" "${LIBRARIES[@]}"
# shellcheck disable=SC2086
"$PYTHON" -m pip install --quiet --no-deps --target "$HOME_DIR/site" --python-version 3.11 --only-binary=:all: --platform manylinux_2_28_aarch64 \
  --platform manylinux_2_27_aarch64 --platform manylinux2014_aarch64 --platform manylinux_2_17_aarch64 $VERSIONS
touch "$STAMP"
