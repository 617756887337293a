#!/usr/bin/env bash
# fuzz.sh TIME runs every fuzz test for TIME.
set -euo pipefail
grep -rlE '^func Fuzz' --include='*_test.go' . | xargs -n1 dirname | sort -u | while read -r pkg; do
	for name in $(grep -hoE '^func Fuzz[A-Za-z0-9_]*' "$pkg"/*_test.go | cut -c6-); do
		echo "== $pkg $name"
		go test "$pkg" -run '^$' -fuzz "^$name\$" -fuzztime "$1" -fuzzminimizetime 10x
	done
done
