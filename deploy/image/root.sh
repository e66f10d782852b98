#!/bin/bash
# Makes the root of the image: the programs in FROM, the libraries they need,
# a user, and for each Debian package a file came from, or an archive that was
# linked, its licence, its dpkg entry (where scanners look for it) and a line
# in a CycloneDX SBOM.
#
# Usage: root.sh ARCH REVISION FROM ROOT
set -euo pipefail
arch=$1 revision=$2 from=$3 root=$4
case $arch in
  amd64) triplet=x86_64-linux-gnu ;;
  arm64) triplet=aarch64-linux-gnu ;;
  *)
    echo "root.sh: unknown architecture $arch" >&2
    exit 2
    ;;
esac
mkdir -p "$root"
cp -a "$from/." "$root/"

# Where a library lies. Not asked of ldd, which would have to run what may be
# of another architecture.
find_library() {
  local folder
  for folder in "/lib/$triplet" "/usr/lib/$triplet" "/usr/$triplet/lib"; do
    if [[ -e $folder/$1 ]]; then
      echo "$folder/$1"
      return
    fi
  done
  echo "root.sh: no library $1" >&2
  return 1
}

# The libraries that FILE asks for, and the loader of a program.
needs() {
  readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'
  readelf -l "$1" | sed -n 's/.*interpreter: .*\/\(.*\)\]/\1/p'
}

# The package that FILE belongs to, whichever of its names dpkg knows. (It
# complains of those that it does not.)
owner_of() {
  local owner
  owner=$(dpkg -S "$1" "$(readlink -f "$1")" \
    "/usr$1" "$(readlink -f "$1" | sed 's,^/usr,,')" 2>/dev/null |
    sed 's/: .*//; s/,.*//; q' || true)
  [[ -n $owner ]] || {
    echo "root.sh: no package owns $1" >&2
    return 1
  }
  echo "$owner"
}

declare -A packages=()
while read -r archive; do
  owner=$(owner_of "$archive")
  packages[$owner]=1
done < <(sed '/^$/d' "$(dirname "$0")/../../build/release/archives.txt")
todo=("$root"/usr/bin/*)
while [[ ${#todo[@]} -gt 0 ]]; do
  file=${todo[0]}
  todo=("${todo[@]:1}")
  for name in $(needs "$file"); do
    path=$(find_library "$name")
    # The loader's path is part of each program: it keeps it.
    target=$root/usr/lib/$triplet/$name
    [[ ! -e $target ]] || continue
    install -D -m 755 "$(readlink -f "$path")" "$target"
    owner=$(owner_of "$path")
    packages[$owner]=1
    todo+=("$target")
  done
done
ln -s usr/lib "$root/lib"
loader=$(readelf -l "$root/usr/bin/axisd" |
  sed -n 's/.*interpreter: \(.*\)\]/\1/p')
if [[ ! -e $root$loader ]]; then
  mkdir -p "$root/$(dirname "$loader")"
  # Relative, so that QEMU finds it wherever the root lies.
  ln -sr "$root/usr/lib/$triplet/$(basename "$loader")" "$root$loader"
fi

mkdir -p "$root/etc" "$root/var/lib/dpkg/status.d" "$root/usr/share/sbom"
echo 'nonroot:x:65532:65532::/:/usr/sbin/nologin' >"$root/etc/passwd"
echo 'nonroot:x:65532:' >"$root/etc/group"
cp /etc/os-release "$root/etc/os-release"

field() { dpkg-query -W -f="\${$2}" "$1"; }
distribution=$(. /etc/os-release && echo "debian-${VERSION_ID:-sid}")
version=$(sed -n 's/^project(axisd VERSION \([0-9.]*\).*/\1/p' \
  "$(dirname "$0")/../../CMakeLists.txt")
{
  printf '{\n "bomFormat": "CycloneDX",\n "specVersion": "1.5",\n'
  printf ' "metadata": {"component": {"type": "application", '
  printf '"name": "axisd", "version": "%s", "pedigree": {"commits": ' "$version"
  printf '[{"uid": "%s"}]}}},\n "components": [' "$revision"
  comma=
  for package in $(printf '%s\n' "${!packages[@]}" | sort); do
    name=$(field "$package" Package)
    is=$(field "$package" Version)
    dpkg-query -s "$package" >"$root/var/lib/dpkg/status.d/$name"
    # dpkg tells what is installed where; the image has no maintainer scripts.
    install -D -m 644 "/usr/share/doc/$name/copyright" \
      "$root/usr/share/doc/$name/copyright"
    printf '%s\n  {"type": "library", "name": "%s", "version": "%s", ' \
      "$comma" "$name" "$is"
    printf '"purl": "pkg:deb/debian/%s@%s?arch=%s&distro=%s"}' \
      "$name" "${is//+/%2B}" "$arch" "$distribution"
    comma=,
  done
  printf '\n ]\n}\n'
} >"$root/usr/share/sbom/axisd.cdx.json"
install -D -m 644 "$(dirname "$0")/../../LICENSE" \
  "$root/usr/share/doc/axisd/copyright"
