#!/usr/bin/env bash
# bench-scale.sh measures what grows with the size of an exchange, in this tree and in
# an earlier commit, and shows both beside the goals. It takes some minutes.
# LARGE=1 measures the sizes of the goals (a million threads), which takes long.
# bench-scale.sh OLD NEW shows the results of an earlier run, from its two files.
#
# The earlier commit is the last one before the work on scale. A repository without it
# compares with the oldest commit that it has.
set -euo pipefail

BEFORE=eba9bba
out=dist/bench-scale
export TMPDIR=${TMPDIR:-/var/tmp}
if [ -n "${LARGE:-}" ]; then export MESSKIT_BENCH_LARGE=1; fi

# bench TREE PACKAGE PATTERN BENCHTIME: one benchmark. A package that is not there, or
# does not compile, has no results, and the table shows "-".
bench() {
	[ -d "$1/$2" ] || return 0
	(cd "$1" && timeout "${LIMIT:-90}" go test -run '^$' -bench "$3" -benchtime "$4" -timeout 3h "./$2" 2>&1) | grep -E '^(Benchmark|FAIL|panic|.*undefined)' || true
}

# measure TREE runs all benchmarks of a tree.
measure() {
	for one in Heartbeat UnknownRef Thread Location NewExecutor Restart List Memory; do
		bench "$1" exchange "^BenchmarkScale$one\$" 3x
	done
	bench "$1" agent '^BenchmarkUnderstand' 3x
	for files in exchange/store/files exchange/files; do
		bench "$1" "$files" '^BenchmarkClaim$/^open=0$/^writers=(16|64|512)$/^on=disk$' "${BENCHTIME:-1s}"
		bench "$1" "$files" "^BenchmarkOpen\$/^state=(pending|finished)\$/^threads=(0|${LARGE:+100}${LARGE:-10}000)\$" 1x
	done
	(cd "$1" && MESSKIT_BENCH_MQTT=${N:-100} timeout "${LIMIT:-90}" go test ./exchange/channel/mqtt -run 'TestBenchLatency/embedded' -count=1 -v 2>&1) | grep '^embedded' || true
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
}

if [ $# -eq 0 ]; then
	mkdir -p dist
	git cat-file -e "$BEFORE^{commit}" 2>/dev/null || BEFORE=$(git rev-list --max-parents=0 HEAD | tail -1)
	old=$(mktemp -d)
	trap 'git worktree remove --force "$old/tree" 2>/dev/null; rm -rf "$old"' EXIT
	git worktree add --quiet --detach "$old/tree" "$BEFORE"
	overlay "$old/tree"
	echo "== measuring commit $BEFORE in $TMPDIR ($(stat -f -c %T "$TMPDIR"), load $(cut -d' ' -f1 /proc/loadavg))"
	measure "$old/tree" | tee "$out-old.txt"
	echo "== measuring this tree (load $(cut -d' ' -f1 /proc/loadavg))"
	measure . | tee "$out-new.txt"
	set -- "$out-old.txt" "$out-new.txt"
fi

awk -v large="${LARGE:+1}" -f scripts/bench-scale.awk "$@"
