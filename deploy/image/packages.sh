#!/bin/bash
# Installs in a build container what ./dev lists: compilers of this machine's
# architecture, libraries of the target's.
#
# Usage: packages.sh DEBIAN ARCH build|all
set -euo pipefail
cd "$(dirname "$0")/../.."
debian=$1 arch=$2 what=$3 own=$(dpkg --print-architecture)
export DEBIAN_FRONTEND=noninteractive
get=(apt-get install -y -q --no-install-recommends)

mapfile -t packages < <(./dev packages $([[ $what == all ]] || echo build))
if [[ $arch != "$own" ]]; then
  dpkg --add-architecture "$arch"
  case $arch in
    arm64) packages+=(g++-aarch64-linux-gnu) ;;
    amd64) packages+=(g++-x86-64-linux-gnu) ;;
  esac
  packages=("${packages[@]/%-dev/-dev:$arch}")
fi
packages+=(ccache)

if [[ $debian == sid ]]; then
  # The newest gRPC is in experimental, built with sid's libraries. So are we:
  # of two OpenSSLs in a process, calls would go to the wrong one.
  mirror=$(sed -n -E 's/^URIs: *([^ ]+).*/\1/p; s/^deb (\[[^]]*\] )?([^ ]+).*/\2/p' \
    /etc/apt/sources.list.d/*.sources /etc/apt/sources.list 2>/dev/null |
    head -n 1 || true)
  echo "deb $mirror experimental main" >/etc/apt/sources.list.d/experimental.list
  printf '%s\n' 'Package: src:grpc src:protobuf' 'Pin: release a=experimental' \
    'Pin-Priority: 990' >/etc/apt/preferences.d/grpc
fi
apt-get -o Acquire::Languages=none update -q
if [[ $debian == sid ]]; then
  # What Debian has dropped only tests ask for, and they say so.
  for package in "${packages[@]}"; do
    if [[ $(apt-cache policy "$package") != *"Candidate: "[!\(]* ]]; then
      echo "SKIPPED $package: not in $debian"
      packages=($(printf '%s\n' "${packages[@]}" | grep -vxF "$package"))
    fi
  done
fi
"${get[@]}" "${packages[@]}"
rm -rf /var/lib/apt/lists/*
