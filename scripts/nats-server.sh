#!/usr/bin/env bash
# nats-server.sh FILE builds nats-server, on which tests of the store on NATS JetStream run, from the
# Go module proxy into FILE. Nothing of it gets into messkit. Without the proxy those tests skip.
set -euo pipefail

version=v2.15.2
sum=h1:yLsgt2kslgymvxvjFq1WGWck5hkat2YYfbXvQ145tzU= # of the module; that of each dependency is in its go.sum
mkdir -p "$(dirname "$1")"
file=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
empty=$(mktemp -d)
trap 'rm -rf "$empty"' EXIT
cd "$empty" # a module of its own: its version list is not asked for
got=$(go mod download -json "github.com/nats-io/nats-server/v2@$version") || {
	echo "SKIP: nats-server $version cannot be had from the module proxy"
	exit 0
}
[[ $got == *"$sum"* ]] || { echo "nats-server $version is not what it was: its sum is another than $sum" >&2; exit 1; }
dir=$(sed -n 's/^\t"Dir": "\(.*\)",$/\1/p' <<<"$got")
CGO_ENABLED=0 GOFLAGS=-mod=readonly go -C "$dir" build -trimpath -ldflags "-s -w" -o "$file" . || {
	echo "SKIP: nats-server $version cannot be built here: what it needs cannot be had"
}
