/** The span that a body runs in, where nothing but the sender of the message traces. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option, Tracer } from "effect"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as H from "./Harness.ts"

describe("a body", () => {
  it.effect("runs in the span of its own run's sender, and in none where there is none", () => {
    const seen: Array<string | undefined> = []
    const look = H.reads(() =>
      Effect.map(Effect.option(Effect.currentParentSpan), (span) => {
        seen.push(Option.getOrUndefined(span)?.traceId)
        return 1
      })
    )
    const within = (traceId: string) =>
      Effect.withParentSpan(
        Tracer.externalSpan({ traceId, spanId: "b7ad6b7169203331", sampled: true })
      )
    const [one, two] = ["1".repeat(32), "2".repeat(32)]
    return Effect.gen(function* () {
      const say = (conversation: string) =>
        Effect.flatMap(H.send("hello", conversation), (run) => H.ended(run, conversation))
      yield* say("c-1")
      yield* within(one)(say("c-2"))
      yield* within(two)(say("c-3"))
      yield* within(two)(say("c-1"))
      yield* say("c-2")
      assert.deepStrictEqual(seen, [undefined, one, two, two, undefined])
    }).pipe(
      Effect.provide(
        H.layer({
          tools: { look },
          script: ({ transcript }) =>
            transcript.length === 1 ? call("look", { n: 1 }) : text("done")
        })
      )
    )
  })
})
