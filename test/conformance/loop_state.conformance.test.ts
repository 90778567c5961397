import { assert } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { LoopState, isTerminal, loopOf } from "../../src/semstreams/Approvals.ts"
import { AgentName } from "../../src/Ids.ts"
import type { LoopProgress } from "../../src/semstreams/Loop.ts"
import * as Loop from "../../src/semstreams/Loop.ts"
import { call, text } from "../../layers/model/ScriptedModelGateway.ts"
import * as Stage from "./Stage.ts"
import type { Driven } from "./Vectors.ts"
import { conformance, hasShape, isRecord } from "./Vectors.ts"

type Fields = Readonly<Record<string, unknown>>

const isState = Schema.is(LoopState)

/** A move from one state to another, either of which may be one that nobody knows. */
const moved = (from: string, to: string): Result.Result<LoopProgress, string> =>
  isState(from)
    ? Loop.transition({ ...fresh, state: from }, to)
    : Result.flatMap(Loop.transition(fresh, from), (loop) => Loop.transition(loop, to))

/** Does a case expect a refusal, in one of its ways to say so? */
const refuses = (expect: unknown): boolean =>
  ["reject", "unknown", "invalid", false].includes(expect as string) ||
  (isRecord(expect) && ("error" in expect || expect.valid === false || expect.known === false))

/** Is the outcome the refusal, or has the loop the fields, that the case expects? */
const meets = (outcome: Result.Result<LoopProgress, string>, expect: unknown) => {
  if (refuses(expect)) {
    assert.isTrue(Result.isFailure(outcome), String(outcome))
    // How a state is called that nobody knows is no part of the rule.
    if (Result.isSuccess(outcome) || outcome.failure.startsWith("unknown loop state")) return
    if (isRecord(expect) && typeof expect.error === "string") {
      assert.strictEqual(outcome.failure, expect.error)
    }
    return
  }
  assert.isTrue(Result.isSuccess(outcome), String(outcome))
  if (Result.isFailure(outcome)) return
  const loop: Fields = { ...outcome.success }
  if (expect === "ok") return
  assert.isTrue(isRecord(expect))
  for (const [key, value] of Object.entries(expect as Fields)) {
    if (value === "not terminal") assert.isFalse(isTerminal(outcome.success.state))
    else assert.strictEqual(loop[key], value, key)
  }
}

const fresh = Result.getOrThrow(Loop.begin())

const pure = (
  outcome: Result.Result<LoopProgress, string>,
  expect: unknown,
  rows = "SM-92"
): Driven => ({
  rows,
  run: Effect.sync(() => meets(outcome, expect))
})

/** The same on a real run: a tool that stops its loop, or one that does not. */
const staged = (result: Fields, expect: Fields): Driven => {
  const content = typeof result.content === "string" ? result.content : "content"
  const stops = result.stop_loop === true
  return {
    rows: "SM-20 SM-92",
    run: Stage.stage(
      {
        tools: {
          tool: {
            governance: { side_effects: "read", ...(stops ? { stop_loop: true } : undefined) },
            body: () => Effect.succeed(content)
          }
        },
        script: [call("tool"), text("another turn")]
      },
      Effect.gen(function* () {
        meets(Loop.receive(fresh, { content, stop_loop: stops }), expect)
        const run = yield* Stage.begin
        const events = yield* Stage.events(run)
        const [ended] = Stage.tagged(events, "RunEnded")
        assert.strictEqual(Stage.tagged(events, "ModelTurned").length, stops ? 1 : 2)
        assert.strictEqual(ended?.text, stops ? content : "another turn")
        if (stops) assert.strictEqual(loopOf(yield* Stage.stateOf(run)).state, expect.state)
      })
    )
  }
}

conformance("loop_state", ({ expect, input }): Driven => {
  if (input === "new") return pure(Loop.begin(), expect, "SM-92 SM-93")
  if (input === "agent default" && hasShape(expect, ["recursionLimit"])) {
    const agent = AgentSpec.make({ name: AgentName.make("agent"), instructions: "" })
    return {
      rows: "ST-22",
      run: Effect.sync(() => assert.strictEqual(agent.limits.steps_max, expect.recursionLimit))
    }
  }
  if (
    hasShape(input, ["from", "to"]) &&
    typeof input.from === "string" &&
    typeof input.to === "string"
  ) {
    return pure(moved(input.from, input.to), expect)
  }
  const named = hasShape(input, ["state"]) ? input.state : input
  if (typeof named === "string") return pure(moved(named, named), expect)
  if (hasShape(input, ["validate"]) && hasShape(input.validate, ["state"])) {
    return pure(moved(String(input.validate.state), String(input.validate.state)), expect)
  }
  if (hasShape(input, ["iterations", "max", "increment"])) {
    const loop = {
      ...fresh,
      iterations: Number(input.iterations),
      max_iterations: Number(input.max)
    }
    return pure(
      input.increment === true ? Loop.increment(loop) : Result.succeed(loop),
      expect,
      "SM-93"
    )
  }
  if (hasShape(input, ["validate"]) && hasShape(input.validate, ["max_iterations"])) {
    return pure(Loop.begin(Number(input.validate.max_iterations)), expect, "SM-93")
  }
  if (hasShape(input, ["toolResult"]) && isRecord(input.toolResult) && isRecord(expect)) {
    return staged(input.toolResult, expect)
  }
  return undefined
})
