/** kill -9 around a delivery; a receiver in another process counts what arrives. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as Receiver from "../../scripts/incident/Receiver.ts"
import { Outbox } from "../../services/Outbox.ts"
import { eventually } from "../contracts/Contract.ts"
import * as Homes from "../process/Homes.ts"
import * as EmbeddedPostgres from "../sql/EmbeddedPostgres.ts"
import * as Process from "../sql/Process.ts"
import * as Deliveries from "./Deliveries.ts"

const home = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "troupe-delivery-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

const placeOf = (engine: string) =>
  engine === "pglite"
    ? Effect.map(Homes.directory, ({ directory }) => directory)
    : EmbeddedPostgres.migrated

const receiverAt = (path: string) =>
  Effect.tap(Receiver.start(join(path, "receiver")), (it) => Effect.sync(it.repair))

const killed = (lines: number, ...args: ReadonlyArray<string>) =>
  Effect.scoped(
    Effect.gen(function* () {
      const child = yield* Process.run("test/delivery/deliverer.ts", ...args)
      yield* child.printed(lines)
      yield* child.kill
    })
  )

/** Delivers what is left in a new process. */
const deliverRest = (engine: string, place: string, url: string) =>
  Effect.gen(function* () {
    yield* Layer.build(Deliveries.relay(url))
    const outbox = yield* Outbox
    yield* eventually(outbox.depth, (depth) => depth === 0)
  }).pipe(Effect.scoped, Effect.provide(Deliveries.stores(engine, place)))

for (const engine of ["postgres", "pglite"]) {
  it.live(
    `SA-43 a process killed between write and send loses nothing: the next one delivers once (${engine})`,
    () =>
      Effect.gen(function* () {
        const path = yield* home
        const receiver = yield* receiverAt(path)
        const place = yield* placeOf(engine)
        yield* killed(1, engine, place)
        assert.deepStrictEqual(receiver.accepted(), [])
        yield* deliverRest(engine, place, receiver.url)
        assert.deepStrictEqual(receiver.accepted(), [Deliveries.message.id])
        assert.deepStrictEqual(receiver.duplicates(), [])
      }),
    120_000
  )

  it.live(
    `a process killed between the receiver's answer and its report sends the same id again (${engine})`,
    () =>
      Effect.gen(function* () {
        const path = yield* home
        const receiver = yield* receiverAt(path)
        const place = yield* placeOf(engine)
        yield* killed(2, engine, place, receiver.url)
        assert.deepStrictEqual(receiver.accepted(), [Deliveries.message.id])
        yield* deliverRest(engine, place, receiver.url)
        assert.deepStrictEqual(receiver.accepted(), [Deliveries.message.id])
        assert.deepStrictEqual(receiver.duplicates(), [Deliveries.message.id])
      }),
    120_000
  )
}
