import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { call, calls, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { turn_calls_max } from "../../layers/runtime/loop/CheckedTurn.ts"
import { turn_bytes_max } from "../../services/ModelGateway.ts"
import { cleanResult } from "../../src/tool/Sanitise.ts"
import { areReadable } from "../../src/run/Quarantine.ts"
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
  assert.isTrue(areReadable(all))
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
    ["of a bigint", { n: 10n }],
    ["of a member that is undefined", { n: undefined }],
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

  it.live("a call without arguments is a malformed call, and the model is told", () =>
    Effect.gen(function* () {
      const outcome = yield* run
      assert.deepInclude(outcome?._tag === "Failed" ? outcome.error : {}, {
        class: "ToolUserError",
        reason: "MALFORMED_JSON"
      })
    }).pipe(
      Effect.provide(
        H.layer({
          tools: { look: H.reads(() => Effect.succeed("seen")) },
          script: ({ transcript }) =>
            transcript.length === 1
              ? ({
                  text: "",
                  calls: [{ model_id: "1", name: "look" }],
                  finish: "tool_calls"
                } as never)
              : text("done")
        })
      )
    )
  )

  const no_turns: ReadonlyArray<readonly [string, unknown]> = [
    ["has a text that is a number", { text: 5, calls: [], finish: "stop" }],
    ["names no tool", { text: "", calls: [{ model_id: 1, name: null, arguments: {} }] }],
    ["ends for a reason of its own", { ...text("hello"), finish: "because" }],
    ["ends for no reason", { text: "hello", calls: [] }],
    ["has reasons that are no list", { ...text("hello"), reasoning: "because" }],
    ["has parts of a kind that there is not", { ...text("hello"), parts: [{ of: "magic" }] }],
    ["names its model by a number", { ...text("hello"), model: 5 }],
    ["has more text than a turn may have", text("x".repeat(turn_bytes_max))],
    ["has more control characters", text("\u0001".repeat(turn_bytes_max / 6))],
    ["has larger arguments", call("look", { s: "x".repeat(turn_bytes_max) })],
    ["has longer reasons", { ...text("hello"), reasoning: [{ text: "x".repeat(turn_bytes_max) }] }],
    [
      "has more calls than a turn may have",
      calls(Array.from({ length: turn_calls_max + 1 }, () => call("look")))
    ]
  ]
  for (const [title, turn] of no_turns) {
    it.live(`a turn that ${title} fails as a defect of its gateway, and is not written`, () =>
      Effect.gen(function* () {
        const id = yield* H.send("hello")
        const all = yield* H.ended(id)
        assert.isTrue(areReadable(all))
        assert.strictEqual(H.count(all, "ModelTurned"), 0)
        assert.deepInclude(H.end(all), { status: "failed", reason: "model_defect" })
      }).pipe(Effect.provide(H.layer({ script: () => turn as never })))
    )
  }

  it.live("members that a turn does not have, and those that are undefined, are not written", () =>
    Effect.gen(function* () {
      const id = yield* H.send("hello")
      const all = yield* H.ended(id)
      assert.isTrue(areReadable(all))
      assert.deepInclude(H.end(all), { status: "complete", text: "hello" })
      const turned = all.find(({ _tag }) => _tag === "ModelTurned")
      assert.notProperty(turned, "approved_by")
      assert.notProperty(turned, "model")
    }).pipe(
      Effect.provide(
        H.layer({
          script: () => ({ ...text("hello"), model: undefined, approved_by: 10n }) as never
        })
      )
    )
  )

  it.live("a turn may have as many bytes as there are", () =>
    Effect.gen(function* () {
      const id = yield* H.send("hello")
      assert.deepInclude(H.end(yield* H.ended(id)), { status: "complete" })
    }).pipe(Effect.provide(H.layer({ script: () => text("x".repeat(turn_bytes_max - 100)) })))
  )

  for (const failure of ["a text", new Error("an error"), { kind: "refused", message: "no" }]) {
    it.live(`a gateway that fails with ${String(failure)} failed by a defect`, () =>
      Effect.gen(function* () {
        const all = yield* H.ended(yield* H.send("hello"))
        assert.deepInclude(H.end(all), { status: "failed", reason: "model_defect" })
      }).pipe(Effect.provide(H.layer({ script: () => Effect.fail(failure) as never })))
    )
  }
})
