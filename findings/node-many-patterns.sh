#!/usr/bin/env bash
# A pattern over one long line in Node 24.21.0 (V8 13.6), before and after the process has compiled many other patterns.
# One would guess that whether /[^\r\n]+/ matches depends on the pattern and on the text.
# Seen: of a line of 4,300,000 characters it matches at first. After some thousand other patterns the same pattern, compiled now,
# throws "RangeError: Maximum call stack size exceeded" on the same line, though no stack is deep. A line of 4,000,000 still fits.
# So a service that has run for long fails on an answer that each test reads well, and does so until it is started again.
# Source: V8, TooMuchRegExpCode in src/regexp/regexp.cc: over 1 MB of code for patterns and 16 MB of machine code in all, patterns are
# compiled without optimizations. A greedy class then keeps 16 bytes for each character, of the 64 MB that RegExpStack may have.
# Output, 2026-11-30 (the count differs from run to run):
#   at first: fits
#   after 12000 other patterns: RangeError: Maximum call stack size exceeded
#   a line of 4,000,000 characters: fits
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{ "private": true }' >package.json
npm install --silent --no-audit --no-fund node@24.21.0
PATH=$folder/node_modules/.bin:$PATH
cat >look.mjs <<'END'
const line = "x".repeat(4_300_000)
/** Each time another source, as a pattern that was compiled before is kept. */
const tell = (text, n) => {
  try {
    new RegExp(`[^\\r\\n]+|never ${n}`).test(text)
    return "fits"
  } catch (error) {
    return `${error.name}: ${error.message}`
  }
}
const first = tell(line, 0)
console.log(`at first: ${first}`)
const kept = []
let last = first
while (last === "fits" && kept.length < 100_000) {
  for (let n = 0; n < 500; n++) {
    const pattern = new RegExp(`(?:${"a".repeat(50)}|b{2,40}c${kept.length}|[d-z]{3,40})+`)
    // Twice, because the first time it is interpreted.
    for (let time = 0; time < 2; time++) pattern.test("q".repeat(2_000))
    kept.push(pattern)
  }
  last = tell(line, kept.length)
}
console.log(`after ${kept.length} other patterns: ${last}`)
const shorter = tell(line.slice(0, 4_000_000), "of the shorter")
console.log(`a line of 4,000,000 characters: ${shorter}`)
if (first !== "fits" || !last.startsWith("RangeError") || shorter !== "fits") {
  console.error("No longer so: a pattern matches whatever else was compiled.")
  process.exit(1)
}
END
node look.mjs
