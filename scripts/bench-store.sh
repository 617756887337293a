#!/usr/bin/env bash
# bench-store.sh measures the file store and shows the figures beside what they
# are meant to be. It fails only if the store does: how fast a disk is, is no
# test. The folders are made in $TMPDIR (/var/tmp), which must be on the disk in
# question. MESSKIT_BENCH_LARGE=1 adds 100,000 threads, and takes long.
# bench-store.sh FILE shows the figures of an earlier run.
set -euo pipefail

export TMPDIR=${TMPDIR:-/var/tmp}
figures=${1:-dist/bench-store.txt}

if [ $# -eq 0 ]; then
	mkdir -p "$(dirname "$figures")"
	echo "== measuring in $TMPDIR ($(stat -f -c %T "$TMPDIR")), for some minutes; the figures go to $figures"
	go test -run '^$' -bench . -benchtime "${BENCHTIME:-1s}" -timeout 2h ./exchange/files | tee "$figures"
fi

# In a line of go test: the name, how often, and then pairs of figure and unit.
awk '
function figure(unit,   i) {
	for (i = 3; i < NF; i += 2) if ($(i + 1) == unit) return $i
	return ""
}
function show(v, digits) { return v == "" ? "-" : sprintf("%." digits "f", v) }
function aim(what, found, digits, bound, most,   met) {
	met = found == "" ? "-" : (most ? found <= bound : found >= bound) ? "met" : "MISSED"
	aims[++n] = sprintf("%-56s %s %6s %10s  %s", what, most ? "<=" : ">=", bound, show(found, digits), met)
}
function ratio(a, b) { return a == "" || b == "" || b == 0 ? "" : a / b }
/^Benchmark/ {
	name = substr($1, 10)
	sub(/-[0-9]+$/, "", name)
	gsub(/(on|open|writers|state|threads)=/, "", name)
	order[++rows] = name
	took[name] = figure("ns/op")
	rate[name] = figure("ops/s")
	p50[name] = figure("p50-ms")
	p99[name] = figure("p99-ms")
	most[name] = figure("max-ms")
	chars[name] = figure("written-B/op")
	disk[name] = figure("disk-B/op")
	rss[name] = figure("rss-MB")
	settled[name] = figure("settled-MB")
}
END {
	printf "\n%-28s %10s %9s %9s %9s %9s %11s %11s\n", "step/open/writers/on", "ms a step", "steps/s", "p50 ms", "p99 ms", "max ms", "KB written", "KB to disk"
	for (i = 1; i <= rows; i++) {
		name = order[i]
		if (name ~ /^Open/) continue
		printf "%-28s %10s %9s %9s %9s %9s %11s %11s\n", name, show(took[name] / 1e6, 3), show(rate[name], 0), show(p50[name], 2), show(p99[name], 2), show(most[name], 1), \
			show(chars[name] == "" ? "" : chars[name] / 1024, 1), show(disk[name] == "" ? "" : disk[name] / 1024, 1)
	}
	printf "\n%-28s %10s %9s %9s\n", "cold start/state/threads", "s", "MB then", "MB kept"
	for (i = 1; i <= rows; i++) {
		name = order[i]
		if (name ~ /^Open/) printf "%-28s %10s %9s %9s\n", name, show(took[name] / 1e9, 3), show(rss[name], 1), show(settled[name], 1)
	}

	aim("claims/s, 16 writers, synced", rate["Claim/0/16/disk"], 0, 3000)
	aim("claims/s, 64 writers, synced", rate["Claim/0/64/disk"], 0, 20000)
	# Without a slope the ratio is 1; the rest is for the disk, which is never the same twice.
	aim("time of a claim, 10,000 open to none, 16 writers", ratio(took["Claim/10000/16/disk"], took["Claim/0/16/disk"]), 2, 1.25, 1)
	aim("time of an append, 10,000 open to none, 16 writers", ratio(took["Append/10000/16/disk"], took["Append/0/16/disk"]), 2, 1.25, 1)
	aim("p99 of a claim, 100,000 open to none, 16 writers", ratio(p99["Claim/100000/16/disk"], p99["Claim/0/16/disk"]), 2, 2, 1)
	aim("cold start with 100,000 pending, s", ratio(took["Open/pending/100000"], 1e9), 2, 2, 1)
	aim("memory then, MB", rss["Open/pending/100000"], 0, 150, 1)
	aim("cold start with 100,000 finished, s", ratio(took["Open/finished/100000"], 1e9), 2, 2, 1)
	aim("memory then, MB", rss["Open/finished/100000"], 0, 200, 1)
	printf "\n%-56s %9s %10s\n", "aim", "wanted", "found"
	for (i = 1; i <= n; i++) print aims[i]
}' "$figures"
