#!/usr/bin/env bash
# A cron of effect 4.1.0 for 02:30 in Berlin, on the day when the clock goes from 02:00 to 03:00.
# One would guess that the day is left out, since 02:30 does not exist, or at least that match agrees with next.
# Seen: next answers 01:30Z, which is 03:30 in Berlin, and match says of that instant that it is not in the schedule.
# A scheduler that checks with match what next gave it never runs that day's job.
# The docs of onDstOverlap say that next takes the instant after the gap; no doc says that match refuses it.
# Source: src/Cron.ts of the package, stepCron ("Gaps resolve to the instant after the gap under either disambiguation") and match.
# Output, 2026-11-28:
#   after 2026-03-28T12:00Z, next is 2026-03-29T01:30:00.000Z, in Berlin 03:30, match false
#   guess: 2026-03-30T00:30:00.000Z, in Berlin 02:30, match true
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{ "private": true }' >package.json
packages=(effect@4.1.0)
node --eval 'process.exit(parseInt(process.versions.node) < 22 ? 1 : 0)' || packages+=(node@24.21.0)
npm install --silent --no-audit --no-fund "${packages[@]}"
PATH=$folder/node_modules/.bin:$PATH
cat >look.mjs <<'END'
import { Cron } from "effect"

const cron = Cron.parseUnsafe("30 2 * * *", "Europe/Berlin")
const tell = (at) => {
  const clock = at.toLocaleTimeString("en-GB", { timeZone: "Europe/Berlin", timeStyle: "short" })
  return `${at.toISOString()}, in Berlin ${clock}, match ${Cron.match(cron, at)}`
}
const seen = Cron.next(cron, new Date("2026-03-28T12:00:00Z"))
console.log(`after 2026-03-28T12:00Z, next is ${tell(seen)}`)
console.log(`guess: ${tell(new Date("2026-03-30T00:30:00Z"))}`)
if (seen.toISOString() !== "2026-03-29T01:30:00.000Z" || Cron.match(cron, seen)) {
  console.error("No longer so: next leaves out the hour that does not exist, or match agrees with next.")
  process.exit(1)
}
END
node look.mjs
