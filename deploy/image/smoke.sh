#!/bin/bash
# Runs an image as production does: non-root, a read-only root, no capability,
# no new privilege, 256 MB, half a CPU. Calls it, and stops it.
#
# Usage: smoke.sh IMAGE ARCH MOUNT STORE_FLAGS...   see build.sh
set -euo pipefail
cd "$(dirname "$0")/../.."
image=$1 arch=$2 mount=$3
shift 3
port=18201
flags=("--listen=127.0.0.1:$port" --metrics=127.0.0.1:$((port + 1))
  --max_message_bytes=16MiB --max_inflight_bytes=32MiB --max_idle_bytes=16MiB
  --drain_delay=1s)
photo=tests/data/astronaut.npy
out=build/image

say() { echo "== $*"; }
fail() { echo "FAILED: $*" >&2; exit 1; }

# Another machine's image runs in QEMU, without the limits.
if [[ $arch != "$(dpkg --print-architecture)" ]]; then
  case $arch in arm64) qemu=qemu-aarch64-static ;; amd64) qemu=qemu-x86_64-static ;; esac
  command -v "$qemu" >/dev/null || {
    echo "SKIPPED running it: no $qemu (Debian package qemu-user-static)"
    exit
  }
  "$qemu" -L "$mount" "$mount/usr/bin/axisd" "${flags[@]}" 2>"$out/axisd.log" &
  axisd=$!
  axisctl() { "$qemu" -L "$mount" "$mount/usr/bin/axisctl" "$@"; }
  stop() { kill "$axisd"; wait "$axisd"; }
else
  printf '[containers]\ndefault_ulimits = []\n' >"$out/containers.conf"
  export CONTAINERS_CONF=$PWD/$out/containers.conf
  podman=(podman "$@" --cgroup-manager cgroupfs --runtime runc)
  name=axisd-smoke-$$
  locked=(--rm --no-healthcheck --ulimit host --network host --read-only
    --cap-drop all --security-opt no-new-privileges --memory 256m --cpus 0.5)
  "${podman[@]}" run "${locked[@]}" --name "$name" "$image" "${flags[@]}" \
    >"$out/axisd.log" 2>&1 &
  axisd=$!
  axisctl() { "${podman[@]}" exec -i "$name" /usr/bin/axisctl "$@"; }
  stop() {
    "${podman[@]}" kill --signal TERM "$name" >/dev/null
    wait "$axisd"
  }
fi

for _ in {1..100}; do
  axisctl --server=127.0.0.1:$port health readiness >/dev/null 2>&1 && break
  kill -0 "$axisd" || { cat "$out/axisd.log"; fail "it ended"; }
  sleep 0.2
done
[[ $(axisctl --server=127.0.0.1:$port health liveness) == SERVING ]] ||
  fail "it does not serve"

axisctl --server=127.0.0.1:$port transpose 'order: [2, 0, 1]' <$photo \
  >"$out/planes.npy" || fail "a call"
axisctl --server=127.0.0.1:$port transpose 'order: [1, 2, 0]' \
  <"$out/planes.npy" >"$out/back.npy" || fail "the call back"
cmp "$out/back.npy" $photo || fail "the photograph came back changed"
say "the photograph went there and back unchanged"

if [[ -n ${name:-} ]]; then
  pid=$("${podman[@]}" inspect --format '{{.State.Pid}}' "$name")
  group=$(sed -n 's/^[0-9]*:memory://p' "/proc/$pid/cgroup")
  limit=$(cat "/sys/fs/cgroup/memory$group/memory.limit_in_bytes" 2>/dev/null ||
    cat "/sys/fs/cgroup$(sed -n 's/^0:://p' "/proc/$pid/cgroup")/memory.max")
  threads=$(sed -n 's/.*threads=\([0-9]*\).*/\1/p' "$out/axisd.log" | head -n 1)
  say "$(grep -E '^(Uid|CapEff|NoNewPrivs|Seccomp):' "/proc/$pid/status" |
    tr '\t\n' '  '): memory limit $limit, threads $threads"
  grep -q '^CapEff:.*0000000000000000' "/proc/$pid/status" || fail "capabilities"
  grep -q '^Uid:.65532' "/proc/$pid/status" || fail "user"
  [[ $limit == 268435456 ]] || fail "memory limit"
  [[ $threads == 1 ]] || fail "half a CPU is one thread, not $threads"
fi
status=0
stop || status=$?
[[ $status == 0 ]] || { cat "$out/axisd.log"; fail "SIGTERM: it ended with $status"; }
say "SIGTERM: it ended with 0"

# The Deployment as Kubernetes would be given it, as far as podman goes.
[[ -n ${name:-} ]] || exit 0
if ! rendered=$(kubectl kustomize deploy/overlays/dev 2>/dev/null ||
  kustomize build deploy/overlays/dev 2>/dev/null); then
  echo "SKIPPED the Deployment in podman: no kubectl and no kustomize"
  exit 0
fi
port=$((port + 2))
deploy/image/play.py "$image" $port <<<"$rendered" >"$out/pod.yaml"
"${podman[@]}" play kube "$out/pod.yaml" >"$out/play.log" 2>&1 ||
  { cat "$out/play.log"; fail "podman play kube"; }
status=1
for _ in {1..100}; do
  "${podman[@]}" exec axisd-pod-0-axisd /usr/bin/axisctl \
    --server=127.0.0.1:$port health readiness >/dev/null 2>&1 && status=0 && break
  sleep 0.2
done
"${podman[@]}" play kube --down "$out/pod.yaml" >>"$out/play.log" 2>&1
[[ $status == 0 ]] || { cat "$out/play.log"; fail "the Deployment does not serve"; }
say "the rendered Deployment served in podman"
