#!/usr/bin/env bash
# npm.sh DIR installs what the lock file in DIR names, unless it is there.
set -euo pipefail
cd "$1"
[ node_modules/.package-lock.json -nt package-lock.json ] && exit 0
echo "== installing the npm packages of $1 (once)"
npm ci --loglevel=error
touch node_modules/.package-lock.json
