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
	go test -run '^$' -bench . -benchtime "${BENCHTIME:-1s}" -timeout 2h ./exchange/store/files | tee "$figures"
fi

awk -f scripts/bench.awk -f <(cat <<'AWK'
function kib(v) { return v == "" ? "" : v / 1024 }
END {
	printf "\n%-28s %10s %9s %9s %9s %9s %11s %11s\n", "step/open/writers/on", "ms a step", "steps/s", "p50 ms", "p99 ms", "max ms", "KB written", "KB to disk"
	for (i = 1; i <= rows; i++) {
		name = order[i]
		if (name ~ /^Open/) continue
		printf "%-28s %10s %9s %9s %9s %9s %11s %11s\n", name, show(figure(name, "ns/op") / 1e6, 3), show(figure(name, "ops/s"), 0), \
			show(figure(name, "p50-ms"), 2), show(figure(name, "p99-ms"), 2), show(figure(name, "max-ms"), 1), \
			show(kib(figure(name, "written-B/op")), 1), show(kib(figure(name, "disk-B/op")), 1)
	}
	printf "\n%-28s %10s %9s %9s\n", "cold start/state/threads", "s", "MB then", "MB kept"
	for (i = 1; i <= rows; i++) {
		name = order[i]
		if (name ~ /^Open/) printf "%-28s %10s %9s %9s\n", name, show(figure(name, "ns/op") / 1e9, 3), show(figure(name, "rss-MB"), 1), show(figure(name, "settled-MB"), 1)
	}

	aim("claims/s, 16 writers, synced", figure("Claim/0/16/disk", "ops/s"), 0, 3000)
	aim("claims/s, 64 writers, synced", figure("Claim/0/64/disk", "ops/s"), 0, 20000)
	# Without a slope the ratio is 1; the rest is for the disk, which is never the same twice.
	aim("time of a claim, 10,000 open to none, 16 writers", ratio(figure("Claim/10000/16/disk", "ns/op"), figure("Claim/0/16/disk", "ns/op")), 2, 1.25, 1)
	aim("time of an append, 10,000 open to none, 16 writers", ratio(figure("Append/10000/16/disk", "ns/op"), figure("Append/0/16/disk", "ns/op")), 2, 1.25, 1)
	aim("p99 of a claim, 100,000 open to none, 16 writers", ratio(figure("Claim/100000/16/disk", "p99-ms"), figure("Claim/0/16/disk", "p99-ms")), 2, 2, 1)
	aim("cold start with 100,000 pending, s", ratio(figure("Open/pending/100000", "ns/op"), 1e9), 2, 2, 1)
	aim("memory then, MB", figure("Open/pending/100000", "rss-MB"), 0, 150, 1)
	aim("cold start with 100,000 finished, s", ratio(figure("Open/finished/100000", "ns/op"), 1e9), 2, 2, 1)
	aim("memory then, MB", figure("Open/finished/100000", "rss-MB"), 0, 200, 1)
	showAims()
}
AWK
) "$figures"
