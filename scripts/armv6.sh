#!/usr/bin/env bash
# armv6.sh BINARY runs the binary as on a Pi Zero (ARM1176, by qemu-user), and
# has it answer a request.
set -euo pipefail

if ! command -v qemu-arm-static >/dev/null; then
	echo "SKIP: qemu-arm-static is not there (apt-get install qemu-user-static)"
	exit 0
fi
binary=$(realpath "$1")
arm() { qemu-arm-static -cpu arm1176 "$binary" "$@"; }
dir=$(mktemp -d)
trap 'kill "$pid" 2>/dev/null || true; wait 2>/dev/null || true; rm -rf "$dir"' EXIT
export HOME=$dir
arm run --listen 127.0.0.1:0 >"$dir/log" 2>&1 &
pid=$!
url=
for _ in $(seq 300); do
	url=$(grep -o 'at http://[^ ]*' "$dir/log" | cut -c4- | head -1) && [ -n "$url" ] && break
	sleep 0.1
done
[ -n "$url" ] || { cat "$dir/log"; echo "it did not start"; exit 1; }
arm ask "what's in the fridge?" --url "$url" --wait --save "$dir"
ls "$dir"/*.jpg >/dev/null
