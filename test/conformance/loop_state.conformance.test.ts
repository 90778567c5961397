import { assert } from "@effect/vitest"
import { Effect, Exit, Result, Schema } from "effect"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { AgentName } from "../../src/value/Ids.ts"
import { RunLimits } from "../../src/run/RunLimits.ts"
import { limitsOf, Loop, LoopState, newLoop, transition } from "../../src/semstreams/Loop.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import type { Play } from "./Stage.ts"
import * as Stage from "./Stage.ts"
import type { Driven } from "./Vectors.ts"
import { conformance, hasShape, isRecord } from "./Vectors.ts"

type Fields = Readonly<Record<string, unknown>>

const isState = Schema.is(LoopState)

const fresh = newLoop(RunLimits.make({}))

/** A transition from one state to another, either of which may be unknown. */
const moved = (from: string, to: string): Result.Result<Loop, string> =>
  isState(from)
    ? transition({ ...fresh, state: from }, to)
    : Result.flatMap(transition(fresh, from), (loop) => transition(loop, to))

/** Does the case expect a refusal? Cases express it in several ways. */
const refuses = (expect: unknown): boolean =>
  ["reject", "unknown", "invalid", false].includes(expect as string) ||
  (isRecord(expect) && ("error" in expect || expect.valid === false || expect.known === false))

const isTerminal = (state: LoopState): boolean =>
  Result.isFailure(
    transition({ ...fresh, state }, state === "exploring" ? "planning" : "exploring")
  )

/** Checks the refusal, or the fields of the loop, that the case expects. */
const meets = (outcome: Result.Result<Loop, string>, expect: unknown) => {
  if (refuses(expect)) {
    assert.isTrue(Result.isFailure(outcome), String(outcome))
    // The text about an unknown state is not part of the rule.
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

const reading: Play["tools"] = {
  tool: { governance: { side_effects: "read" }, body: () => Effect.succeed("content") }
}

/** A run for each final state. */
const ends: Readonly<Record<string, Play>> = {
  complete: { tools: reading, script: [text("done")] },
  failed: { tools: reading, script: () => call("tool"), limits: { steps_max: 1 } },
  cancelled: { tools: reading, script: () => Effect.never }
}

/** A real run in a final state refuses to be cancelled, and its loop does not change. */
const staysOver = (state: string, play: Play) =>
  Stage.stage(
    play,
    Effect.gen(function* () {
      const run = yield* Stage.begin
      const cancel = AgentRuntime.use((agents) => agents.interrupt(run, Stage.operator, "enough"))
      if (state === "cancelled") yield* cancel
      yield* Stage.settle
      const ended = yield* Stage.loop(run)
      assert.strictEqual(ended.state, state)
      assert.isTrue(Exit.isFailure(yield* Effect.exit(cancel)))
      yield* Stage.settle
      assert.deepStrictEqual(yield* Stage.loop(run), ended)
    })
  )

/** The fold's rule, and from a final state a real run as well. */
const transitions = (from: string, to: string, expect: unknown): Driven => ({
  rows: "SM-92",
  run: Effect.gen(function* () {
    meets(moved(from, to), expect)
    const play = ends[from]
    if (play !== undefined) yield* staysOver(from, play)
  })
})

/** A real run with SemStreams' default limits, before its first turn. */
const begun = (expect: unknown): Driven => ({
  rows: "SM-92 SM-93",
  run: Stage.stage(
    {
      tools: {},
      script: () => Effect.never,
      limits: Result.getOrThrow(limitsOf())
    },
    Effect.gen(function* () {
      meets(Result.succeed(yield* Stage.loop(yield* Stage.begin)), expect)
    })
  )
})

/** A loop, or the error of one that failed. */
const outcomeOf = (loop: Loop): Result.Result<Loop, string> =>
  loop.state === "failed" ? Result.fail(loop.error ?? "") : Result.succeed(loop)

/** A real run with `max` turns allowed that takes `iterations` turns, and with `increment` one more. */
const iterated = (input: Fields, expect: unknown): Driven => {
  const limits = limitsOf(Number(input.max))
  const wanted = Number(input.iterations) + (input.increment === true ? 1 : 0)
  // The last turn calls no tool. Without any turn the model never answers.
  const script: Play["script"] = ({ step }) =>
    wanted === 0 ? Effect.never : step < wanted ? call("tool") : text("done")
  return {
    rows: "SM-93",
    run: Result.isFailure(limits)
      ? Effect.sync(() => meets(Result.fail(limits.failure), expect))
      : Stage.stage(
          { tools: reading, script, limits: { ...limits.success, repeats_max: 0 } },
          Effect.gen(function* () {
            const run = yield* Stage.begin
            for (let i = 0; i < Math.min(wanted, Number(input.max)); i++) yield* Stage.settle
            meets(outcomeOf(yield* Stage.loop(run)), expect)
          })
        )
  }
}

/** The limits of a run with this number of iterations. */
const bounded = (max_iterations: unknown, expect: unknown): Driven => ({
  rows: "SM-93",
  run: Effect.sync(() => meets(Result.map(limitsOf(Number(max_iterations)), newLoop), expect))
})

/** A real run whose tool does or does not stop its loop. */
const stopped = (result: Fields, expect: Fields): Driven => {
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
        // A loop that goes on waits for its second turn.
        script: ({ step }) => (step === 1 ? call("tool") : Effect.never)
      },
      Effect.gen(function* () {
        const run = yield* Stage.begin
        meets(Result.succeed(yield* Stage.loop(run)), expect)
        const events = yield* Stage.events(run)
        assert.strictEqual(Stage.tagged(events, "CallSettled").length, 1)
        assert.strictEqual(Stage.tagged(events, "RunEnded").length, stops ? 1 : 0)
      })
    )
  }
}

conformance("loop_state", ({ expect, input }): Driven => {
  if (input === "new") return begun(expect)
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
    return transitions(input.from, input.to, expect)
  }
  const named = hasShape(input, ["state"]) ? input.state : input
  if (typeof named === "string") return transitions(named, named, expect)
  if (hasShape(input, ["validate"]) && hasShape(input.validate, ["state"])) {
    const state = String(input.validate.state)
    return transitions(state, state, expect)
  }
  if (hasShape(input, ["iterations", "max", "increment"])) return iterated(input, expect)
  if (hasShape(input, ["validate"]) && hasShape(input.validate, ["max_iterations"])) {
    return bounded(input.validate.max_iterations, expect)
  }
  if (hasShape(input, ["toolResult"]) && isRecord(input.toolResult) && isRecord(expect)) {
    return stopped(input.toolResult, expect)
  }
  return undefined
})
