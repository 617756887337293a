#!/usr/bin/env bash
# bench-fleet.sh measures what a fleet costs one exchange with its store in files, and three exchanges on
# three NATS servers, all on this machine. SIZES are the numbers of executors, RATE the requests a second,
# and FOR the time of each run. The program of the first argument runs everything.
set -euo pipefail

messkit=$(realpath "$1")
PATH=$PATH:$PWD/bin
sizes=${SIZES:-100 1000 10000} rate=${RATE:-200} time=${FOR:-60s}
dir=$(mktemp -d "${TMPDIR:-/var/tmp}/bench-fleet-XXXXXX")
cluster=
trap '[ -z "$cluster" ] || { kill "$cluster" && wait "$cluster" || true; }; rm -rf "$dir"' EXIT

# ticks PID... prints the processor time of processes, in seconds.
ticks() {
	local sum=0 pid
	for pid; do
		sum=$((sum + $(sed 's/.*) //' "/proc/$pid/stat" | cut -d ' ' -f 12,13 | tr ' ' +)))
	done
	awk -v t="$sum" -v hz="$(getconf CLK_TCK)" 'BEGIN { print t / hz }'
}

# row STORE SERVERS prints a line of the table from the report on standard input. SERVERS is the processor
# time of the NATS servers in seconds.
row() {
	jq -r --arg store "$1" --argjson servers "$2" '
		def figure(d): . * pow(10; d) | round / pow(10; d) | tostring;
		[$store, .executors, (.created / .seconds | figure(1)), (.create_to_claimed.p50_ms | figure(0)), (.create_to_claimed.p99_ms | figure(0)),
		(.exchange_cpu_percent / 100 * .seconds / .created * 1000 | figure(2)), ($servers / .created * 1000 | figure(2)),
		(.exchange_rss / 1048576 | figure(0)), "\(.lost | length), \(.doubled | length), \(.unfinished)"] | map(tostring) | "| " + join(" | ") + " |"'
}

echo "== fleets of $sizes executors, $rate requests a second for $time each, on $(nproc) processors with a load of $(cut -d ' ' -f 1 /proc/loadavg)"
echo "| store | executors | requests/s | to the claim, p50 ms | p99 ms | processor time of the exchanges a request, ms | of the NATS servers, ms | memory of the exchanges, MB | lost, doubled, unfinished |"
echo "|---|---|---|---|---|---|---|---|---|"
fleet=(simulate-fleet --rate "$rate" --for "$time" --heartbeat 5m --json)
for n in $sizes; do
	"$messkit" "${fleet[@]}" --executors "$n" 2>"$dir/log" | row "files, 1 exchange" 0
done
for n in $sizes; do
	rm -rf "$dir/data"
	"$messkit" exchange --cluster-dev 3 --data "$dir/data" --listen 127.0.0.1:0 >"$dir/cluster" 2>"$dir/log" &
	cluster=$!
	until grep -q 'kill -9' "$dir/cluster"; do
		kill -0 "$cluster" || { cat "$dir/log" >&2; exit 1; }
		sleep 0.2
	done
	servers=$(sed -n 's/^nats-server .* process //p' "$dir/cluster")
	urls=$(sed -n 's/^exchange .* at \([^,]*\),.*/\1/p' "$dir/cluster" | paste -sd ,)
	# The report comes before the fleet leaves, which costs the servers time that is not of requests.
	# shellcheck disable=SC2086
	before=$(ticks $servers)
	mkfifo "$dir/report.$n"
	"$messkit" "${fleet[@]}" --executors "$n" --url "$urls" --key-file "$dir/data/cluster/node1/operator.key" 2>"$dir/log" >"$dir/report.$n" &
	report=$(awk '{ print } /^}/ { exit }' "$dir/report.$n")
	# shellcheck disable=SC2086
	row "NATS, 3 exchanges" "$(awk -v a="$before" -v b="$(ticks $servers)" 'BEGIN { print b - a }')" <<<"$report"
	kill "$cluster" && wait "$cluster" || true
	cluster=
done
