#!/bin/bash
# Builds the image without a daemon, runs it under limits and calls it.
#
# Usage: build.sh [ARCH] [DEBIAN] [TARGET]     amd64 bookworm axisd
#   TARGET test runs every test in that Debian instead of making an image.
#   AXIS_BASE: the image to start from; without it Docker Hub's, and where
#              that cannot be reached one made here by debootstrap.
#   AXIS_TWICE=1: builds twice, and fails if the layers differ.
# As root. Leaves build/image/axisd-ARCH-DEBIAN.oci.tar; its store is
# build/image/store, which may be removed.
set -euo pipefail
cd "$(dirname "$0")/../.."
own=$(dpkg --print-architecture)
arch=${1:-$own} debian=${2:-bookworm} target=${3:-axisd}
out=$PWD/build/image
mkdir -p "$out"
[[ $(id -u) == 0 ]] || { echo "As root, please: this makes containers." >&2; exit 2; }

say() { echo "== $*"; }

# Overlay where the kernel lets us, else vfs, which copies every layer.
driver=overlay
store=(--root "$out/store" --runroot "$out/store-run")
buildah "${store[@]}" --storage-driver overlay images >/dev/null 2>&1 || driver=vfs
store+=(--storage-driver $driver)

# Debian as small as Docker's, made of packages by debootstrap.
make_base() {
  local root=$out/base-$debian mirror
  mirror=$(sed -n -E 's/^URIs: *([^ ]+).*/\1/p; s/^deb (\[[^]]*\] )?([^ ]+).*/\2/p' \
    /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list 2>/dev/null |
    head -n 1 || true)
  say "base: debootstrap $debian"
  debootstrap --variant=minbase --include=ca-certificates "$debian" "$root" \
    "${mirror:-http://deb.debian.org/debian}" >"$out/debootstrap.log"
  # How this machine reaches its mirror.
  cp -a /etc/apt/apt.conf.d/. "$root/etc/apt/apt.conf.d/"
  local container
  container=$(buildah "${store[@]}" from scratch)
  buildah "${store[@]}" add --quiet "$container" "$root" / >/dev/null
  buildah "${store[@]}" config --cmd bash --arch "$own" "$container"
  buildah "${store[@]}" commit --quiet --rm "$container" "$base" >/dev/null
  rm -rf --one-file-system "$root"
}

base=${AXIS_BASE:-}
if [[ -z $base ]]; then
  base=docker.io/library/debian:$debian-slim
  if ! buildah "${store[@]}" inspect --type image "$base" >/dev/null 2>&1 &&
     ! buildah "${store[@]}" pull --quiet "$base" 2>/dev/null; then
    base=localhost/debian:$debian
    buildah "${store[@]}" inspect --type image "$base" >/dev/null 2>&1 ||
      make_base
  fi
fi

version=$(sed -n 's/^project(axisd VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
revision=$(git rev-parse HEAD 2>/dev/null || echo unknown)
moment=$(git log -1 --format=%ct 2>/dev/null || echo 0)
image=localhost/axisd:$version-$arch-$debian
[[ $target == axisd ]] || image+=-$target

# The files carry the time of the commit, so that a commit gives one layer.
# BUILDPLATFORM is docker's own; older buildahs have to be told.
bud() {
  buildah "${store[@]}" bud --isolation chroot --format docker --network host \
    --pull=never --layers --platform "linux/$arch" --timestamp "$moment" \
    --target "$target" --build-arg BUILDPLATFORM="linux/$own" \
    --build-arg DEBIAN="$debian" --build-arg BASE="$base" \
    --build-arg VERSION="$version" --build-arg REVISION="$revision" \
    --build-arg CREATED="$(date -u -d "@$moment" +%FT%TZ)" \
    "$@" -t "$image" .
}

layers() {
  buildah "${store[@]}" inspect --type image \
    --format '{{range .OCIv1.RootFS.DiffIDs}}{{.}} {{end}}' "$image"
}

say "building $image on $base ($driver)"
status=0
bud >"$out/bud.log" 2>&1 || status=$?
if [[ $target == test ]] && grep -q 'what was tested' "$out/bud.log"; then
  sed -n '/what was tested/,$p' "$out/bud.log"
  exit $status
fi
[[ $status == 0 ]] || { tail -n 40 "$out/bud.log"; exit $status; }
if [[ $target == test ]]; then
  say "these files passed before: nothing was run"
  exit
fi
archive=$out/axisd-$arch-$debian.oci.tar
rm -f "$archive"
buildah "${store[@]}" push --quiet "$image" "oci-archive:$archive"
container=$(buildah "${store[@]}" from --pull-never \
  --platform "linux/$arch" "$image")
trap 'buildah "${store[@]}" rm "$container" >/dev/null' EXIT
mount=$(buildah "${store[@]}" mount "$container")
size=$(du -sb --apparent-size "$mount" | cut -f 1)
say "$((size / 1000000)).$((size / 100000 % 10)) MB of files, archive of" \
  "$(($(stat -c %s "$archive") / 1000000)) MB, layers $(layers)"
# What is shipped; the libraries of other Debians are not ours to choose.
if [[ $debian == bookworm && $size -ge 40000000 ]]; then
  echo "FAILED: 40 MB or more" >&2
  exit 1
fi
if find "$mount" -name '*sh' -path '*bin*' | grep .; then
  echo "FAILED: there is a shell in it" >&2
  exit 1
fi
python3 -m json.tool <"$mount/usr/share/sbom/axisd.cdx.json" >/dev/null
say "SBOM of $(ls "$mount/var/lib/dpkg/status.d" | wc -l) packages"

if [[ ${AXIS_TWICE:-} == 1 ]]; then
  first=$(layers)
  say "building again, from nothing"
  # Nor from what ccache has kept, which lies with what else is temporary.
  rm -rf "$out/twice" && mkdir "$out/twice"
  TMPDIR=$out/twice bud --no-cache >"$out/bud.log" 2>&1 ||
    { tail -n 40 "$out/bud.log"; exit 1; }
  rm -rf "$out/twice"
  [[ $(layers) == "$first" ]] || { echo "FAILED: other layers: $(layers)" >&2; exit 1; }
  say "the same layers again"
fi
deploy/image/smoke.sh "$image" "$arch" "$mount" "${store[@]}"
