#!/usr/bin/env bash
# need.sh COMMAND:PACKAGE... installs the Debian packages whose commands are not
# there, and says so.
set -euo pipefail
PATH=$PATH:/usr/sbin:/sbin # where Debian has its servers, of no interest to a user

missing=()
for pair in "$@"; do
	command -v "${pair%%:*}" >/dev/null || missing+=("${pair#*:}")
done
[ "${#missing[@]}" -gt 0 ] || exit 0

if ! command -v apt-get >/dev/null; then
	echo "missing: ${missing[*]}, and there is no apt-get to install them; please install them by hand" >&2
	exit 1
fi
sudo=()
if [ "$(id -u)" -ne 0 ]; then
	sudo=(sudo)
fi
echo "== installing ${missing[*]} with apt-get (once)"
"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -qq
"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null </dev/null
