#!/usr/bin/env bash
# The end of a minute in effect 4.1.0, in the hour that Berlin's clocks show twice in autumn.
# One would guess that an instant lies between startOf and endOf of its minute, whatever the clocks do.
# Seen: both are an hour early. At 02:30:30 of the second time (+01:00), the minute begins and ends at 02:30 of the first time
# (+02:00); the hour begins 90 minutes before the instant and ends 30 minutes before it. nearest does the same, setParts({ second: 0 })
# goes back an hour. add is right. Counts by hour or minute put the second hour into the first one.
# Source: startOf, endOf and mutate in src/internal/dateTime.ts of the package change the parts of the local time and look its offset
# up anew, with the disambiguation "compatible", which takes the earlier of two.
# Output, 2026-12-01:
#   at               2026-10-25T02:30:30.000+01:00[Europe/Berlin]
#   startOf minute   2026-10-25T02:30:00.000+02:00[Europe/Berlin]  3630 s before it
#   endOf minute     2026-10-25T02:30:59.999+02:00[Europe/Berlin]  3570 s before it
#   startOf hour     2026-10-25T02:00:00.000+02:00[Europe/Berlin]  5430 s before it
#   endOf hour       2026-10-25T02:59:59.999+02:00[Europe/Berlin]  1830 s before it
#   guess: startOf minute 30 s before it, endOf minute 30 s after it
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
import { DateTime } from "effect"

const at = DateTime.makeZonedUnsafe("2026-10-25T01:30:30Z", { timeZone: "Europe/Berlin" })
console.log(`at               ${DateTime.formatIsoZoned(at)}`)
const before = (what, unit) => {
  const found = DateTime[what](at, unit)
  const seconds = Math.round((DateTime.toEpochMillis(at) - DateTime.toEpochMillis(found)) / 1000)
  console.log(`${`${what} ${unit}`.padEnd(16)} ${DateTime.formatIsoZoned(found)}  ${seconds} s before it`)
  return seconds
}
const seen = [
  before("startOf", "minute"),
  before("endOf", "minute"),
  before("startOf", "hour"),
  before("endOf", "hour")
]
console.log("guess: startOf minute 30 s before it, endOf minute 30 s after it")
if (seen.join() !== "3630,3570,5430,1830") {
  console.error("No longer so: the repeated hour's minutes begin and end elsewhere.")
  process.exit(1)
}
END
node look.mjs
