/** The store has an append, and the connection is lost before it says so. Nothing here waits for a sweep or for a watcher's time. */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber } from "effect"
import { SqlError } from "effect/sql"
import { answerOfRun } from "../../layers/compose/promises/Waiting.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import type { RunEvent } from "../../src/run/RunEvent.ts"
import * as H from "../runtime/Harness.ts"
import { engines } from "./Engines.ts"
import { storesOver } from "./SlowAnswers.ts"

const never_ms = 3_600_000
const config = { watch_ms: never_ms, sweep_ms: never_ms, park_ms: never_ms, lease_ms: never_ms }

const lost = Effect.suspend(() => {
  const props = { cause: new Error("cut"), message: "cut", operation: "query" }
  return Effect.fail(new SqlError.SqlError({ reason: new SqlError.ConnectionError(props) }))
})

/** Loses what the store answers to the next append with an event of this kind. */
class Line {
  cut: RunEvent["_tag"] | undefined

  readonly between = (statement: string): Effect.Effect<void, SqlError.SqlError> => {
    const { cut } = this
    if (
      cut === undefined ||
      !/troupe\.(append|amend)_/.test(statement) ||
      !statement.includes(cut)
    ) {
      return Effect.void
    }
    this.cut = undefined
    return lost
  }
}

const failsLost = <A, E extends { readonly _tag: string }, R>(command: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.exit(command), (exit) => {
    const [reason] = Exit.isFailure(exit) ? exit.cause.reasons : []
    assert.strictEqual(reason?._tag === "Fail" ? reason.error._tag : undefined, "JournalError")
  })

const asking = (park_ms: number): H.Options => ({
  tools: { pay: H.asks((n) => Effect.succeed(n)) },
  script: ({ transcript }) => (transcript.length === 1 ? call("pay", { n: 1 }) : text("done")),
  config: { ...config, park_ms }
})

const isParked = Effect.gen(function* () {
  const runtime = yield* AgentRuntime
  while ((yield* runtime.actors(10, H.tenant)).some(({ state }) => state !== "parked")) {
    yield* Effect.sleep(5)
  }
})

describe("an append whose acknowledgement is lost", () => {
  for (const [name, client] of engines) {
    const onLine = <A, E, R>(test: (line: Line) => Effect.Effect<A, E, R>) => {
      const line = new Line()
      return Effect.suspend(() => test(line)).pipe(
        Effect.scoped,
        Effect.provide(storesOver(client, line.between))
      )
    }

    it.live(`of a cancel: what the run has in flight is interrupted (${name})`, () =>
      onLine((line) =>
        Effect.gen(function* () {
          const begun = Deferred.makeUnsafe<void>()
          const isInterrupted = Deferred.makeUnsafe<void>()
          const body = Effect.onInterrupt(
            Effect.andThen(Deferred.succeed(begun, undefined), Effect.never),
            () => Deferred.succeed(isInterrupted, undefined)
          )
          const process = yield* H.boot({
            tools: { slow: H.reads(() => body) },
            script: () => call("slow", { n: 1 }),
            config
          })
          const run = yield* process.run(H.send("hello"))
          const ended = yield* Effect.forkScoped(process.run(H.ended(run)))
          yield* Deferred.await(begun)
          yield* process.run(H.happened(run, "ModelTurned"))
          line.cut = "RunStopping"
          yield* failsLost(process.run(H.cancel(run)))
          yield* Deferred.await(isInterrupted)
          assert.deepInclude(H.end(yield* Fiber.join(ended)), { status: "cancelled" })
        })
      )
    )

    for (const [where, park_ms] of [
      ["waits in its process", never_ms],
      ["is parked", 1]
    ] as const) {
      it.live(`of a decision: a run that ${where} goes on (${name})`, () =>
        onLine((line) =>
          Effect.gen(function* () {
            const process = yield* H.boot(asking(park_ms))
            const run = yield* process.run(H.send("hello"))
            const { approval } = yield* process.run(H.question(run))
            if (park_ms === 1) yield* process.run(isParked)
            line.cut = "ApprovalDecided"
            yield* failsLost(process.run(H.decide(approval, H.approve)))
            const all = yield* process.run(H.ended(run))
            assert.deepInclude(H.end(all), { status: "complete" })
            assert.strictEqual(H.count(all, "ApprovalDecided"), 1)
          })
        )
      )
    }

    it.live(`of a question: who waits for the run is given it (${name})`, () =>
      onLine((line) =>
        Effect.gen(function* () {
          const process = yield* H.boot(asking(never_ms))
          line.cut = "ApprovalRequested"
          const run = yield* process.run(H.send("hello"))
          const answer = yield* process.run(answerOfRun(run, H.alice))
          assert(answer.status === "awaiting_approval")
          assert.lengthOf(answer.approvals, 1)
          assert.isUndefined(line.cut)
          assert.strictEqual(H.count(yield* process.run(H.events(run)), "ApprovalRequested"), 1)
        })
      )
    )
  }
})
