import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer } from "effect"
import { RunJournal } from "../../services/RunJournal.ts"
import * as SqlStores from "../../layers/sql/stores/SqlStores.ts"
import * as Samples from "../contracts/Samples.ts"
import * as EmbeddedPostgres from "./EmbeddedPostgres.ts"

layer(Layer.provideMerge(SqlStores.layer, EmbeddedPostgres.layer), {
  excludeTestServices: true,
  timeout: "2 minutes"
})("slow transactional bodies (PostgreSQL)", (it) => {
  it.effect("leave connections for the lease of their process and for other runs", () =>
    Effect.gen(function* () {
      const journal = yield* RunJournal
      const gate = Deferred.makeUnsafe<void>()
      const other = yield* Samples.begin({}, [Samples.modelTurned(1, 1)])
      const held = yield* Effect.forEach(Array.from({ length: 20 }), () =>
        Effect.gen(function* () {
          const begun = yield* Samples.begin({}, [Samples.modelTurned(1, 1)])
          return yield* Effect.forkChild(
            journal.transact(begun.run, begun.fence, Deferred.await(gate), () =>
              begun.next(Samples.callSettled())
            )
          )
        })
      )
      yield* Effect.yieldNow
      yield* journal.heartbeat("a", 15_000)
      yield* journal.append(other.next(Samples.callSettled()))
      assert.isUndefined(held[0]!.pollUnsafe())
      yield* Deferred.succeed(gate, undefined)
      yield* Effect.forEach(held, Fiber.join)
    })
  )
})
