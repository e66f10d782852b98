#!/bin/bash
# Runs the kernels' own tests as arm64, where they move bytes with NEON, under
# qemu-user: ./dev neon.
#
# Usage: neon.sh FOLDER
#   FOLDER: where arm64's libraries, objects and programs go. Nothing of the
#           machine's own packages is touched: what tests link is unpacked.
# Needs g++-aarch64-linux-gnu, qemu-user-static and Debian's archive.
# AXIS_COPY_PLANS, AXIS_CHAINS: how many random copies and chains, as natively.
# Left out: a test of memory running out, which qemu does not let happen.
set -euo pipefail
cd "$(dirname "$0")/../.."
out=$(mkdir -p "$1" && cd "$1" && pwd) triplet=aarch64-linux-gnu
root=$out/root
tests=(view ops plan program chains graph buffer_pool copy pieces)

# Debian's packages for arm64, and those that they need here.
apt() {
  apt-get -q -o APT::Architecture=arm64 -o APT::Architectures::=arm64 \
    -o Dir::State="$out/apt" -o Dir::State::status="$out/apt/status" \
    -o Dir::Cache="$out/apt" -o APT::Sandbox::User=root "$@"
}
if [[ ! -f $root/done ]]; then
  mkdir -p "$out/apt/lists/partial" "$out/apt/archives/partial" "$root"
  touch "$out/apt/status"
  apt -o Acquire::Languages=none update >/dev/null
  apt -y --no-install-recommends --download-only install \
    libhwy-dev libtbb-dev libabsl-dev libgtest-dev libgmock-dev >"$out/apt.log"
  for package in "$out"/apt/archives/*.deb; do dpkg -x "$package" "$root"; done
  touch "$root/done"
fi

# All of it every time: it takes a minute.
libraries=$root/usr/lib/$triplet
compile() {
  $triplet-g++ -std=c++20 -O2 -w -I. -isystem "$root/usr/include" \
    '-DHWY_DISABLED_TARGETS=(HWY_SVE|HWY_SVE2|HWY_SVE_256|HWY_SVE2_128)' -c "$1" -o "$out/$(tr / _ <<<"${1%.cc}").o"
}
export -f compile
export triplet root out
mapfile -t kernels < <(find kernels -name '*.cc')
printf '%s\n' "${kernels[@]}" "${tests[@]/%/_test.cc}" |
  sed 's|^\([a-z_]*_test.cc\)$|tests/kernels/\1|' |
  xargs -P "$(nproc)" -I{} bash -c 'compile {}'

status=0 passed=0
for test in "${tests[@]}"; do
  $triplet-g++ "$out/tests_kernels_${test}_test.o" "$out"/kernels_*.o \
    -o "$out/${test}_test" -L"$libraries" -Wl,-rpath-link="$libraries" \
    -Wl,--start-group -lgmock -lgtest -lgtest_main "$libraries"/libabsl_*.so \
    -lhwy -ltbb -Wl,--end-group -lpthread
  if qemu-aarch64-static -L "$root" -E LD_LIBRARY_PATH="$libraries" \
    "$out/${test}_test" --gtest_filter=-BufferPoolDeathTest.* \
    >"$out/$test.log" 2>&1; then
    passed=$((passed + $(grep -c '^\[       OK' "$out/$test.log")))
  else
    tail -30 "$out/$test.log"
    status=1
  fi
done
echo "summary: neon: $passed tests of the kernels passed under qemu-aarch64"
exit $status
