/** What goes into a body and what comes out of it, of every kind of tool. */
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Schema } from "effect"
import { toolFactsOf } from "../../src/tool/CallRecord.ts"
import { ToolTransientError } from "../../src/error/ToolError.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { handlerEffect } from "../../layers/runtime/tool/HandlerEffect.ts"
import * as H from "./Harness.ts"

type Governance = H.TestTool["governance"]

const kinds: Readonly<Record<string, Governance>> = {
  none: { side_effects: "none" },
  read: { side_effects: "read" },
  write: { side_effects: "write", permission: "allow" },
  external: { side_effects: "external", permission: "allow" },
  "idempotent external": { side_effects: "external", permission: "allow", idempotent: true },
  transactional: { side_effects: "write", permission: "allow", transactional: true },
  approved: { side_effects: "external", effect_description: "Changes something." },
  "retried read": {
    side_effects: "read",
    retry: { max_attempts: 2, backoff_initial_ms: 1, backoff_max_ms: 1 }
  }
}

const finished = Effect.fnUntraced(function* (name: string) {
  const run = yield* H.send("go")
  if (name === "approved") yield* H.decide((yield* H.question(run)).approval, H.approve)
  return yield* H.ended(run)
})

/** Whatever is done with it throws. */
const hostile = new Proxy(
  {},
  {
    getPrototypeOf: () => {
      throw new Error("looked at")
    }
  }
)

describe("the body of a tool", () => {
  for (const [how, run] of [
    [
      "throws",
      () => {
        throw hostile
      }
    ],
    ["rejects with", () => Promise.reject(hostile)]
  ] as const) {
    it.live(`that ${how} what cannot be looked at has a defect at once`, () =>
      Effect.gen(function* () {
        const body = handlerEffect<never>({ _tag: "Function", run }, {}, { call: {} } as never)
        const exit = yield* Effect.exit(Effect.timeout(body, 1_000))
        assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
      })
    )
  }

  for (const [title, given] of [
    ["a number", 7],
    ["a text", "done"],
    ["nothing", undefined],
    ["null", null]
  ] as const) {
    it.live(
      `of JavaScript that gives ${title} and no Effect fails its call, and not the run`,
      () => {
        const tools = { work: H.reads(() => given as never) }
        const script = [call("work", { n: 1 }), text("done")]
        return Effect.gen(function* () {
          const all = yield* finished("read")
          assert.deepNestedInclude(H.outcome(all), { "error.class": "ToolTerminalError" })
          assert.strictEqual(H.end(all)?.status, "complete")
        }).pipe(Effect.provide(H.layer({ tools, script })))
      }
    )
  }

  for (const [name, governance] of Object.entries(kinds)) {
    it.live(
      `SG-50 of kind ${name} fails where it breaks its output schema, and has no result fact`,
      () => {
        const tools = {
          work: { governance, success: Schema.Int, body: () => Effect.succeed("no number") }
        }
        const script = [call("work", { n: 1 }), text("done")]
        return Effect.gen(function* () {
          const all = yield* finished(name)
          assert.deepNestedInclude(H.outcome(all), {
            "error.class": "ToolTerminalError",
            "error.reason": "OUTPUT_SCHEMA"
          })
          // The receipt of a write that ran is not lost for its shape.
          const isKept = /write|external|approved/.test(name)
          assert.strictEqual(JSON.stringify(all).includes("no number"), isKept)
          const facts = toolFactsOf(all).map(({ _tag }) => _tag as string)
          assert.deepStrictEqual(facts, ["tool-call"])
        }).pipe(Effect.provide(H.layer({ tools, script })))
      }
    )

    it.live(
      `ST-06 of kind ${name} gets its decoded arguments, and its plain output is the result`,
      () => {
        const given: Array<unknown> = []
        const tools: H.Options["tools"] = {
          work: {
            governance,
            parameters: { n: Schema.Int, at: Schema.optionalKey(Schema.DateFromString) },
            body: (_n, _call, args) =>
              Effect.suspend(() => {
                given.push(args)
                return name === "retried read" && given.length === 1
                  ? Effect.fail(new ToolTransientError({ kind: "network", message: "once more" }))
                  : Effect.succeed({ total: 42, list: [null, "a"] })
              })
          }
        }
        const at = "2026-01-02T03:04:05.000Z"
        const script = [call("work", { n: 7, at }), text("done")]
        return Effect.gen(function* () {
          const all = yield* finished(name)
          const decoded = { n: 7, at: new Date(at) }
          const times = name === "retried read" ? 2 : 1
          assert.deepStrictEqual(
            given,
            Array.from({ length: times }, () => decoded)
          )
          for (const args of given) assert.sameMembers(Reflect.ownKeys(args as object), ["n", "at"])
          const outcome = H.outcome(all)
          assert.strictEqual(outcome?._tag, "Value")
          const json = outcome?._tag === "Value" ? outcome.json : ""
          assert.deepStrictEqual(JSON.parse(json), { total: 42, list: [null, "a"] })
          assert.deepStrictEqual(H.resultsShown((yield* H.requests).at(-1)), [json])
        }).pipe(Effect.provide(H.layer({ tools, script })))
      }
    )
  }

  it.live(
    "may change its arguments: each attempt has its own, and the run keeps the model's",
    () => {
      const given: Array<unknown> = []
      const change = (args: unknown) => {
        given.push(structuredClone(args))
        ;(args as { b: Array<string> }).b.push("more")
      }
      const once = { max_attempts: 2, backoff_initial_ms: 1, backoff_max_ms: 1 }
      const tools: H.Options["tools"] = {
        work: {
          governance: {
            side_effects: "external",
            effect_description: "Changes something.",
            idempotent: true,
            retry: once,
            precondition: (args) => Effect.sync(() => change(args))
          },
          parameters: H.anyFields,
          body: (_n, _call, args) =>
            Effect.suspend(() => {
              change(args)
              return given.length < 4
                ? Effect.fail(new ToolTransientError({ kind: "network", message: "once more" }))
                : Effect.succeed("done")
            })
        }
      }
      const proposed = { n: 1, b: ["a"] }
      return Effect.gen(function* () {
        const run = yield* H.send("go")
        const question = yield* H.question(run)
        assert.deepStrictEqual(question.arguments, proposed)
        yield* H.decide(question.approval, H.approve)
        assert.deepInclude(H.outcome(yield* H.ended(run)), { _tag: "Value" })
        // The precondition before the question and after it, and two attempts.
        assert.deepStrictEqual(given, [proposed, proposed, proposed, proposed])
        const { transcript } = (yield* H.requests).at(-1)!
        assert.deepStrictEqual(
          transcript.flatMap((each) => (each.role === "assistant" ? each.calls : [])),
          [{ model_id: "call_0", name: "work", arguments: proposed }] as never
        )
      }).pipe(Effect.provide(H.layer({ tools, script: [call("work", proposed), text("end")] })))
    }
  )
})
