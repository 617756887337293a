#!/usr/bin/env bash
# same-pictures.sh DIST has the binaries of amd64, arm64 and armv6 make the same
# pictures fit, the ARM ones by qemu-user, and compares every byte. The pictures
# are the bytes of a binary, as a raw frame, and what comes of it.
set -euo pipefail

dist=$(realpath "$1")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
head -c $((640 * 480 * 3)) "$dist/messkit-linux-armv6" >frame

run() { # ARCH ARGUMENTS...
	local arch=$1
	shift
	case $arch in
	amd64) "$dist/messkit-linux-amd64" "$@" ;;
	arm64) qemu-aarch64-static "$dist/messkit-linux-arm64" "$@" ;;
	armv6) qemu-arm-static -cpu arm1176 "$dist/messkit-linux-armv6" "$@" ;;
	esac
}

fit() { # ARCH: some pictures
	run "$1" picture fit frame "$1-large.jpg" --frame rgb:640x480 --max 5MB
	run "$1" picture fit amd64-large.jpg "$1-half.jpg" --max 60KB
	run "$1" picture fit amd64-large.jpg "$1-small.jpg" --max 8KB
	for px in 75 300 431; do # which are no eighths of 640, and made of pixels
		run "$1" picture fit amd64-large.jpg "$1-$px.jpg" --max 30KB --max-px "$px"
	done
}

fit amd64 >/dev/null
for arch in arm64 armv6; do
	qemu=qemu-aarch64-static
	[ "$arch" = armv6 ] && qemu=qemu-arm-static
	if ! command -v "$qemu" >/dev/null; then
		echo "SKIP: $qemu is not there (apt-get install qemu-user-static)"
		continue
	fi
	fit "$arch" >/dev/null
	for picture in large half small 75 300 431; do
		cmp "amd64-$picture.jpg" "$arch-$picture.jpg"
	done
	echo "$arch makes the same pictures as amd64"
done
