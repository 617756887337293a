#!/usr/bin/env bash
# go2rtc.sh FILE builds go2rtc, a camera server that tests of drivers are held to,
# from the Go module proxy into FILE. Nothing of it gets into messkit. Without the
# proxy those tests skip.
set -euo pipefail

version=v1.9.14
sum=h1:HjaZ2pR64nTkoTZcKM8Zjybg7swyCZbA8Biru1mbqcY= # of the module; that of each dependency is in its go.sum
mkdir -p "$(dirname "$1")"
file=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
empty=$(mktemp -d)
trap 'rm -rf "$empty"' EXIT
cd "$empty" # a module of its own: its version list is not asked for
got=$(go mod download -json "github.com/AlexxIT/go2rtc@$version") || {
	echo "SKIP: go2rtc $version cannot be had from the module proxy"
	exit 0
}
[[ $got == *"$sum"* ]] || { echo "go2rtc $version is not what it was: its sum is another than $sum" >&2; exit 1; }
dir=$(sed -n 's/^\t"Dir": "\(.*\)",$/\1/p' <<<"$got")
CGO_ENABLED=0 GOFLAGS=-mod=readonly go -C "$dir" build -trimpath -ldflags "-s -w" -o "$file" . || {
	echo "SKIP: go2rtc $version cannot be built here: what it needs cannot be had"
}
