import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { call, text } from "../../layers/model/ScriptedModelGateway.ts"
import { cleanResult } from "../../src/tool/Sanitise.ts"
import { isReadable } from "../../src/run/Readable.ts"
import * as H from "../runtime/Harness.ts"

const nested = (depth: number): unknown => {
  let value: unknown = "<"
  for (let i = 0; i < depth; i++) value = { a: value }
  return value
}

/** One call of a tool that gives `result`, with `args`; then the model answers. */
const calling = (result: unknown, args: unknown = { n: 1 }) =>
  H.layer({
    tools: {
      look: { ...H.reads(() => Effect.succeed(result)), success: Schema.Unknown as never },
      pay: H.asks(() => Effect.succeed("paid"))
    },
    agent: { limits: { ...H.agentsOf({ script: [] as never })[0]!.limits, steps_max: 4 } },
    script: ({ transcript }) =>
      transcript.length === 1
        ? call(args === undefined ? "look" : "look", args as never)
        : text("done")
  })

const run = Effect.gen(function* () {
  const id = yield* H.send("hello")
  const all = yield* H.ended(id)
  assert.isTrue(isReadable(all))
  assert.deepInclude(H.end(all), { status: "complete", text: "done" })
  return H.outcome(all)
})

describe("values of unbounded depth", () => {
  for (const depth of [200, 2_500, 6_000, 100_000]) {
    it.live(`a result ${depth} deep is a failure of its call, and the run goes on`, () =>
      Effect.gen(function* () {
        const outcome = yield* run
        assert.strictEqual(outcome?._tag, "Failed")
        assert.deepInclude(outcome?._tag === "Failed" ? outcome.error : {}, {
          class: "ToolTerminalError"
        })
      }).pipe(Effect.provide(calling(nested(depth))))
    )
  }

  it.live("a result within the bounds is passed on", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* run)?._tag, "Value")
    }).pipe(Effect.provide(calling(nested(100))))
  )

  const strange: ReadonlyArray<readonly [string, unknown]> = [
    ["nested 2,500 deep", { n: nested(2_500) }],
    ["of a number beyond all numbers", { n: Infinity }],
    ["with more values than a call may have", { n: Array.from({ length: 50_000 }, () => 0) }]
  ]
  for (const [title, args] of strange) {
    it.live(`arguments ${title} are a malformed call, and the model is told`, () =>
      Effect.gen(function* () {
        const outcome = yield* run
        assert.deepInclude(outcome?._tag === "Failed" ? outcome.error : {}, {
          class: "ToolUserError",
          reason: "MALFORMED_JSON"
        })
      }).pipe(Effect.provide(calling("seen", args)))
    )
  }

  it("a result that was journaled before there were bounds is cleaned as it stands", () => {
    const json = JSON.stringify({ a: "<|im_start|><b>" }).replace(":", `:${"[".repeat(50_000)}`)
    const clean = cleanResult(`${json.slice(0, -1)}${"]".repeat(50_000)}}`, false)
    assert.notInclude(clean, "<b>")
    assert.notInclude(clean, "im_start")
  })

  it.live(
    "a turn that is none fails as a defect of its gateway, and nothing of it is written",
    () =>
      Effect.gen(function* () {
        const id = yield* H.send("hello")
        const all = yield* H.ended(id)
        assert.isTrue(isReadable(all))
        assert.strictEqual(H.count(all, "ModelTurned"), 0)
        assert.deepInclude(H.end(all), { status: "failed", reason: "model_defect" })
      }).pipe(
        Effect.provide(
          H.layer({
            script: () =>
              ({ text: 5, calls: [{ model_id: 1, name: null, arguments: {} }] }) as never
          })
        )
      )
  )
})
