import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Json } from "../../src/value/Canonical.ts"
import { empty_text } from "../../src/run/RunGuard.ts"
import { RunLimits } from "../../src/run/RunLimits.ts"
import type { Turn } from "../../src/run/RunDecider.ts"
import { ToolTransientError } from "../../src/error/ToolError.ts"
import { call, calls, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as H from "./Harness.ts"

const look = { look: H.reads((n) => Effect.succeed(n)) }
const limited = (limits: Partial<RunLimits>) => ({ limits: RunLimits.make(limits) })

/** What the model was told of the first step's calls. */
const told = Effect.map(H.requests, (requests) => H.resultsShown(requests[1]))

const malformed = (input: string): Turn => ({
  ...call("look"),
  calls: [{ model_id: "c", name: "look", arguments: null, malformed: input }]
})

/** What a model may get wrong, and what it must be told. */
const slips: ReadonlyArray<
  readonly [what: string, turn: Turn, says: ReadonlyArray<string>, reason: string]
> = [
  ["arguments that are no JSON", malformed('{"n": 1'), ["not JSON", '{"n": 1'], "MALFORMED_JSON"],
  ["a tool that does not exist", call("lok", { n: 1 }), ['Did you mean "look"?'], "UNKNOWN_TOOL"],
  ["arguments of another type", call("look", { n: "one" }), ['["n"]'], "INPUT_SCHEMA"],
  ["arguments that are no object", call("look", [1]), ["object"], "INPUT_SCHEMA"],
  ["no name at all", call("", { n: 1 }), ['no tool ""'], "UNKNOWN_TOOL"]
]

describe("a mistake of the model", () => {
  for (const [what, turn, says, reason] of slips) {
    it.live(`${what} is a result for it, and the run goes on`, () =>
      Effect.gen(function* () {
        const all = yield* H.ended(yield* H.send("hello"))
        const outcome = H.outcome(all)
        assert.strictEqual(outcome?._tag === "Failed" ? outcome.error.reason : "", reason)
        const [result] = yield* told
        for (const each of says) assert.include(result, each)
        assert.deepInclude(H.end(all), { status: "complete", text: "done" })
      }).pipe(Effect.provide(H.layer({ tools: look, script: [turn, text("done")] })))
    )
  }

  it.live("an argument of another name is answered with the one that was probably meant", () =>
    Effect.gen(function* () {
      yield* H.ended(yield* H.send("hello"))
      assert.include((yield* told)[0], 'Did you mean "reason"?')
    }).pipe(
      Effect.provide(
        H.layer({
          tools: { look: { ...look.look, parameters: { reason: H.textField } } },
          script: [call("look", { reson: "why" }), text("done")]
        })
      )
    )
  )

  for (const id of ["", "same"]) {
    it.live(`ids that are ${id === "" ? "missing" : "the same"} name two calls of one turn`, () =>
      Effect.gen(function* () {
        const all = yield* H.ended(yield* H.send("hello"))
        assert.deepStrictEqual(yield* told, ["1", "2"])
        assert.strictEqual(new Set(H.settled(all).map((event) => event.call)).size, 2)
      }).pipe(
        Effect.provide(
          H.layer({
            tools: look,
            script: [
              {
                ...call("look"),
                calls: [1, 2].map((n) => ({ model_id: id, name: "look", arguments: { n } }))
              },
              text("done")
            ]
          })
        )
      )
    )
  }

  it.live(
    "of two equal writes in one turn one runs, and the other is refused as a duplicate",
    () => {
      let ran = 0
      const again = { b: { y: [1], x: 1 }, n: 1 } as unknown as Json
      return Effect.gen(function* () {
        const all = yield* H.ended(yield* H.send("hello"))
        assert.strictEqual(ran, 2)
        const [first, second, third] = yield* told
        assert.include(first, "1")
        assert.include(second, "DUPLICATE_CALL")
        assert.include(second, "call 1 of it")
        assert.include(third, "2")
        assert.deepInclude(H.end(all), { status: "complete" })
      }).pipe(
        Effect.provide(
          H.layer({
            tools: {
              pay: {
                ...H.writes((n) => Effect.sync(() => (ran++, n))),
                parameters: H.anyFields
              }
            },
            // The order of keys makes no other thing of it.
            script: [
              calls([
                call("pay", { n: 1, b: { x: 1, y: [1] } }),
                call("pay", again),
                call("pay", { n: 2, b: { x: 1, y: [1] } })
              ]),
              text("done")
            ]
          })
        )
      )
    }
  )

  it.live("a person is asked once for two equal calls", () =>
    Effect.gen(function* () {
      const run = yield* H.send("hello")
      yield* H.decide((yield* H.question(run)).approval, H.approve)
      const all = yield* H.ended(run)
      assert.strictEqual(H.count(all, "ApprovalRequested"), 1)
      assert.strictEqual(H.count(all, "CallDispatched"), 1)
      assert.include((yield* told)[1], "DUPLICATE_CALL")
    }).pipe(
      Effect.provide(
        H.layer({
          tools: { pay: H.asks((n) => Effect.succeed(n)) },
          script: [calls([call("pay", { n: 1 }), call("pay", { n: 1 })]), text("done")]
        })
      )
    )
  )

  it.live("the same write in a later turn runs again", () => {
    let ran = 0
    return Effect.gen(function* () {
      yield* H.ended(yield* H.send("hello"))
      assert.strictEqual(ran, 2)
    }).pipe(
      Effect.provide(
        H.layer({
          tools: { pay: H.writes((n) => Effect.sync(() => (ran++, n))) },
          script: [call("pay", { n: 1 }), call("pay", { n: 1 }), text("done")]
        })
      )
    )
  })

  it.live("an empty turn is no answer: the model is asked again with a note", () =>
    Effect.gen(function* () {
      const all = yield* H.ended(yield* H.send("hello"))
      assert.deepInclude(H.end(all), { status: "complete", text: "done" })
      const [, second] = yield* H.requests
      assert.deepStrictEqual(second?.transcript.at(-1), { role: "user", text: empty_text })
      assert.isFalse(second?.transcript.some((entry) => entry.role === "assistant"))
    }).pipe(Effect.provide(H.layer({ tools: look, script: [text(" \n"), text("done")] })))
  )
})

describe("the loop guard", () => {
  const wrong: ReadonlyArray<readonly [what: string, turn: (n: number) => Turn]> = [
    ["tools that do not exist", (n) => call(`tool_${n}`, { n })],
    ["arguments that do not fit", (n) => call("look", { n: `${n}` })],
    ["arguments that are no JSON", (n) => malformed(`{${n}`)],
    ["empty answers", () => text("")]
  ]
  for (const [what, turn] of wrong) {
    it.live(`ends a run with nothing but ${what}`, () =>
      Effect.gen(function* () {
        const all = yield* H.ended(yield* H.send("hello"))
        assert.strictEqual(H.count(all, "ModelTurned"), 3)
        assert.deepInclude(H.end(all), { status: "failed", reason: "mistakes_max" })
        const stopping = all.find((event) => event._tag === "RunStopping")
        assert.match(stopping?.message ?? "", /3 of 3 turns of mistakes in a row.*last mistake: \S/)
      }).pipe(
        Effect.provide(
          H.layer({
            tools: look,
            script: ({ step }) => turn(step),
            agent: limited({ mistakes_max: 3 })
          })
        )
      )
    )
  }

  it.live("one valid call sets the count of mistakes to zero", () =>
    Effect.gen(function* () {
      const all = yield* H.ended(yield* H.send("hello"))
      assert.deepInclude(H.end(all), { status: "complete", text: "done" })
    }).pipe(
      Effect.provide(
        H.layer({
          tools: look,
          script: [call("a"), calls([call("b"), call("look", { n: 1 })]), call("c"), text("done")],
          agent: limited({ mistakes_max: 2 })
        })
      )
    )
  )

  const flaky = {
    flaky: H.reads(() =>
      Effect.fail(new ToolTransientError({ kind: "network", message: "it is away" }))
    )
  }

  it.live("ends a run in which the same call fails again and again, whatever is between", () =>
    Effect.gen(function* () {
      const all = yield* H.ended(yield* H.send("hello"))
      assert.deepInclude(H.end(all), { status: "failed", reason: "repeats_max" })
      assert.strictEqual(H.count(all, "ModelTurned"), 5)
    }).pipe(
      Effect.provide(
        H.layer({
          tools: { ...flaky, ...look },
          script: ({ step }) => call(step % 2 === 1 ? "flaky" : "look", { n: 1 }),
          agent: limited({ repeats_max: 3 })
        })
      )
    )
  )

  it.live("calls with other arguments count apart, and a success sets the count to zero", () => {
    let tries = 0
    return Effect.gen(function* () {
      const all = yield* H.ended(yield* H.send("hello"))
      assert.deepInclude(H.end(all), { status: "complete" })
    }).pipe(
      Effect.provide(
        H.layer({
          tools: {
            ...flaky,
            second: H.reads((n) =>
              ++tries % 2 === 1
                ? Effect.fail(new ToolTransientError({ kind: "network", message: "away" }))
                : Effect.succeed(n)
            )
          },
          script: [
            call("flaky", { n: 1 }),
            call("flaky", { n: 2 }),
            ...Array.from({ length: 4 }, () => call("second", { n: 1 })),
            text("done")
          ],
          agent: limited({ repeats_max: 2 })
        })
      )
    )
  })

  it.live("with answer, the user has an answer in place of a failure", () =>
    Effect.gen(function* () {
      const all = yield* H.ended(yield* H.send("hello"))
      assert.deepInclude(H.end(all), { status: "complete", text: "I cannot" })
    }).pipe(
      Effect.provide(
        H.layer({
          tools: look,
          script: ({ tools }) => (tools.length > 0 ? call("nothing") : text("I cannot")),
          agent: limited({ mistakes_max: 2, on_breach: "answer" })
        })
      )
    )
  )
})
