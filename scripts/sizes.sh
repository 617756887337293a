#!/usr/bin/env bash
# sizes.sh prints the size of every binary in dist/ and the memory of an idle
# `messkit run`, and fails if a limit is passed.
set -euo pipefail

max_binary=25300000               # bytes of the stripped armv6 binary with all drivers and channels
max_idle=$((40 * 1024 + 512))    # KiB of resident memory on amd64, two thirds of it the program itself

print_mib() { awk -v what="$1" -v kib="$2" 'BEGIN { printf "%-28s %6.2f MiB\n", what, kib / 1024 }'; }

for file in dist/messkit-linux-*; do
	print_mib "$(basename "$file")" $(($(stat -c %s "$file") / 1024))
done
size=$(stat -c %s dist/messkit-linux-armv6)

dir=$(mktemp -d)
trap 'kill "$pid" 2>/dev/null || true; wait 2>/dev/null || true; rm -rf "$dir"' EXIT
HOME=$dir dist/messkit-linux-amd64 run --listen 127.0.0.1:0 >"$dir/log" 2>&1 &
pid=$!
for _ in $(seq 100); do
	grep -q "exchange .* at http" "$dir/log" && break
	sleep 0.1
done
sleep 10 # idle: what the start needed has been given back
rss=$(awk '/^VmRSS/ { print $2 }' "/proc/$pid/status")
print_mib "idle memory (VmRSS)" "$rss"

[ "$size" -le "$max_binary" ] || { echo "the armv6 binary is over 25.3 MB"; exit 1; }
[ "$rss" -le "$max_idle" ] || { echo "an idle messkit run is over 40.5 MiB"; exit 1; }
