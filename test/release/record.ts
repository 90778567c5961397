/**
 * Writes what a release leaves behind in a database, for the versions after it: run it once for each release, from its commit.
 *
 *   node test/release/record.ts test/release/0.1.0
 */
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, Layer } from "effect"
import { ToolQueue } from "../../services/ToolQueue.ts"
import type { RunId } from "../../src/value/Ids.ts"
import * as ArchiveFile from "../../layers/sql/archive/ArchiveFile.ts"
import * as RunExport from "../../layers/sql/archive/RunExport.ts"
import * as Pglite from "../../layers/sql/engine/Pglite.ts"
import { eventually } from "../contracts/Contract.ts"
import * as H from "../runtime/Harness.ts"
import * as SqlDump from "../sql/SqlDump.ts"
import * as Shop from "./Shop.ts"

const recorded = (run: RunId) => Effect.map(Shop.stateOf(run), (state) => ({ run, state }))

const runs = Effect.gen(function* () {
  const finished = yield* Shop.send("clerk", "finished")
  const question = yield* H.question(finished, 1, "finished")
  yield* H.decide(question.approval, H.approve)
  yield* H.ended(finished, "finished")
  const asking = yield* Shop.send("clerk", "asking")
  yield* H.question(asking, 1, "asking")
  const delegated = yield* Shop.send("boss", "delegated")
  yield* H.question(delegated, 1, "delegated")
  const queued = yield* Shop.send("printer", "queued")
  yield* eventually(
    ToolQueue.use((queue) => queue.nextDueAt(["shop.print@1"])),
    (due) => due !== undefined
  )
  return {
    finished: yield* recorded(finished),
    asking: yield* recorded(asking),
    queued: yield* recorded(queued),
    delegated: yield* recorded(delegated)
  } satisfies Shop.Runs
})

const record = Effect.fnUntraced(function* (folder: string) {
  mkdirSync(folder)
  const schema = yield* SqlDump.migrate
  yield* Effect.gen(function* () {
    const found = yield* runs
    // As a process that is killed now leaves it: nothing is given back.
    const rows = yield* SqlDump.rows
    // Its call is given up after a while.
    if ((yield* Shop.stateOf(found.queued.run)).events !== found.queued.state.events) {
      throw new Error("the machine was too slow: remove the folder, and record again")
    }
    writeFileSync(join(folder, "database.sql"), `${SqlDump.textOf([...schema, ...rows])}\n`)
    writeFileSync(join(folder, "runs.json"), `${JSON.stringify(found, undefined, 2)}\n`)
    yield* ArchiveFile.writeFile(join(folder, "archive.jsonl"), (write) =>
      RunExport.exportRuns(RunExport.endedRuns({ tenant: undefined, before: undefined }), 0, write)
    )
  }).pipe(Effect.provide(Shop.runtime.pipe(Layer.provideMerge(Shop.stores))))
})

const folder = process.argv[2]
if (folder === undefined) throw new Error("name a folder that does not exist yet")
await Effect.runPromise(Effect.scoped(Effect.provide(record(folder), Layer.fresh(Pglite.layer()))))
