#!/usr/bin/env bash
# bench-scale.sh measures what grows with the size of an exchange, in this tree and in
# an earlier commit, and shows both beside the goals. It takes some minutes.
# LARGE=1 measures the sizes of the goals (a million threads). It needs 10 GB and two million
# inodes in $TMPDIR (/var/tmp) at most. A benchmark gets LIMIT seconds, the earlier commit half of
# MINUTES (38), and this tree the rest: what does not end in that time has "-" in the table.
# bench-scale.sh OLD NEW shows the results of an earlier run, from its two files.
#
# The earlier commit is the last one before the work on scale. A repository without it
# compares with the oldest commit that it has.
set -euo pipefail

BEFORE=eba9bba
out=dist/bench-scale
export TMPDIR=${TMPDIR:-/var/tmp}
if [ -n "${LARGE:-}" ]; then
	export MESSKIT_BENCH_LARGE=1
	LIMIT=${LIMIT:-180} stored=100000 ended=1000000
else
	unset LARGE
	LIMIT=${LIMIT:-90} stored=10000 ended=10000
fi
MINUTES=${MINUTES:-38}

# bench TREE PACKAGE PATTERN BENCHTIME: one benchmark. A package that is not there, or does
# not compile, has no results, and the table shows "-".
bench() {
	[ -d "$1/$2" ] || return 0
	(cd "$1" && limited "$2 $3" go test -run '^$' -bench "$3" -benchtime "$4" -timeout 3h "./$2" 2>&1) | grep -E '^(Benchmark|FAIL|panic|.*undefined)' || true
}

# limited NAME COMMAND...: a command within the limits of time.
limited() {
	local name=$1 left=$((until - SECONDS))
	shift
	progress "$name"
	[ "$left" -lt "$LIMIT" ] || left=$LIMIT
	if [ "$left" -le 0 ]; then
		progress "no time is left for it"
		return
	fi
	timeout "$left" "$@" || [ $? -ne 124 ] || progress "it did not end in $left s"
}

# progress shows a line on the terminal. Descriptor 3 is the standard error of the script,
# which bench merges with the output of go test.
progress() { echo "-- $((SECONDS / 60)) min $((SECONDS % 60)) s: $1" >&3; }
exec 3>&2

# measure TREE MINUTES: all benchmarks of a tree. The first ones need an idle disk, and the last
# ones leave it busy.
measure() {
	until=$((SECONDS + $2 * 60))
	sync
	for mqtt in exchange/channel/mqtt exchange/mqtt; do
		[ -d "$1/$mqtt" ] || continue
		(cd "$1" && MESSKIT_BENCH_MQTT=${N:-1000} limited "$mqtt TestBenchLatency" go test "./$mqtt" -run 'TestBenchLatency/embedded' -count=1 -v 2>&1) | grep '^embedded' || true
	done
	for files in exchange/store/files exchange/files; do
		for writers in 16 64 512; do
			bench "$1" "$files" "^BenchmarkClaim\$/^open=0\$/^writers=$writers\$/^on=disk\$" "${CLAIMS:-10000}x"
		done
	done
	bench "$1" exchange '^BenchmarkScale(Heartbeat|UnknownRef)$' 100x
	bench "$1" exchange '^BenchmarkScaleThread$' 300x
	for one in NewExecutor Location Restart List Memory; do
		bench "$1" exchange "^BenchmarkScale$one\$" 10x
	done
	bench "$1" agent '^BenchmarkUnderstand' 10x
	for http in exchange/channel/httpapi exchange/httpapi; do
		bench "$1" "$http" '^BenchmarkIdleReaders$' 1x
		bench "$1" "$http" '^BenchmarkIdlePolls$' 1x
	done
	for files in exchange/store/files exchange/files; do
		bench "$1" "$files" "^BenchmarkOpen\$/^state=pending\$/^threads=(0|$stored)\$" 1x
		bench "$1" "$files" "^BenchmarkOpen\$/^state=finished\$/^threads=(0|$stored)\$" 1x
		LIMIT=$((3 * LIMIT)) bench "$1" "$files" "^BenchmarkEnded\$/^ended=$ended\$" 1x
		LIMIT=$((3 * LIMIT)) bench "$1" "$files" "^BenchmarkCompaction\$/^ended=$ended\$" 1x
	done
}

# overlay OLD adds the benchmarks that the earlier commit does not have. Files below
# scripts/scale replace those of the same name that do not compile there.
overlay() {
	local file
	for file in exchange/scale_test.go exchange/scale_open_test.go agent/understand_test.go; do
		if [ -f "scripts/scale/$file.txt" ]; then
			cp "scripts/scale/$file.txt" "$1/$file"
		elif [ -f "$file" ] && [ ! -f "$1/$file" ]; then
			cp "$file" "$1/$file"
		fi
	done
	for file in exchange agent; do
		(cd "$1" && go vet "./$file" >/dev/null 2>&1) || echo "note: the benchmarks of $file do not compile in the earlier commit" >&2
	done
	if ! grep -q '512}' "$1"/exchange/files/bench_test.go 2>/dev/null; then
		sed -i 's/{1, 16, 64, 256}/{1, 16, 64, 256, 512}/' "$1"/exchange/files/bench_test.go
	fi
	# The earlier benchmark of MQTT has no ledger and no max_on, which each cost a sync.
	if [ -f "$1/exchange/mqtt/bench_test.go" ]; then
		sed -i -e '/^\ta := agent\.New(/{s/gate\.New([^)]*)[^)]*)/g/;s/^/\tlimits, kept := gate.DefaultConfig(), admin.In(h.TempDir())\n\tlimits.Defaults.MaxOn = time.Hour\n\tg := gate.New(limits, time.Now, quiet)\n\tg.Remember(kept.Acts(time.Now))\n\tg.Owe(kept.Dues(), []string{"bench-lamp"})\n/}' \
			-e 's#^\t"github.com/messkit/messkit/agent"$#&\n\t"github.com/messkit/messkit/agent/admin"#' "$1/exchange/mqtt/bench_test.go"
		if [ -d "$1/internal/collector" ]; then # as its messkit run does
			sed -i -e '0,/^\tfor _, name := /s//\tt.Cleanup(collector.DefaultPace().Keep())\n&/' \
				-e 's#^\t"github.com/messkit/messkit/internal/broker"#&\n\t"github.com/messkit/messkit/internal/collector"#' "$1/exchange/mqtt/bench_test.go"
		fi
		(cd "$1" && go vet ./exchange/mqtt >/dev/null 2>&1) || echo "note: the benchmark of MQTT does not compile in the earlier commit" >&2
	fi
}

if [ $# -eq 0 ]; then
	mkdir -p dist
	git cat-file -e "$BEFORE^{commit}" 2>/dev/null || BEFORE=$(git rev-list --max-parents=0 HEAD | tail -1)
	old=$(mktemp -d)
	trap 'git worktree remove --force "$old/tree" 2>/dev/null; rm -rf "$old"' EXIT
	git worktree add --quiet --detach "$old/tree" "$BEFORE"
	overlay "$old/tree"
	echo "== measuring commit $BEFORE in $TMPDIR ($(stat -f -c %T "$TMPDIR"), load $(cut -d' ' -f1 /proc/loadavg))"
	measure "$old/tree" $((MINUTES / 2)) | tee "$out-old.txt"
	echo "== measuring this tree (load $(cut -d' ' -f1 /proc/loadavg))"
	measure . $((MINUTES - (SECONDS + 59) / 60)) | tee "$out-new.txt"
	set -- "$out-old.txt" "$out-new.txt"
fi

awk -v large="${LARGE:+1}" -f scripts/bench-scale.awk "$@"
