#!/usr/bin/env bash
# demo.sh BINARY shows the main job: a whole system on this machine, and four
# things asked of it. Nothing of it stays but the pictures in demo/.
set -euo pipefail

binary=$(realpath "$1")
out=$PWD/demo
home=$(mktemp -d)
pid=
cleanup() {
	[ -z "$pid" ] || kill "$pid" 2>/dev/null || true
	wait 2>/dev/null || true
	rm -rf "$home"
}
trap cleanup EXIT
mkdir -p "$out"
export HOME=$home

messkit() { "$binary" "$@"; }
bold='' green='' plain=''
if [ -t 1 ]; then
	bold=$'\033[1m' green=$'\033[32m' plain=$'\033[0m'
fi
say() { printf '\n%s%s%s\n' "$bold" "$*" "$plain"; }
show() {
	local word line='$ messkit'
	for word in "$@"; do
		case $word in
		*\ *) line+=" \"$word\"" ;;
		*) line+=" $word" ;;
		esac
	done
	printf '\n%s%s%s\n' "$green" "$line" "$plain"
	messkit "$@"
}
# until_status STATUS waits until the last request has it.
until_status() {
	for _ in $(seq 300); do
		if [ -n "$(messkit ls --status "$1" --json | grep '"ref"')" ]; then
			return
		fi
		sleep 0.1
	done
	echo "nothing became $1 within 30 s" >&2
	exit 1
}

say "A whole system on this machine: an exchange, an executor, a simulated home."
# This script is the person who confirms; without --confirm script one does so at a terminal or on the page.
"$binary" run --listen 127.0.0.1:0 --confirm script >"$home/log" 2>&1 &
pid=$!
url=
for _ in $(seq 300); do
	url=$(grep -o 'at http://[^ ]*' "$home/log" | cut -c4- | head -1 || true)
	[ -z "$url" ] || break
	kill -0 "$pid" 2>/dev/null || { cat "$home/log" >&2; exit 1; }
	sleep 0.1
done
[ -n "$url" ] || { cat "$home/log" >&2; exit 1; }
export MESSKIT_URL=$url
cd "$out"

say "1. Looking: nothing is touched, a picture comes back."
show ask "what's in the fridge?" --wait

say "2. Switching: done once, and read back from the relay."
show ask "turn on the porch light" --wait
show ask "take a photo of the porch" --wait

say "3. Moving: it asks where, and moves only when a person says so."
show ask "vacuum the kitchen" --wait &
asking=$!
until_status needs_input
ref=$(messkit ls --status needs_input --json | grep -o '"ref": "[^"]*"' | head -1 | cut -d'"' -f4)
sleep 0.3
show reply "$ref" both
until_status needs_confirmation
sleep 0.3
show reply "$ref" --yes
wait "$asking"

say "What was asked, and how it ended:"
show ls

say "The pictures are in demo/:"
ls -1 "$out"
cat <<-'END'

	How to go on:
	  dist/messkit run                         the same system, to stay (in another terminal: messkit ask ...)
	  dist/messkit plan "turn on the porch light for ten minutes"
	                                           what would be done, and why, without doing it
	  internal/config/example.yaml             your own cameras and devices; messkit check FILE looks it over
	  docs/                                    the guide
END
