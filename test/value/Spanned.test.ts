/** Calls are spans where somebody traces, and only there. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Tracer } from "effect"
import { spanned } from "../../src/value/Telemetry.ts"

const nameWithin = spanned("Desk.decide", (given: string) =>
  Effect.map(
    Effect.option(Effect.currentSpan),
    (span) => `${given} in ${span._tag === "Some" ? span.value.name : "no span"}`
  )
)

const tracer = Tracer.make({ span: (options) => new Tracer.NativeSpan(options) })

describe("a spanned function", () => {
  it.effect("is called within a span of its name where the fiber has a tracer", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* nameWithin("it"), "it in Desk.decide")
    }).pipe(Effect.withTracer(tracer))
  )

  it.effect("is called as it is where the fiber has none", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* nameWithin("it"), "it in no span")
    })
  )
})
