import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { ToolTransientError } from "../../src/error/ToolError.ts"
import { RunLimits } from "../../src/run/RunLimits.ts"
import { TaskStore } from "../../services/TaskStore.ts"
import type { ScriptedTurn } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { call, calls, fails, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as H from "./Harness.ts"

const forever = () => call("look", { n: 1 })
const look = { look: H.reads((n) => Effect.succeed(n)) }
const limited = (limits: Parameters<typeof RunLimits.make>[0]) => ({
  limits: RunLimits.make(limits)
})

describe("a run's limits", () => {
  it.live("ST-22 ST-23 stop a run without an answer after 25 steps, with a typed reason", () =>
    Effect.gen(function* () {
      const run = yield* H.send("hello")
      const all = yield* H.ended(run)
      assert.strictEqual(H.count(all, "ModelTurned"), 25)
      assert.strictEqual(H.count(all, "CallSettled"), 25)
      assert.deepInclude(H.end(all), { status: "failed", reason: "recursion_limit" })
      const task = yield* TaskStore.use((tasks) => tasks.get(run))
      assert.deepInclude(task, { status: "failed", reason: "recursion_limit" })
    }).pipe(Effect.provide(H.layer({ tools: look, script: forever })))
  )

  it.live("ST-22 stop at the number of steps that the agent declares", () =>
    Effect.gen(function* () {
      const all = yield* H.ended(yield* H.send("hello"))
      assert.strictEqual(H.count(all, "ModelTurned"), 3)
      assert.strictEqual(H.count(all, "CallSettled"), 3)
    }).pipe(
      Effect.provide(H.layer({ tools: look, script: forever, agent: limited({ steps_max: 3 }) }))
    )
  )

  it.live("with on_breach answer, give one more turn, without tools", () =>
    Effect.gen(function* () {
      const all = yield* H.ended(yield* H.send("hello"))
      assert.strictEqual(H.count(all, "ModelTurned"), 4)
      assert.deepInclude(H.end(all), { status: "complete", text: "as far as I came" })
      const asked = yield* H.requests
      assert.deepStrictEqual(
        asked.map(({ tools }) => tools.length),
        [1, 1, 1, 0]
      )
    }).pipe(
      Effect.provide(
        H.layer({
          tools: look,
          script: ({ tools }) => (tools.length > 0 ? forever() : text("as far as I came")),
          agent: limited({ steps_max: 3, on_breach: "answer" })
        })
      )
    )
  )

  it.live("drop a call in the turn without tools, and the run ends", () =>
    Effect.gen(function* () {
      const all = yield* H.ended(yield* H.send("hello"))
      assert.strictEqual(H.count(all, "ModelTurned"), 4)
      assert.strictEqual(H.count(all, "CallSettled"), 3)
      assert.strictEqual(H.count(all, "RunEnded"), 1)
    }).pipe(
      Effect.provide(
        H.layer({
          tools: look,
          script: forever,
          agent: limited({ steps_max: 3, on_breach: "answer" })
        })
      )
    )
  )

  it.live("refuse writes beyond writes_max, and the run goes on", () => {
    let written = 0
    return Effect.gen(function* () {
      const all = yield* H.ended(yield* H.send("hello"))
      assert.strictEqual(written, 2)
      const refused = H.settled(all).filter(
        ({ outcome }) => outcome._tag === "Failed" && outcome.error.reason === "WRITES_MAX"
      )
      assert.strictEqual(refused.length, 1)
      assert.deepInclude(H.end(all), { status: "complete" })
    }).pipe(
      Effect.provide(
        H.layer({
          tools: { write: H.writes((n) => Effect.sync(() => (written++, n))) },
          script: [calls([1, 2, 3].map((n) => call("write", { n }))), text("done")],
          agent: limited({ writes_max: 2 })
        })
      )
    )
  })

  it.live("refuse calls whose questions are beyond questions_max", () =>
    Effect.gen(function* () {
      const run = yield* H.send("hello")
      yield* H.decide((yield* H.question(run)).approval, H.approve)
      const all = yield* H.ended(run)
      assert.strictEqual(H.count(all, "ApprovalRequested"), 1)
      assert.include(H.resultsShown((yield* H.requests)[2])[1], "QUESTIONS_MAX")
    }).pipe(
      Effect.provide(
        H.layer({
          tools: { pay: H.asks((n) => Effect.succeed(n)) },
          script: [call("pay", { n: 1 }), call("pay", { n: 2 }), text("done")],
          agent: limited({ questions_max: 1 })
        })
      )
    )
  )

  it.live("stop at the number of tokens that the model reports", () =>
    Effect.gen(function* () {
      const all = yield* H.ended(yield* H.send("hello"))
      assert.strictEqual(H.count(all, "ModelTurned"), 2)
      assert.deepInclude(H.end(all), { status: "failed", reason: "tokens_max" })
    }).pipe(
      Effect.provide(
        H.layer({
          tools: look,
          script: () => call("look", { n: 1 }, { usage: { input_tokens: 40, output_tokens: 20 } }),
          agent: limited({ tokens_max: 100 })
        })
      )
    )
  )

  const repeated: ReadonlyArray<readonly [string, ReadonlyArray<ScriptedTurn>, number]> = [
    ["the same call again", [call("flaky", { n: 1 }), call("flaky", { n: 1 }), text("ok")], 2],
    ["changed arguments", [call("flaky", { n: 1 }), call("flaky", { n: 2 }), text("ok")], 2],
    ["a question to the user", [call("flaky", { n: 1 }), text("Which one?")], 1],
    ["stopping", [call("flaky", { n: 1 }), text("I give up.")], 1]
  ]
  for (const [choice, script, tries] of repeated) {
    it.live(`ST-20 ST-24 after an error the model chooses: ${choice}`, () => {
      let ran = 0
      return Effect.gen(function* () {
        const all = yield* H.ended(yield* H.send("hello"))
        assert.strictEqual(ran, tries)
        assert.strictEqual(H.count(all, "ModelTurned"), script.length)
        assert.deepInclude(H.end(all), { status: "complete" })
      }).pipe(
        Effect.provide(
          H.layer({
            tools: {
              flaky: H.reads(() => {
                ran++
                return Effect.fail(new ToolTransientError({ kind: "network", message: "away" }))
              })
            },
            script
          })
        )
      )
    })
  }

  it.live("a model that refuses fails the run with its reason, and without an address or key", () =>
    Effect.gen(function* () {
      const all = yield* H.ended(yield* H.send("hello"))
      assert.deepInclude(H.end(all), { status: "failed", reason: "model_refused" })
      assert.strictEqual(H.count(all, "RunEnded"), 1)
    }).pipe(Effect.provide(H.layer({ tools: look, script: [fails("refused", "no such model")] })))
  )

  it.live("a defect of the model gateway fails the run, and not its actor", () =>
    Effect.gen(function* () {
      const all = yield* H.ended(yield* H.send("hello"))
      assert.deepInclude(H.end(all), { status: "failed", reason: "model_defect" })
      const again = yield* H.ended(yield* H.send("again"))
      assert.deepInclude(H.end(again), { status: "complete" })
    }).pipe(
      Effect.provide(
        H.layer({
          tools: look,
          script: ({ history }) => (history.length === 0 ? Effect.die("x") : text("ok"))
        })
      )
    )
  )

  // From JavaScript: what a gateway fails with may be anything, and it may come later.
  for (const wait_ms of [0, 5]) {
    it.live(`a gateway's failure that is no ModelError fails the run, after ${wait_ms} ms`, () =>
      Effect.gen(function* () {
        const all = yield* H.ended(yield* H.send("hello"))
        assert.deepInclude(H.end(all), { status: "failed", reason: "model_defect" })
      }).pipe(
        Effect.provide(
          H.layer({
            tools: look,
            script: () => Effect.delay(Effect.fail(undefined as never), wait_ms)
          })
        )
      )
    )
  }
})
