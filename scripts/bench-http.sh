#!/usr/bin/env bash
# bench-http.sh measures the exchange over HTTP on loopback: the server is one
# process, its clients are another, on the same cores. Rows with 1 and 16 clients
# ask again as soon as they are answered: 16 keep both cores busy, and what they
# wait is mostly the queue that they are themselves. Rows with a rate have claims
# come so many a second, as executors send them, and count each from when it was
# due. The figures stand beside what they are meant to be; it fails only if the exchange does. The store on
# the disk is in $TMPDIR (/var/tmp). bench-http.sh FILE shows the figures of an
# earlier run.
set -euo pipefail

export TMPDIR=${TMPDIR:-/var/tmp}
figures=${1:-dist/bench-http.txt}

if [ $# -eq 0 ]; then
	mkdir -p "$(dirname "$figures")"
	echo "== measuring on $(nproc) cores, the disk being $TMPDIR ($(stat -f -c %T "$TMPDIR")), for some minutes; the figures go to $figures"
	go test -run '^$' -bench 'HTTP|Claims|IdleReaders' -benchtime "${BENCHTIME:-1s}" -timeout 1h ./exchange/channel/httpapi | tee "$figures"
fi

awk -f scripts/bench.awk -f <(cat <<'AWK'
END {
	printf "\n%-34s %10s %9s %9s %9s\n", "store/open/request/clients", "requests/s", "p50 ms", "p99 ms", "MB"
	for (i = 1; i <= rows; i++) {
		name = order[i]
		if (sub(/^HTTP\//, "", name)) printf "%-34s %10s %9s %9s %9s\n", name, show(figure(order[i], "ops/s"), 0), \
			show(figure(order[i], "p50-ms"), 2), show(figure(order[i], "p99-ms"), 2), show(figure(order[i], "rss-MB"), 0)
	}
	printf "\n%-34s %10s %9s %9s %9s\n", "store/claims a second that come", "requests/s", "p50 ms", "p99 ms", "MB"
	for (i = 1; i <= rows; i++) {
		name = order[i]
		if (sub(/^Claims\//, "", name)) printf "%-34s %10s %9s %9s %9s\n", name, show(figure(order[i], "ops/s"), 0), \
			show(figure(order[i], "p50-ms"), 2), show(figure(order[i], "p99-ms"), 2), show(figure(order[i], "rss-MB"), 0)
	}
	aim("create/s, in memory, 16 clients", figure("HTTP/memory/0/create/16", "ops/s"), 0, 5000)
	aim("get/s, in memory, 16 clients", figure("HTTP/memory/0/get/16", "ops/s"), 0, 20000)
	aim("p99 of a claim, in memory, 16 clients, ms", figure("HTTP/memory/0/claim/16", "p99-ms"), 2, 5, 1)
	aim("p99 of a claim, on the disk, 16 clients, ms", figure("HTTP/disk/0/claim/16", "p99-ms"), 2, 5, 1)
	aim("p99 of a claim, in memory, 2,000 a second, ms", figure("Claims/memory/2000", "p99-ms"), 2, 5, 1)
	aim("p99 of a claim, in memory, 5,000 a second, ms", figure("Claims/memory/5000", "p99-ms"), 2, 5, 1)
	aim("p99 of a claim, on the disk, 2,000 a second, ms", figure("Claims/disk/2000", "p99-ms"), 2, 5, 1)
	aim("10,000 idle streams of events, MB", figure("IdleReaders", "rss-MB"), 0, 300, 1)
	showAims()
}
AWK
) "$figures"
