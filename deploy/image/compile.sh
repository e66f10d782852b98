#!/bin/bash
# Compiles axisd and axisctl for ARCH, stripped, into build/image/usr/bin.
#
# Usage: compile.sh ARCH
set -euo pipefail
cd "$(dirname "$0")/../.."
arch=$1 own=$(dpkg --print-architecture)
options=(-DBUILD_TESTING=OFF -DCMAKE_INSTALL_PREFIX=/usr)
if [[ $arch != "$own" ]]; then
  case $arch in
    arm64) triplet=aarch64-linux-gnu processor=aarch64 ;;
    amd64) triplet=x86_64-linux-gnu processor=x86_64 ;;
    *)
      echo "compile.sh: no cross-compiler for $arch" >&2
      exit 2
      ;;
  esac
  options+=(
    -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=$processor
    -DCMAKE_C_COMPILER=$triplet-gcc -DCMAKE_CXX_COMPILER=$triplet-g++
    -DCMAKE_LIBRARY_ARCHITECTURE=$triplet
    -DCMAKE_STRIP=/usr/bin/$triplet-strip)
  export PKG_CONFIG_LIBDIR=/usr/lib/$triplet/pkgconfig:/usr/share/pkgconfig
fi
options+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
cmake --preset release "${options[@]}"
cmake --build --preset release -j "$(nproc)" --target axisd axisctl
install -d build/image/usr/bin
for program in server/axisd client/axisctl; do
  install -s --strip-program="${triplet:+$triplet-}strip" \
    "build/release/$program" build/image/usr/bin/
done
