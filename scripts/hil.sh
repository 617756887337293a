#!/usr/bin/env bash
# hil.sh MACHINE... boots Debian's own kernels under qemu's emulation, and runs
# the drivers on their kernel interfaces: x86_64, arm64, and raspi3b with the GPIO
# controller of a Raspberry Pi. Kernels are fetched once, into HIL_CACHE or
# ~/.cache/messkit-hil. A line HIL-SKIP reports a missing part, and is an error
# with HIL_REQUIRE=1.
set -euo pipefail

machines=${*:-x86_64 raspi3b arm64}
if command -v apt-get >/dev/null; then
	# Without the right to install, the test says what is missing.
	scripts/need.sh qemu-system-x86_64:qemu-system-x86 qemu-system-aarch64:qemu-system-arm dpkg-deb:dpkg || true
fi
echo "== drivers on real kernel interfaces: $machines"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
HIL="$machines" go test ./internal/test/hil -run TestMachines -count=1 -v -timeout 10m | tee "$log" | grep -avE '^(=== |\s*$)' || exit 1
grep -ao 'HIL-SKIP: .*' "$log" || true
