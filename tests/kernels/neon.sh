#!/bin/bash
# Runs the kernels' own tests as arm64, where they move bytes with NEON, under
# qemu-user: ./dev neon.
#
# Usage: neon.sh FOLDER
#   FOLDER: where arm64's libraries, objects and programs go. Nothing of the
#           machine's own packages is touched: what tests link is unpacked.
# Needs g++-aarch64-linux-gnu, qemu-user-static and Debian's archive.
# AXIS_COPY_PLANS, AXIS_CHAINS: how many random copies and chains, as natively.
# Left out: a test of memory running out, which qemu does not let happen; and that
# against oneDNN, which looks at layouts and ops: their bytes are the same here.
set -euo pipefail
cd "$(dirname "$0")/../.."
out=$(mkdir -p "$1" && cd "$1" && pwd) triplet=aarch64-linux-gnu
root=$out/root

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

# All of it every time: it takes a minute. What the kernels are compiled with is
# said where they are built.
libraries=$root/usr/lib/$triplet
targets=$(grep -o 'HWY_DISABLED_TARGETS=[^"]*' kernels/CMakeLists.txt)
compile() {
  $triplet-g++ -std=c++20 -O2 "-D$targets" -I. -isystem "$root/usr/include" \
    -c "$1" -o "$out/$(tr / _ <<<"${1%.cc}").o"
}
export -f compile
export triplet root out targets
rm -f "$out"/*.o  # of sources that are gone
mapfile -t tests < <(find tests/kernels -name '*_test.cc' | grep -v onednn)
find kernels -name '*.cc' | cat - <(printf '%s\n' "${tests[@]}") |
  xargs -P "$(nproc)" -I{} bash -c 'compile {}'

status=0 passed=0
for source in "${tests[@]}"; do
  test=$(basename "$source" .cc)
  $triplet-g++ "$out/$(tr / _ <<<"${source%.cc}").o" "$out"/kernels_*.o \
    -o "$out/$test" -L"$libraries" -Wl,-rpath-link="$libraries" \
    -Wl,--start-group -lgmock -lgtest -lgtest_main "$libraries"/libabsl_*.so \
    -lhwy -ltbb -Wl,--end-group -lpthread
  if qemu-aarch64-static -L "$root" -E LD_LIBRARY_PATH="$libraries" \
    "$out/$test" --gtest_filter=-BufferPoolDeathTest.* \
    >"$out/$test.log" 2>&1; then
    passed=$((passed + $(grep -c '^\[       OK' "$out/$test.log")))
  else
    tail -30 "$out/$test.log"
    status=1
  fi
done
echo "summary: neon: $passed tests of the kernels passed under qemu-aarch64"
exit $status
