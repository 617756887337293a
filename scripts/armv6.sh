#!/usr/bin/env bash
# armv6.sh BINARY runs the binary as on a Pi Zero (ARM1176, by qemu-user) through
# the whole demo: looking, switching, and moving after a question and a yes.
set -euo pipefail

if ! command -v qemu-arm-static >/dev/null; then
	echo "SKIP: qemu-arm-static is not there (apt-get install qemu-user-static)"
	exit 0
fi
scripts=$(realpath "$(dirname "$0")")
binary=$(realpath "$1")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/bin"
printf '#!/bin/sh\nexec qemu-arm-static -cpu arm1176 "%s" "$@"\n' "$binary" >"$dir/bin/messkit"
chmod +x "$dir/bin/messkit"
cd "$dir"
"$scripts/demo.sh" "$dir/bin/messkit" >"$dir/out" 2>&1 || { cat "$dir/out"; echo "the demo failed on armv6"; exit 1; }
# What a person would see: three tasks done, the picture and the map, and no other end.
[ "$(grep -cE '^20[0-9-]+ +completed ' "$dir/out")" -eq 4 ] || { cat "$dir/out"; echo "not every task of the demo was completed"; exit 1; }
for picture in fridge-camera porch-camera vacuum-map; do
	[ -n "$(find demo -name "*$picture.*" -size +1k)" ] || { cat "$dir/out"; echo "no picture of $picture"; exit 1; }
done
echo "the demo runs as on a Pi Zero: $(find demo -type f | wc -l) pictures"
