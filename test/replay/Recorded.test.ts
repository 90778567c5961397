/** Runs that were recorded once, by `npm run troupe -- replay RUN --to-test FILE`: later releases decide as that one did. */
import { readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { runFixture } from "../../layers/compose/entries/Replay.ts"
import * as Testing from "../../layers/compose/entries/Testing.ts"

const folder = fileURLToPath(new URL("recorded/", import.meta.url))
const files = readdirSync(folder)

it("there are recorded runs", () => assert.isAbove(files.length, 0))

for (const file of files) {
  it.effect(`SG-26 SG-28 ${file} still runs as it did when it was recorded`, () =>
    Effect.gen(function* () {
      const report = yield* runFixture(readFileSync(`${folder}${file}`, "utf8"))
      assert.strictEqual(report.same, report.events)
      assert.isAbove(report.steps.length, 0)
      assert.isAbove(report.decisions.length, 0)
    })
  )
}

it("a test that awaits a recorded run runs it, and fails where it is another one now", async () => {
  const recorded = readFileSync(`${folder}${files[0]}`, "utf8")
  const report = await Testing.runFixture(recorded)
  assert.strictEqual(report.same, report.events)
  const changed = recorded.replace(/"input_hash": "\w+"/, `"input_hash": "${"0".repeat(64)}"`)
  const diverged: unknown = await Testing.runFixture(changed).catch((error: unknown) => error)
  assert.deepInclude(diverged, { _tag: "FixtureDiverged", expected: "0".repeat(64) })
  // As a merge that went wrong leaves it.
  const { entries, ...rest } = JSON.parse(recorded)
  const [event] = entries.splice(5, 1)
  const lacking: unknown = await Testing.runFixture(JSON.stringify({ ...rest, entries })).catch(
    (error: unknown) => error
  )
  assert.deepInclude(lacking, { _tag: "FixtureDiverged", what: "event 5 should stand here" })
  entries.splice(5, 0, { ...event, event: { ...entries[5].event, call: "0/9.0" } })
  const odd: unknown = await Testing.runFixture(JSON.stringify({ ...rest, entries })).catch(
    (error: unknown) => error
  )
  assert.deepInclude(odd, {
    _tag: "FixtureDiverged",
    what: "event 5 does not follow from the events before it"
  })
  const rejected: unknown = await Testing.runFixture("{}").catch((error: unknown) => error)
  assert.deepInclude(rejected, { _tag: "SchemaError" })
})
