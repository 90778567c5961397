/**
 * A process that appends until it is killed and prints what was acknowledged: `<run> <seq>` a line.
 * Arguments: `pglite` and a directory, or `postgres` and a url.
 */
import { randomUUID } from "node:crypto"
import { Effect, Layer, Redacted } from "effect"
import * as Pglite from "../../layers/sql/engine/Pglite.ts"
import * as Postgres from "../../layers/sql/engine/Postgres.ts"
import * as SqlStores from "../../layers/sql/stores/SqlStores.ts"
import { RunJournal } from "../../services/RunJournal.ts"
import { RunOwnership } from "../../services/RunOwnership.ts"
import * as Samples from "../contracts/Samples.ts"

const [, , engine, place] = process.argv

const database =
  engine === "pglite"
    ? Layer.orDie(Pglite.layer({ directory: place }))
    : Layer.orDie(Postgres.layer({ url: Redacted.make(place!) }))

const write = (index: number) =>
  Effect.gen(function* () {
    const journal = yield* RunJournal
    const ownership = yield* RunOwnership
    const task = Samples.newTask()
    yield* journal.create(task.id, 1, Samples.runAccepted(task))
    const { head } = yield* ownership.claim(task.id, randomUUID())
    for (let length = head.length; ; length++) {
      yield* journal.append({
        run: task.id,
        fence: { epoch: head.epoch, length },
        events: [Samples.modelTurned(1, 0, undefined, `${index}`)],
        status: "processing"
      })
      process.stdout.write(`${task.id} ${length}\n`)
    }
  })

await Effect.runPromise(
  Effect.forEach(
    Array.from({ length: 16 }, (_, index) => index),
    write,
    { concurrency: "unbounded" }
  ).pipe(Effect.provide(Layer.provide(SqlStores.layer, database)))
)
