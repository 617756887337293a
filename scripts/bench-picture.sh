#!/usr/bin/env bash
# bench-picture.sh MESSKIT measures picture fit beside jpegoptim, ImageMagick and
# sharp, on photographs from Debian packages. It takes some minutes.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/need.sh jpegoptim:jpegoptim convert-im6.q16:imagemagick djpeg:libjpeg-turbo-progs node:nodejs npm:npm
photos=(lomiri-wallpapers-16.04 lomiri-wallpapers-20.04 mate-backgrounds)
for package in "${photos[@]}"; do
	dpkg -s "$package" >/dev/null 2>&1 && continue
	echo "== installing $package with apt-get (once)"
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$package" >/dev/null </dev/null
done
peers=${MESSKIT_BENCH_PEERS:-${TMPDIR:-/tmp}/messkit-bench-peers}
mkdir -p "$peers"
cp internal/picturebench/testdata/sharp-fit.js "$peers"
if [ ! -d "$peers/node_modules/sharp" ]; then
	echo "== installing sharp with npm, in $peers (once)"
	npm install --silent --prefix "$peers" sharp@0.35.5
fi
MESSKIT_BENCH_PICTURE=$(realpath "$1") MESSKIT_BENCH_SHARP=$peers/sharp-fit.js \
	go test ./internal/picturebench -run TestBenchPicture -count=1 -v -timeout 2h
