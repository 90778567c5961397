import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import {
  ToolPolicyError,
  ToolTerminalError,
  ToolTransientError,
  ToolUserError,
  failureTextForUser
} from "../../src/error/ToolError.ts"
import type { ToolErrorClass } from "../../src/error/ToolError.ts"
import type { ScriptedTurn } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { call, calls, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as H from "./Harness.ts"

interface Expected {
  readonly class: ToolErrorClass
  readonly kind: string
  readonly reason?: string
  /** What the model's copy says beside class and kind. */
  readonly says: string | RegExp
}

/** One call, then an answer: what the journal keeps of the failure, and what the model reads. */
const fails = (
  title: string,
  options: { readonly tool?: H.TestTool; readonly turn?: ScriptedTurn },
  expected: Expected
) =>
  it.live(title, () =>
    Effect.gen(function* () {
      const all = yield* H.ended(yield* H.send("hello"))
      const outcome = H.outcome(all)
      assert.strictEqual(outcome?._tag, "Failed")
      if (outcome?._tag !== "Failed") return
      assert.strictEqual(outcome.error.class, expected.class)
      assert.strictEqual(outcome.error.kind, expected.kind)
      if (expected.reason !== undefined) assert.strictEqual(outcome.error.reason, expected.reason)
      assert.strictEqual(H.end(all)?.status, "complete")
      const asked = yield* H.requests
      assert.strictEqual(asked.length, 2)
      const [shown] = H.resultsShown(asked[1])
      assert.include(shown, expected.class)
      assert.include(shown, expected.kind)
      if (typeof expected.says === "string") assert.include(shown, expected.says)
      else assert.match(shown!, expected.says)
      assertNoTrace(JSON.stringify(all) + shown)
    }).pipe(
      Effect.provide(
        H.layer({
          tools: { t: options.tool ?? H.reads((n) => Effect.succeed(n)) },
          script: [options.turn ?? call("t", { n: 1 }), text("done")]
        })
      )
    )
  )

/** Neither a stack nor what a defect said. */
const assertNoTrace = (said: string) => {
  assert.notMatch(said, /\bat .*\.(ts|js|mjs):\d+/)
  assert.notInclude(said, "node_modules")
  assert.notInclude(said, "hunter2")
}

/** What a body without types may fail with. */
const thrown: unknown = new Error("password hunter2")

describe("a failing tool", () => {
  fails(
    "ST-14 ST-19 a ToolUserError reaches the model with class, kind and description",
    {
      tool: H.reads(() =>
        Effect.fail(new ToolUserError({ kind: "not_found", message: "no such order" }))
      )
    },
    { class: "ToolUserError", kind: "not_found", says: "no such order" }
  )
  fails(
    "ST-15 a ToolPolicyError says not to try again",
    {
      tool: H.reads(() =>
        Effect.fail(
          new ToolPolicyError({ kind: "permission", reason: "OUT_OF_SCOPE", message: "not yours" })
        )
      )
    },
    { class: "ToolPolicyError", kind: "permission", reason: "OUT_OF_SCOPE", says: /not yours.*not/ }
  )
  fails(
    "ST-16 a ToolTransientError says when it may work again",
    {
      tool: H.reads(() =>
        Effect.fail(
          new ToolTransientError({ kind: "network", message: "no route", retry_after_ms: 1_500 })
        )
      )
    },
    { class: "ToolTransientError", kind: "network", says: "1500 ms" }
  )
  fails(
    "ST-17 a ToolTerminalError says that it cannot succeed",
    {
      tool: H.reads(() =>
        Effect.fail(new ToolTerminalError({ kind: "internal", message: "the ledger is broken" }))
      )
    },
    { class: "ToolTerminalError", kind: "internal", says: /ledger is broken.*cannot succeed/ }
  )
  fails(
    "ST-18 a throw becomes a ToolTerminalError without its text or stack",
    {
      tool: H.reads(() => {
        throw new Error("password hunter2")
      })
    },
    { class: "ToolTerminalError", kind: "internal", reason: "DEFECT", says: "defect" }
  )
  fails(
    "ST-18 a promise rejected with no Error becomes a ToolTerminalError without its text",
    { tool: H.reads(() => Effect.promise(() => Promise.reject("hunter2"))) },
    { class: "ToolTerminalError", kind: "internal", reason: "DEFECT", says: "defect" }
  )
  fails(
    "ST-18 a defect becomes a ToolTerminalError without its text",
    { tool: H.reads(() => Effect.die({ secret: "hunter2" })) },
    { class: "ToolTerminalError", kind: "internal", reason: "DEFECT", says: "defect" }
  )
  fails(
    "ST-18 a body that interrupts itself is a defect, and not a cancelled run",
    { tool: H.reads(() => Effect.interrupt) },
    { class: "ToolTerminalError", kind: "internal", reason: "DEFECT", says: "defect" }
  )
  fails(
    "ST-18 a failure that is an Error is a defect, without its text",
    { tool: H.reads(() => Effect.fail(thrown) as never) },
    { class: "ToolTerminalError", kind: "internal", reason: "DEFECT", says: "defect" }
  )
  fails(
    "ST-18 a failure that is an object of no class is a defect, without its text",
    { tool: H.reads(() => Effect.fail({ _tag: "X", message: "hunter2" }) as never) },
    { class: "ToolTerminalError", kind: "internal", reason: "DEFECT", says: "defect" }
  )
  fails(
    "ST-18 a write that fails with an Error may have taken effect, and says so",
    { tool: H.writes(() => Effect.fail(thrown) as never) },
    {
      class: "ToolTerminalError",
      kind: "internal",
      reason: "DEFECT",
      says: "may have taken effect"
    }
  )
  fails(
    "SM-18 a failure that is a text is unknown and keeps it",
    { tool: H.reads(() => Effect.fail("boom") as never) },
    { class: "ToolTerminalError", kind: "unknown", says: "boom" }
  )
  fails(
    "refuses a result that the output schema refuses, without the value",
    {
      tool: {
        governance: { side_effects: "read" },
        success: Schema.Struct({ total: Schema.Int }),
        body: () => Effect.succeed({ total: "hunter2" })
      }
    },
    { class: "ToolTerminalError", kind: "internal", reason: "OUTPUT_SCHEMA", says: "schema" }
  )
  fails(
    "refuses arguments that the input schema refuses, and names the field",
    { turn: call("t", { n: "three" }) },
    { class: "ToolUserError", kind: "invalid_args", reason: "INPUT_SCHEMA", says: '["n"]' }
  )
  fails(
    "refuses arguments that the input schema does not know",
    { turn: call("t", { n: 1, also: true }) },
    { class: "ToolUserError", kind: "invalid_args", reason: "INPUT_SCHEMA", says: "also" }
  )
  fails(
    "refuses arguments that were not JSON, and shows where",
    {
      turn: call("t", null, {
        calls: [{ model_id: "x", name: "t", arguments: null, malformed: '{"n": ' }]
      })
    },
    { class: "ToolUserError", kind: "invalid_args", reason: "MALFORMED_JSON", says: '{"n": ' }
  )
  fails(
    "SM-05 answers for an unknown tool with the name that was probably meant",
    { turn: call("tt", { n: 1 }) },
    { class: "ToolUserError", kind: "not_found", reason: "UNKNOWN_TOOL", says: 'Did you mean "t"?' }
  )
  fails(
    "SM-11 looks a tool up by its exact case",
    { turn: call("T", { n: 1 }) },
    { class: "ToolUserError", kind: "not_found", reason: "UNKNOWN_TOOL", says: '"T"' }
  )
  fails(
    "a message of 1 MB in an error is cut to 2,000 characters",
    {
      tool: H.reads(() =>
        Effect.fail(new ToolUserError({ kind: "invalid_args", message: "x".repeat(1_000_000) }))
      )
    },
    { class: "ToolUserError", kind: "invalid_args", says: /^.{2000,2200}$/ }
  )

  it.live(
    "SM-24 a tool that is not on the agent's list is refused by policy and never runs",
    () => {
      let ran = 0
      return Effect.gen(function* () {
        const all = yield* H.ended(yield* H.send("hello"))
        const outcome = H.outcome(all)
        assert.deepInclude(outcome, { _tag: "Failed" })
        if (outcome?._tag !== "Failed") return
        assert.strictEqual(outcome.error.class, "ToolPolicyError")
        assert.strictEqual(outcome.error.kind, "not_found")
        assert.strictEqual(outcome.error.reason, "NOT_ALLOWED")
        assert.include(H.resultsShown((yield* H.requests)[1])[0], "'other'")
        assert.strictEqual(H.end(all)?.status, "complete")
        assert.strictEqual(ran, 0)
      }).pipe(
        Effect.provide(
          H.layer({
            tools: {
              t: H.reads(Effect.succeed),
              other: H.reads(() => Effect.sync(() => void ran++))
            },
            agent: { tools: ["test.t@1"] },
            script: [call("other", { n: 1 }), text("done")]
          })
        )
      )
    }
  )

  it.live(
    "ST-21 an end user reads user and policy errors, and of all others only that the tool failed",
    () =>
      Effect.gen(function* () {
        const said = (cls: ToolErrorClass) =>
          failureTextForUser({ class: cls, kind: "unknown", message: "host db-7 said X" })
        assert.strictEqual(said("ToolUserError"), "host db-7 said X")
        assert.strictEqual(said("ToolPolicyError"), "Not allowed: host db-7 said X")
        assert.notInclude(said("ToolTransientError"), "db-7")
        assert.notInclude(said("ToolTerminalError"), "db-7")
        yield* Effect.void
      })
  )

  it.live("SM-19 a step of failing calls gives each its own result, and the run goes on", () =>
    Effect.gen(function* () {
      const all = yield* H.ended(yield* H.send("hello"))
      const classes = H.settled(all).map(({ outcome }) =>
        outcome._tag === "Failed" ? outcome.error.class : outcome._tag
      )
      assert.sameMembers(classes, ["ToolUserError", "ToolTerminalError", "Value"])
      assert.strictEqual(H.end(all)?.status, "complete")
    }).pipe(
      Effect.provide(
        H.layer({
          tools: {
            ok: H.reads(Effect.succeed),
            die: H.reads(() => Effect.die("x"))
          },
          script: [
            calls([call("ok", { n: 1 }), call("die", { n: 1 }), call("nope", {})]),
            text("done")
          ]
        })
      )
    )
  )
})
