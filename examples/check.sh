#!/usr/bin/env bash
# Checks an example: check.sh kotlin|swift. It must rank "a cat" first for a photograph of one, and fail for a bundle
# with a changed golden vector. Needs a bundle (GAMER_BUNDLE, else out/pocket) and a PYTHON with scikit-image, for its
# photograph. Where one is missing, a message says so and nothing is run; with GAMER_BUNDLE set that is a failure.
set -euo pipefail
HERE="$(cd "$(dirname "$0")" && pwd -P)"
BUNDLE="${GAMER_BUNDLE:-$HERE/../out/pocket}"
WORK="$HERE/../out/example-$1"
SENTENCES=("a cup of coffee" "a rocket at night" "a cat")
skip() { echo "!! THE EXAMPLE IN examples/$1 IS NOT RUN: $2" >&2; [ -n "${GAMER_BUNDLE:-}" ] && exit 1; exit 0; }

[ -f "$BUNDLE/manifest.json" ] || skip "$1" "no bundle at $BUNDLE; run make export"
rm -rf "$WORK"; mkdir -p "$WORK/changed/onnx"
trap 'rm -rf "$WORK"' EXIT
read -r WIDTH HEIGHT < <("${PYTHON:-python3}" -c 'import sys
from PIL import Image
from skimage import data
cat = data.chelsea()
Image.fromarray(cat).save(f"{sys.argv[1]}/cat.png")
cat.tofile(f"{sys.argv[1]}/cat.rgb")
print(cat.shape[1], cat.shape[0])' "$WORK" 2>/dev/null) || skip "$1" "no scikit-image in ${PYTHON:-python3}"
case "$1" in kotlin) PHOTO=("$WORK/cat.png") ;; swift) PHOTO=("$WORK/cat.rgb" "$WIDTH" "$HEIGHT") ;; esac

FOUND="$("$HERE/$1/run.sh" "$BUNDLE" "${PHOTO[@]}" "${SENTENCES[@]}")"
[ "$(grep -c "golden files reproduced" <<<"$FOUND")" = 2 ] && [[ "$(sed -n 3p <<<"$FOUND")" == *"  a cat" ]] || { echo "$FOUND" >&2; exit 1; }

cp "$BUNDLE"/{manifest,text_tokenizer}.json "$WORK/changed"
cp "$BUNDLE"/onnx/{image,text}_tower.onnx "$WORK/changed/onnx"
for ROLE in image_tower text_tower; do
  rm -rf "$WORK/changed/fixtures"; cp -r "$BUNDLE/fixtures" "$WORK/changed"
  WANT="$WORK/changed/fixtures/$ROLE.want.npy"
  # The second half of the last vector, of 384 numbers of 4 bytes, becomes zeros.
  dd if=/dev/zero of="$WANT" bs=1 count=768 seek=$(($(wc -c <"$WANT") - 768)) conv=notrunc status=none
  if FOUND="$("$HERE/$1/run.sh" "$WORK/changed" "${PHOTO[@]}" "${SENTENCES[@]}" 2>&1)"; then echo "examples/$1: $ROLE passes with a changed golden vector" >&2; exit 1; fi
  grep -q "$ROLE: cosine 0\.[0-9]*, .* is wanted" <<<"$FOUND" || { echo "$FOUND" >&2; exit 1; }
done
echo "examples/$1: the golden files are reproduced, a cat is found, changed golden vectors are refused"
