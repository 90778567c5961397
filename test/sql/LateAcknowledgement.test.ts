/** The store has a run's end, and its answer has not yet reached the process that wrote it. */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Layer, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { watchFeed } from "../../layers/compose/Waiting.ts"
import * as EphemeralStore from "../../layers/ephemeral/EphemeralStore.ts"
import { text } from "../../layers/model/ScriptedModelGateway.ts"
import * as SqlStores from "../../layers/sql/stores/SqlStores.ts"
import type { FeedItem } from "../../services/AgentRuntime.ts"
import { TaskStore } from "../../services/TaskStore.ts"
import type { RunId } from "../../src/Ids.ts"
import * as H from "../runtime/Harness.ts"
import { engines } from "./Engines.ts"

/** From the last model turn on, what the store answers to appends waits until somebody lets it through. */
class Line {
  isSlow = false
  readonly isThrough = Deferred.makeUnsafe<void>()

  readonly letThrough = Deferred.succeed(this.isThrough, undefined)

  over(client: SqlClient.SqlClient): SqlClient.SqlClient {
    return new Proxy(client, {
      get: (target, name) =>
        name === "unsafe"
          ? (...args: Parameters<SqlClient.SqlClient["unsafe"]>) =>
              Effect.tap(target.unsafe(...args), () =>
                this.isSlow && args[0].includes("troupe.append_")
                  ? Deferred.await(this.isThrough)
                  : Effect.void
              )
          : Reflect.get(target, name)
    })
  }
}

const stored = Effect.fnUntraced(function* (run: RunId) {
  const tasks = yield* TaskStore
  for (;;) {
    if ((yield* tasks.read(H.tenant, run))?.status === "complete") return
    yield* Effect.sleep(5)
  }
})

const shown = (item: FeedItem): string =>
  item._tag === "Event" ? item.entry.event._tag : item._tag

describe("a run whose end is stored, and not yet known to its own process", () => {
  for (const [name, client] of engines) {
    it.live(
      `is watched to its end (${name})`,
      () => {
        const line = new Line()
        const slow = Layer.effect(
          SqlClient.SqlClient,
          Effect.map(SqlClient.SqlClient, (real) => line.over(real))
        )
        const store = SqlStores.layer.pipe(Layer.provideMerge(slow), Layer.provideMerge(client))
        return Effect.gen(function* () {
          const process = yield* H.boot({
            script: () => {
              line.isSlow = true
              return text("done")
            }
          })
          const items = yield* process.run(
            Effect.gen(function* () {
              const run = yield* H.send("hello")
              yield* stored(run)
              return yield* watchFeed(run, undefined, H.alice).pipe(
                Stream.tap(({ _tag }) => (_tag === "CaughtUp" ? line.letThrough : Effect.void)),
                Stream.runCollect
              )
            })
          )
          const journaled = items.filter(({ _tag }) => _tag !== "Delta").map(shown)
          assert.deepStrictEqual(journaled, [
            "RunAccepted",
            "RunClaimed",
            "CaughtUp",
            "ModelTurned",
            "RunEnded"
          ])
        }).pipe(Effect.scoped, Effect.provide(Layer.merge(EphemeralStore.layer, store)))
      },
      { timeout: 60_000 }
    )
  }
})
