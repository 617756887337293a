#!/usr/bin/env bash
# bench-picture.sh MESSKIT [PAGE] measures picture fit beside jpegoptim, ImageMagick
# and sharp, on photographs from Debian packages, and writes the tables into a page
# of docs/ if one is given. It takes some minutes.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/need.sh jpegoptim:jpegoptim convert-im6.q16:imagemagick djpeg:libjpeg-turbo-progs node:nodejs npm:npm
peers=${MESSKIT_BENCH_PEERS:-${TMPDIR:-/tmp}/messkit-bench-peers}
mkdir -p "$peers/photos"
for package in lomiri-wallpapers-16.04 lomiri-wallpapers-20.04 mate-backgrounds lxqt-themes plasma-workspace-wallpapers; do
	if dpkg -s "$package" >/dev/null 2>&1 || [ -d "$peers/photos/usr/share/doc/$package" ]; then
		continue
	fi
	echo "== fetching the photographs of $package with apt-get (once)"
	(cd "$peers" && apt-get download -qq "$package" && dpkg-deb -x "$package"_*.deb photos && rm "$package"_*.deb)
done
cp internal/test/picturebench/testdata/sharp-fit.js "$peers"
if [ ! -d "$peers/node_modules/sharp" ]; then
	echo "== installing sharp with npm, in $peers (once)"
	npm install --silent --prefix "$peers" sharp@0.35.5
fi
MESSKIT_BENCH_PICTURE=$(realpath "$1") MESSKIT_BENCH_SHARP=$peers/sharp-fit.js MESSKIT_BENCH_PHOTOS=$peers/photos \
	MESSKIT_BENCH_DOC=${2:+$(realpath "$2")} \
	go test ./internal/test/picturebench -run TestBenchPicture -count=1 -v -timeout 2h
