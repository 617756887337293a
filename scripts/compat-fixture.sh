#!/usr/bin/env bash
# compat-fixture.sh makes cmd/messkit/testdata/compat.tar.gz again, with the messkit of commit
# eba9bba: two data folders with their configuration and what that messkit says about them, and
# configurations of its documentation. It needs git, go, curl, jq and mosquitto_pub, and about five
# minutes. TestUpgradeOfKilledSystem and others read the file.
set -eEuo pipefail

commit=eba9bbae
cd "$(dirname "$0")/.."
root=$PWD
target=$root/cmd/messkit/testdata/compat.tar.gz
work=$(mktemp -d)
pid=
cleanup() {
	[ -z "$pid" ] || kill -KILL "$pid" 2>/dev/null || true
	git -C "$root" worktree remove --force "$work/source" 2>/dev/null || true
	rm -rf "$work"
}
trap cleanup EXIT
trap 'echo "compat-fixture.sh: line $LINENO failed: $BASH_COMMAND" >&2' ERR
git worktree add -q --detach "$work/source" "$commit"

# The second binary has a clock that is 73 years ahead. Its acts count as done now at any later
# day, so a budget of one act a day is used up whenever a test reads the fixture.
goroot=$(go env GOROOT)
sed '/^func Now() Time {/,/^}/s/^\tsec, nsec, mono := runtimeNow()$/&\n\tsec += 73 * 365 * 24 * 3600/' \
	"$goroot/src/time/time.go" >"$work/time.go"
cmp -s "$goroot/src/time/time.go" "$work/time.go" && { echo "compat-fixture.sh: time.Now has changed" >&2; exit 1; }
echo "{\"Replace\": {\"$goroot/src/time/time.go\": \"$work/time.go\"}}" >"$work/overlay.json"
(
	cd "$work/source"
	CGO_ENABLED=0 go build -buildvcs=false -trimpath -tags nethttpomithttp2 -o "$work/messkit" ./cmd/messkit
	CGO_ENABLED=0 go build -buildvcs=false -trimpath -tags nethttpomithttp2 -overlay "$work/overlay.json" -o "$work/messkit-ahead" ./cmd/messkit
)

export MESSKIT_URL=http://127.8.42.7:18420
X=$MESSKIT_URL/api/v1/exchanges/home
mkdir -p "$work/compat/killed/want" "$work/compat/ended/want" "$work/compat/configs"

# launch BINARY starts a system in the current folder.
launch() {
	binary=$1
	export HOME=$PWD MESSKIT_KEY_FILE=$PWD/data/operator.key
	"$binary" run --config mess.yaml >../../out 2>../../log &
	pid=$!
	for _ in $(seq 100); do
		if curl -sf "$MESSKIT_URL/health" >/dev/null && messkit capabilities | grep -q switch; then
			return
		fi
		sleep 0.1
	done
	cat ../../out ../../log >&2
	exit 1
}
messkit() { "$binary" "$@"; }

# http ARGUMENT... calls curl, and shows the error of the exchange.
http() { curl -sS --fail-with-body -o "$work/response" "$@" || { cat "$work/response" >&2; return 1; }; cat "$work/response"; }
# call ACTOR METHOD PATH [BODY] calls the exchange with the key of an actor.
call() {
	http -X "$2" "$X/$3" -H "Authorization: Bearer $(cat "$1.key")" ${4:+-d "$4"}
}
# register BODY saves the key of a new actor.
register() {
	http "$X/register" -d "$1" | jq -er .api_key >"$(jq -er .executor_id <<<"$1").key"
}
# ask ACTOR ID BODY sends a request, and prints its ref.
ask() { call "$1" POST requests "$(jq -c --arg id "$2" '. + {id: $id}' <<<"$3")" | jq -er .ref; }
# report ACTOR REF ITEM... sends items of MESS about a thread.
report() {
	local actor=$1 ref=$2
	shift 2
	call "$actor" PATCH "requests/$ref" "{\"mess\": [$(IFS=,; echo "$*")]}" >/dev/null
}
# becomes REF STATUS waits until a thread has a status.
becomes() {
	for _ in $(seq 300); do
		[ "$(call operator GET "requests/$1" | jq -r .thread.status)" != "$2" ] || return 0
		sleep 0.1
	done
	echo "compat-fixture.sh: $1 does not become $2" >&2
	exit 1
}
# remember REF... saves what the exchange says about threads, and the hashes of their attachments.
remember() {
	local ref name
	for ref; do
		call operator GET "requests/$ref" | jq . >"want/$ref.json"
		jq -r '.thread.attachments // [] | .[].name' "want/$ref.json" | while read -r name; do
			call operator GET "requests/$ref/attachments/$name" | sha256sum | sed "s| .*|  $ref/$name|" >>want/attachments
		done
	done
}

# --- a system that is killed
cd "$work/compat/killed"
cat >mess.yaml <<'END'
exchange:
  listen: 127.8.42.7:18420
  data: data
  enrol: standing-code-of-the-fixture
  quiet_lease: 24h
  lost_after: 24h
  archive_after: 0s
  mqtt: {listen: "127.8.42.7:18421"}
  webhooks: {allow: [127.0.0.0/8], timeout: 2s}
  agentmail:
    on: true
    zones: {kitchen: [kitchen-light]}
  mesh:
    on: true
    agent: arm_01
    token: what-peers-show-to-the-arm
    peers:
      hub: {url: "http://127.8.42.7:18422", token: what-peers-show-to-the-hub}
agent:
  id: kitchen-pi
  data: data
  clock: trusted
  confirm: {appliance: requester}
  confirm_within: 24h
devices:
  fridge-camera: {driver: sim-camera, room: fridge, area: kitchen, sees: [fridge]}
  porch-light: {driver: sim-lamp, area: porch, file: porch-light.line, initial: keep, safe: keep, limits: {max_on: 1m}}
  kitchen-light: {driver: sim-lamp, area: kitchen, line: kitchen-light}
  coffee-machine: {driver: sim-plug, area: kitchen, risk: appliance}
  vacuum: {driver: sim-vacuum, rooms: [kitchen, living room], pace: 20s}
END
launch "$work/messkit"
cp data/operator.key .
register '{"executor_id": "helper"}'
register '{"executor_id": "bench-pi", "capabilities": ["bench-test"], "versions": ["1.1.0"], "enrol": "standing-code-of-the-fixture"}'
code=$(messkit keys enrol garage-pi 2>/dev/null)
register "{\"executor_id\": \"garage-pi\", \"capabilities\": [\"garage-test\"], \"versions\": [\"1.1.0\"], \"enrol\": \"$code\"}"
messkit keys issue dashboard observer --save dashboard.key >/dev/null
messkit keys issue orchestrator requester --save orchestrator.key >/dev/null
messkit keys issue mq-arm executor --save mq-arm.key >/dev/null
call bench-pi PATCH executors/bench-pi '{"notifications": [{"type": "webhook", "url": "http://127.8.42.7:18423/hook", "secret": "a secret of the fixture"}]}' >/dev/null

messkit hold garage-pi --why "the floor is wet" >/dev/null

# threads that stand at each status, of an executor that speaks HTTP
bench='{"intent": "test the bench", "requires": ["bench-test"]}'
claim='{"status": {"code": "claimed", "instance": "bench-run-1"}}'
begin='{"status": {"code": "in_progress", "instance": "bench-run-1"}}'
pending=$(ask helper pending '{"intent": "lift the roof", "requires": ["roof-lift"]}')
in_progress=$(ask helper in_progress "$bench")
report bench-pi "$in_progress" "$claim"
report bench-pi "$in_progress" "$begin"
held=$(ask helper held "$bench")
report bench-pi "$held" "$claim"
report bench-pi "$held" "$begin"
report bench-pi "$held" '{"status": {"code": "held", "reason": {"type": "battery", "detail": "it charges"}}}'
needs_input=$(ask helper needs_input "$bench")
report bench-pi "$needs_input" "$claim"
report bench-pi "$needs_input" '{"status": {"code": "needs_input", "questions": [{"field": "how_hard", "question": "How hard?", "options": ["soft", "hard"]}]}}'
needs_confirmation=$(ask helper needs_confirmation "$(jq -c '. + {confirm_before: true}' <<<"$bench")")
report bench-pi "$needs_confirmation" "$claim"
report bench-pi "$needs_confirmation" '{"status": {"code": "needs_confirmation", "action": "hit the bench", "action_hash": "d1"}}'
completed=$(ask helper completed "$bench")
report bench-pi "$completed" "$claim"
report bench-pi "$completed" "$begin"
printf '\377\330\377\340 an image of the bench' >bench.jpg
image=$(http -T bench.jpg "$X/requests/$completed/attachments/bench.jpg" -H "Authorization: Bearer $(cat bench-pi.key)" -H "Content-Type: image/jpeg")
report bench-pi "$completed" '{"status": {"code": "completed", "evidence": "photographed"}}' "{\"response\": {\"content\": [\"The bench holds.\", {\"image\": $image}]}}"
failed=$(ask helper failed "$bench")
report bench-pi "$failed" "$claim"
report bench-pi "$failed" "$begin"
report bench-pi "$failed" '{"status": {"code": "failed", "effect": "partial", "reason": {"type": "broken", "detail": "a leg has broken"}}}'
declined=$(ask helper declined "$bench")
report bench-pi "$declined" '{"status": {"code": "declined", "reason": {"type": "cannot", "detail": "no such bench"}}}'
cancelled=$(ask helper cancelled "$bench")
call helper PATCH "requests/$cancelled" '{"status": "cancelled"}' >/dev/null

# threads over MQTT
mq() { mosquitto_pub -h 127.8.42.7 -p 18421 -q 1 -u "$1" -P "$(cat "$1.key")" -i "$1" -t "mess/1/home/$2" "${@:3}"; }
mq mq-arm e/mq-arm/out -m '{"id": "reg-1", "MESS": [{"config": {"executor": {"id": "mq-arm", "capabilities": ["mq-lift"], "versions": ["1.1.0"]}}}]}'
mq helper a/helper/out -m '{"id": "mq-1", "MESS": [{"request": {"intent": "lift the crate", "requires": ["mq-lift"]}}]}'
for _ in $(seq 100); do
	mqtt=$(call helper GET 'requests?status=pending' | jq -r '.threads[] | select(.intent == "lift the crate") | .ref')
	[ -z "$mqtt" ] || break
	sleep 0.1
done
mq mq-arm e/mq-arm/out -m "{\"id\": \"m1\", \"re\": \"$mqtt\", \"MESS\": [{\"status\": {\"re\": \"$mqtt\", \"code\": \"claimed\"}}]}"
becomes "$mqtt" claimed
mq mq-arm e/mq-arm/out -m "{\"id\": \"m2\", \"re\": \"$mqtt\", \"MESS\": [{\"status\": {\"re\": \"$mqtt\", \"code\": \"in_progress\"}}]}"
becomes "$mqtt" in_progress

# threads of the executor with the devices
looks=$(ask helper looks '{"intent": "show me the fridge", "response_hint": [{"image": {"max_bytes": 20000}}]}')
becomes "$looks" completed
lamp=$(ask helper lamp '{"intent": "turn on the porch light"}')
becomes "$lamp" completed
asks=$(ask helper asks '{"intent": "vacuum the kitchen"}')
becomes "$asks" needs_input
confirms=$(ask helper confirms '{"intent": "turn on the coffee machine"}')
becomes "$confirms" needs_confirmation

# a message of a MESH peer, one to it that it does not get, and a task of a mail agent
envelope=$(jq -cn '{protocol: "mesh/1.0", id: "msg_of_the_fixture_1", timestamp: (now | todate), from: "hub", to: "arm_01", type: "request",
	correlationId: null, conversationId: null, replyTo: null, replyContext: null, session: null, priority: "normal", ttl: 300, idempotencyKey: null,
	nonce: "00112233445566778899aabbccddeeff", payload: {subject: "light", body: "is the porch light on?", attachments: [], metadata: {}}}')
http "$MESSKIT_URL/hooks/hub" -H "Authorization: Bearer what-peers-show-to-the-arm" -H "Content-Type: application/json" \
	-d "$(jq -cn --arg m "$envelope" '{message: $m}')" >/dev/null
messkit mesh send hub notification "The fridge is full" --no-retry >/dev/null 2>&1 || true
http "$MESSKIT_URL/agentmail" -H "Authorization: Bearer $(cat orchestrator.key)" -d '{"version": "1.0.0", "timestamp": "2026-11-22T09:00:00Z",
	"sender_id": "orchestrator", "message_id": "msg-1", "type": "task_assignment", "task_id": "bd-42", "description": "is the porch light on?",
	"specification": {"acceptance_criteria": []}, "file_patterns": [], "priority": "normal", "priority_value": 2}' >/dev/null
for sender in mesh/hub orchestrator; do
	for _ in $(seq 100); do
		ref=$(call operator GET 'requests?status=completed' | jq -r --arg who "$sender" '.threads[] | select(.requestor_id == $who) | .ref')
		[ -z "$ref" ] || break
		sleep 0.1
	done
	[ -n "$ref" ] || { echo "compat-fixture.sh: no answer for $sender" >&2; exit 1; }
	case $sender in mesh/hub) mesh=$ref ;; *) mail=$ref ;; esac
done

# work that the kill cuts off
cut=$(ask helper cut '{"intent": "vacuum the living room"}')
becomes "$cut" needs_confirmation
call operator PATCH "requests/$cut" '{"mess": [{"reply": {"confirm": true}}]}' >/dev/null
becomes "$cut" in_progress
remember "$pending" "$in_progress" "$held" "$needs_input" "$needs_confirmation" "$completed" "$failed" "$declined" "$cancelled" \
	"$mqtt" "$looks" "$lamp" "$asks" "$confirms" "$mesh" "$mail" "$cut"
for name in pending in_progress held needs_input needs_confirmation completed failed declined cancelled mqtt looks lamp asks confirms mesh mail cut; do
	echo "$name ${!name}"
done >want/refs
call operator GET executors | jq . >want/executors.json
kill -KILL $(pgrep -f "guard --will $PWD/data/guard") "$pid" # as a power cut does: the guard goes, too
wait "$pid" 2>/dev/null || true

# --- a system that ends by itself, with budgets and a stop
cd "$work/compat/ended"
cat >mess.yaml <<'END'
exchange:
  listen: 127.8.42.7:18420
  data: data
  mqtt: {listen: "off"}
agent:
  id: kitchen-pi
  data: data
  clock: trusted
  confirm: {appliance: requester}
devices:
  fridge-camera: {driver: sim-camera, room: fridge, area: kitchen, sees: [fridge]}
  porch-light: {driver: sim-lamp, area: porch, file: porch-light.line, initial: keep, safe: keep, limits: {max_on: 1m}}
  kitchen-light: {driver: sim-lamp, area: kitchen, line: kitchen-light, limits: {max_acts: 1/d}}
  hall-light: {driver: sim-lamp, area: hall, line: hall-light}
  coffee-machine: {driver: sim-plug, area: kitchen, risk: appliance}
  vacuum: {driver: sim-vacuum, rooms: [kitchen, living room]}
END
launch "$work/messkit-ahead"
cp data/operator.key .
archived=$(ask operator archived '{"intent": "show me the fridge", "response_hint": [{"image": {"max_bytes": 20000}}]}')
becomes "$archived" completed
remember "$archived"
sleep 2 # the folders follow the log
kill -INT "$pid"
wait "$pid"
messkit archive "$archived" --data data >/dev/null
launch "$work/messkit-ahead"
budget=$(ask operator budget '{"intent": "turn on the kitchen light"}')
becomes "$budget" completed
lit=$(ask operator lit '{"intent": "turn on the porch light"}')
becomes "$lit" completed
messkit lock hall-light --data data --why "the paint is wet" >/dev/null
messkit disarm motion --data data --why "children are here" >/dev/null
remember "$archived" "$budget" "$lit"
messkit stop --data data --why smoke >/dev/null
kill -INT "$pid"
wait "$pid"
pid=
for name in archived budget lit; do echo "$name ${!name}"; done >want/refs

# --- configurations: those of the documentation that this messkit accepts, and the keys that it knows
cd "$work/compat/configs"
cp "$work/source/cmd/messkit/example.yaml" .
for page in "$work"/source/README.md "$work"/source/docs/*.md "$work"/source/docs/drivers/*.md; do
	awk -v name="$(basename "$page" .md)" '/^```ya?ml/ { n++; file = name "-" n ".yaml"; next } /^```/ { file = "" } file { print > file }' "$page"
done
sed -i 's|/etc/messkit/|./|; s|/usr/bin/irsend|/usr/bin/true|' -- *.yaml
(umask 077 && echo a-secret-of-the-fixture >secret)
sed -nE 's/.*(password_file|token_file): (\.\/[a-z.-]+).*/\2/p' -- *.yaml | xargs -r -n1 cp -n secret
for file in *.yaml; do
	messkit check "$file" >/dev/null 2>&1 || rm "$file"
done
rm secret
mkdir keys
cat >keys/0.yaml <<'END'
exchange:
  zzz: 1
  tls: {zzz: 1}
  mqtt: {zzz: 1}
  webhooks: {zzz: 1}
  rate: {zzz: 1}
  mcp: {zzz: 1}
  agentmail: {zzz: 1, agents: [{zzz: 1}]}
  mesh: {zzz: 1, peers: {hub: {zzz: 1}}, outage: {zzz: 1}}
  routing: [{zzz: 1}]
connect: {zzz: 1}
agent:
  zzz: 1
  stop_line: {zzz: 1}
  max_acts: {zzz: 1}
  watch: {zzz: 1}
  position: {zzz: 1}
  limits: {zzz: 1, requires: [{zzz: 1}]}
devices:
  lamp: {driver: sim-lamp, done: {zzz: 1}, limits: {zzz: 1}}
END
messkit devices --drivers | tail -n +2 | cut -d ' ' -f 1 | split -l 10 --numeric-suffixes=1 -a 1 --additional-suffix=.yaml - keys/ # check prints few errors at a time
sed -i 's/.*/  a-&: {driver: &, zzz: 1}/; 1i devices:' keys/[1-9].yaml
for file in keys/*.yaml; do
	{ messkit check "$file" 2>&1 || true; } | sed 's/^messkit: error: //' | grep 'zzz: unknown key'
done >keys/known

tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner -cf - compat | gzip -9n >"$target"
ls -l "$target"
