#!/usr/bin/env bash
# Does this repository work on a bare Debian 12? Makes one in a temporary
# folder, clones HEAD into it, and runs `./dev demo` and `./dev test` there.
#
# Usage: tests/fresh.sh [COMMAND...]    as root; takes a quarter of an hour
#
# Needs debootstrap and the network. COMMANDs are those of ./dev, by default
# demo and test.
set -euo pipefail
cd "$(dirname "$0")/.."
commands=("$@")
[[ $# -gt 0 ]] || commands=(demo test)
[[ $(id -u) == 0 ]] || { echo "Run me as root: I chroot." >&2; exit 2; }

root=$(mktemp -d "${TMPDIR:-/var/tmp}/axisd-fresh.XXXXXX")
mounted=()

clean_up() {
  local folder
  # Tests that make network namespaces mount one, too.
  umount "$root/run/netns" 2>/dev/null || true
  for folder in "${mounted[@]}"; do
    umount "$folder" || umount --lazy "$folder"
  done
  # Never across a mount: what is not ours must survive a failed umount.
  rm -rf --one-file-system "$root"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

# The mirror of this machine, from the first entry of either kind of list.
mirror=$(sed -n -E 's/^URIs: *([^ ]+).*/\1/p;
                    s/^deb (\[[^]]*\] )?([^ ]+).*/\2/p' \
  /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list \
  /etc/apt/sources.list.d/*.list 2>/dev/null | head -n 1 || true)
mirror=${mirror:-http://deb.debian.org/debian}

step() {
  local name=$1 start=$SECONDS
  shift
  echo "== $name"
  if ! "$@" >"$root.log" 2>&1; then
    tail -n 60 "$root.log"
    echo "== $name FAILED after $((SECONDS - start)) s; all of it: $root.log"
    exit 1
  fi
  tail -n "${lines:-3}" "$root.log"
  echo "== $name took $((SECONDS - start)) s"
  rm -f "$root.log"
}

step "bare Debian 12 from $mirror" \
  debootstrap --variant=minbase bookworm "$root" "$mirror"

# How this machine reaches its mirror: proxies, certificates, names.
cp -a /etc/apt/apt.conf.d/. "$root/etc/apt/apt.conf.d/"
for file in /etc/apt/apt.conf /etc/resolv.conf /etc/hosts; do
  [[ ! -e $file ]] || cp -L "$file" "$root$file"
done
if [[ -e /etc/apt/sources.list.d/debian.sources ]]; then
  rm -f "$root/etc/apt/sources.list"
  cp /etc/apt/sources.list.d/debian.sources "$root/etc/apt/sources.list.d/"
fi
for kind in proc dev; do
  if [[ $kind == proc ]]; then
    mount -t proc proc "$root/proc"
  else
    mount --bind /dev "$root/dev"
  fi
  mounted=("$root/$kind" "${mounted[@]}")
done

git clone -q --no-hardlinks . "$root/axisd"
for command in "${commands[@]}"; do
  lines=25 step "./dev $command" env -i HOME=/root TERM=dumb CI=true \
    PATH=/usr/sbin:/usr/bin:/sbin:/bin \
    http_proxy="${http_proxy:-}" https_proxy="${https_proxy:-}" \
    taskset -c 0,1 chroot "$root" bash -c "cd /axisd && ./dev $command" \
    </dev/null
done
lines=8 step "./dev ${commands[0]}, again" taskset -c 0,1 chroot "$root" \
  bash -c "cd /axisd && ./dev ${commands[0]}"
