#!/usr/bin/env bash
# powercut.sh N cuts the power of a simulated disk N times under a loaded
# exchange, and checks that nothing that was acknowledged is lost; then leaves
# syncs out, and checks that something is. powercut.sh N acts does the same to an
# exchange with its executor, and asks the devices what was done to them. Needs
# root and loop devices; without them the tests say so and are skipped.
set -euo pipefail

cuts=${1:-200}
case ${2:-threads} in
threads) tests='^TestPowerCuts' ;; # also with syncs left out
cuts) tests='^TestPowerCuts$' ;; # without leaving syncs out, which takes minutes
acts) tests='^TestPowerCutDuringAct' ;;
*) echo "powercut.sh: $2 is unknown; write threads, cuts or acts" >&2 && exit 2 ;;
esac
sudo=()
if [ "$(id -u)" -ne 0 ]; then
	if ! sudo -n true 2>/dev/null; then
		echo "== no simulated power cuts: they need root; sudo make powercut does them"
		exit 0
	fi
	sudo=(sudo)
fi
scripts/need.sh mkfs.btrfs:btrfs-progs mkfs.ext4:e2fsprogs mount:mount strace:strace

# The disk is a file, quickest in memory, where there is enough of it.
dir=${TMPDIR:-/tmp}
free=$(df --output=avail -k /dev/shm 2>/dev/null | tail -1 || true) # KiB
if [ "${free:-0}" -gt $((2 * 1024 * 1024)) ] && [ -w /dev/shm ]; then
	dir=/dev/shm
fi
dir=$(mktemp -d "$dir/powercut-XXXXXX")

trap '"${sudo[@]}" rm -rf "$dir"' EXIT

echo "== $cuts simulated power cuts"
go test -c -o "$dir/powercut.test" ./cmd/messkit
cd cmd/messkit # the tests build the binary from there
"${sudo[@]}" env "PATH=$PATH:/usr/sbin:/sbin" "HOME=$HOME" "GOFLAGS=${GOFLAGS:-}" "GOCACHE=$(go env GOCACHE)" \
	"TMPDIR=$dir" "MESSKIT_POWERCUTS=$cuts" "$dir/powercut.test" -test.run "$tests" -test.v -test.timeout 5h
