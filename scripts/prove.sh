#!/usr/bin/env bash
# prove.sh runs all tests that show that nothing is done twice, nothing accepted is
# lost and reports are true, one after the other, and prints one table.
# docs/explanation/proofs.md says what each of them shows and does not show. How much of each
# is in the list of runs below: about an hour on two cores together. The logs are
# in the folder that it names. Needs root for the power cuts.
set -uo pipefail
cd "$(dirname "$0")/.."

logs=$(mktemp -d "${TMPDIR:-/tmp}/prove-XXXXXX")
echo "== what they say is in $logs"
failed=0

# prove NAME COMMAND... runs one of them.
prove() {
	local name=$1 begin=$SECONDS word=green
	shift
	"$@" >"$logs/$name" 2>&1 || { word=RED failed=1; }
	printf '%-8s %-5s %5d s\n' "$name" "$word" $((SECONDS - begin))
	[ "$word" = green ] || tail -n 40 "$logs/$name"
}

prove model make --no-print-directory model
prove sim make --no-print-directory sim N="${SIM:-36}"
prove threads scripts/powercut.sh "${THREADS:-50}" cuts
prove cuts make --no-print-directory powercut-exec N="${CUTS:-200}"
prove kills make --no-print-directory kills-exec N="${KILLS:-100}"
prove races make --no-print-directory races N="${RACES:-1500}"
prove faults make --no-print-directory faults N="${FAULTS:-120}"
prove rig make --no-print-directory rig N="${RIG:-2000}"
prove cluster make --no-print-directory cluster-test N="${CLUSTER:-200}"
prove program make --no-print-directory program RACE=-race
prove mutants make --no-print-directory mutants
prove stop make --no-print-directory stop N="${STOPS:-50}"
prove guard make --no-print-directory guard N="${GUARDS:-50}"

# say prints what stands in a log after a piece of text, or that there is nothing:
# what was skipped or has ended early has no figures.
say() { # LOG PATTERN(with one group)
	local found
	found=$(grep -oE "$2" "$logs/$1" 2>/dev/null | tail -n 1 | sed -E "s/^$2\$/\1/")
	echo "${found:--}"
}

# row LOG WHAT HOW-MANY: figures of the judge that asks the devices.
row() {
	local figure=() f
	for f in '([0-9]+) requests' '[ ]([0-9]+) acts' '([0-9]+) ends of which' 'lost ([0-9]+)' 'doubled ([0-9]+)' 'dishonest ([0-9]+)'; do
		figure+=("$(say "$1" "$f")")
	done
	[ "${figure[3]}" != - ] || failed=1
	printf "$line" "$2" "$3" "${figure[@]}"
}

line='%-24s %-22s %9s %7s %8s %6s %8s %10s\n'
echo
printf "$line" proof "how much" requests acts unknown lost doubled dishonest
broken=$(grep -c 'seed [0-9]*:' "$logs/sim")
printf "$line" "simulated time" "$(say sim '([0-9.]+) simulated days') days" "$(say sim '([0-9]+) requests')" "$(say sim '; ([0-9]+) acts')" - "$broken in" "all" ""
row cuts "power cuts" "$(say cuts '([0-9]+) simulated power cuts in ')"
row kills "kills" "$(say kills 'killed ([0-9]+) times and')+$(say kills 'executors ([0-9]+) times in')"
row rig "rig" "$(say rig '([0-9]+) faults in ')"
row races "races" "$(say races '([0-9]+) executors killed')+$(say races 'and ([0-9]+) frozen') faults"
echo
echo "model: $(grep -c 'states, ' "$logs/model") checks, of these $(grep -cE ' I[0-9]+ ' "$logs/model") with a piece left out, which is missed"
echo "threads: $(say threads '([0-9]+ simulated power cuts in .*)')"
echo "cluster: $(say cluster '([0-9]+ faults in .*)')"
echo "mutants: $(say mutants '([0-9]+ of [0-9]+ planted faults were caught)')"
echo "guard: $(say guard '([0-9]+ rounds: .*)')"
sed -n '/^until the last/,/^cancel/p' "$logs/stop" | sed 's/^/stop: /'
exit "$failed"
