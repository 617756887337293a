#!/usr/bin/env bash
# model.sh checks the model of a task (docs/model/execution.pml) with spin: that
# every invariant holds, and that each piece which is left out is missed, by the
# invariant that it is there for.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# check WANT NAME FLAGS... : WANT is "holds", "ends" (no cycle, so that every run
# comes to an end) or the invariant that must fall.
check() {
	local want=$1 name=$2 dir got compile=(-DSAFETY) search=() optimize=-O2
	shift 2
	if [ "$want" = ends ]; then
		compile=(-DNP -DNOFAIR) search=(-l)
	fi
	dir=$(mktemp -d "$tmp/XXXX")
	[ "${want#I}" = "$want" ] || optimize=-O0 # its search is over at once
	cp "$root/docs/model/execution.pml" "$dir"
	cd "$dir"
	spin -a "$@" execution.pml >spin.out || { cat spin.out; return 1; }
	gcc -w "$optimize" "${compile[@]}" -o pan pan.c
	./pan "${search[@]}" -m100000 >out 2>&1
	got=$want
	if ! grep -q 'errors: 0' out; then
		spin -t -T "$@" execution.pml >trail 2>&1 || true
		line=$(grep -oE 'execution.pml:[0-9]+, Error' trail | grep -oE '[0-9]+' | head -1)
		got=$(sed -n "${line:-0}{s,.*/\* *\(I[0-9]*\) .*,\1,p}" execution.pml 2>/dev/null)
		got=${got:-$(grep -oE 'pan:1: [a-z -]*' out)}
	elif [ "${want#I}" != "$want" ]; then
		got=nothing
	fi
	printf '%-26s %-8s %s states, %s steps deep\n' "$name" "$got" \
		"$(grep -oE '[0-9.e+]+ states, stored' out | cut -d' ' -f1)" "$(grep -oE 'depth reached [0-9]+' out | cut -d' ' -f3)"
	grep -q 'max search depth too small' out && { echo "$name: the search was cut short"; return 1; }
	[ "$got" = "$want" ] || { echo "$name: $got, want $want"; return 1; }
}

# all runs the checks of standard input, two at a time, and fails if one does.
all() {
	local failed=0 running=0
	while read -r want name flags; do
		[ -n "$want" ] || continue
		# shellcheck disable=SC2086
		check "$want" "$name" $flags &
		running=$((running + 1))
		if [ "$running" -ge 2 ]; then
			wait -n || failed=1
			running=$((running - 1))
		fi
	done
	while [ "$running" -gt 0 ]; do
		wait -n || failed=1
		running=$((running - 1))
	done
	return "$failed"
}

echo "== the design: four executors; one action that must not happen twice, and one that may"
all <<'LIST'
holds once
holds needed-by -DNEEDED_BY -DFAULTS=2
ends  every-run-ends -DFAULTS=1
holds idempotent -DIDEMPOTENT -DFAULTS=1
LIST

echo "== with a piece left out, and the invariant that falls"
all <<'LIST'
I3 NO_GATE -DNO_GATE -DFAULTS=1
I3 NO_FENCE -DNO_FENCE
I3 NO_INTENT -DNO_INTENT
I3 INTENT_AFTER_ACT -DINTENT_AFTER_ACT
I2 ACK_BEFORE_SYNC -DACK_BEFORE_SYNC
I3 NO_REVISION -DNO_REVISION
I15 OLD_REFUSAL -DOLD_REFUSAL
I7 CANCEL_WITHOUT_CAS -DCANCEL_WITHOUT_CAS
I1 REOFFERS_STARTED -DREOFFERS_STARTED
I5 LATE_WINS -DLATE_WINS
I3 NO_DEDUP -DNO_DEDUP
I9 YES_FOR_ANY_CLAIM -DYES_FOR_ANY_CLAIM
I2 NO_LEASE -DNO_LEASE
I2 NO_LOST_AFTER -DNO_LOST_AFTER
I8 STALE_PERMISSION -DSTALE_PERMISSION -DNEEDED_BY -DFAULTS=2
I8 LATE_REPEAT -DLATE_REPEAT -DNEEDED_BY -DFAULTS=2
I3 FORGETS_BEGUN -DFORGETS_BEGUN -DIDEMPOTENT -DFAULTS=1
LIST
