import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit } from "effect"
import { ToolUserError } from "../../src/error/ToolError.ts"
import type { CallId } from "../../src/value/Ids.ts"
import { callId, rootFrame } from "../../src/value/Ids.ts"
import type { RunInput } from "../../src/run/RunDecider.ts"
import type { Outcome, RunEvent } from "../../src/run/RunEvent.ts"
import { RunLimits } from "../../src/run/RunLimits.ts"
import type { CallPhase, CallState, FrameState, RunState } from "../../src/run/RunState.ts"
import { fold } from "../../src/run/RunFold.ts"
import type { ResolvedAgent } from "../../services/AgentDirectory.ts"
import { AgentMemory } from "../../services/AgentMemory.ts"
import * as Samples from "../contracts/Samples.ts"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import { call, calls, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import type { BegunSideEffect, CallHost } from "../../layers/runtime/tool/CallHost.ts"
import { sideEffectIdentity } from "../../src/tool/Idempotency.ts"
import { make as makeOnce } from "../../layers/runtime/tool/IdempotentCalls.ts"
import { failedOutcome } from "../../layers/runtime/tool/FailedOutcome.ts"
import * as H from "./Harness.ts"

const limits = RunLimits.make({
  calls_max: 10_000,
  steps_max: 1_000,
  repeats_max: 0,
  mistakes_max: 0
})

const values = (all: ReadonlyArray<RunEvent>) =>
  Object.fromEntries(
    H.settled(all).map(({ call: id, outcome }) => [
      id,
      outcome._tag === "Value"
        ? outcome.json
        : outcome._tag === "Failed"
          ? outcome.error.reason
          : outcome._tag
    ])
  )

describe("a call with an idempotency key, whose arguments an approver changes", () => {
  const options = (ran: Array<number>, script: H.Options["script"]): H.Options => ({
    tools: {
      t: H.asks((n) => Effect.sync(() => ran.push(n)), {
        idempotency: { key: "n-{n}", scope: "run" }
      }),
      free: H.reads((n) => Effect.succeed(n))
    },
    agent: { limits },
    script
  })

  it.live("is not run where an earlier call had the changed arguments", () => {
    const ran: Array<number> = []
    return Effect.gen(function* () {
      const run = yield* H.send("hello")
      yield* H.decide((yield* H.question(run)).approval, H.approve)
      const { approval } = yield* H.question(run, 2)
      yield* H.decide(approval, { _tag: "Modify", arguments: { n: 1 } })
      const all = yield* H.ended(run)
      assert.deepStrictEqual(values(all), { "0/1.0": "1", "0/2.0": "1" })
      assert.deepStrictEqual(ran, [1])
    }).pipe(
      Effect.provide(
        H.layer(options(ran, [call("t", { n: 1 }), call("t", { n: 2 }), text("done")]))
      )
    )
  })

  it.live("is indexed by its changed arguments, and another call may have the old ones", () => {
    const ran: Array<number> = []
    return Effect.gen(function* () {
      const run = yield* H.send("hello")
      const { approval } = yield* H.question(run)
      yield* H.decide(approval, { _tag: "Modify", arguments: { n: 2 } })
      yield* H.decide((yield* H.question(run, 2)).approval, H.approve)
      const all = yield* H.ended(run)
      assert.deepStrictEqual(values(all), {
        "0/1.0": "1",
        "0/2.0": "2",
        "0/3.0": "1",
        "0/4.0": "2"
      })
      assert.deepStrictEqual(ran, [2, 1])
    }).pipe(
      Effect.provide(
        H.layer(
          options(ran, [
            call("t", { n: 1 }),
            call("t", { n: 1 }),
            call("t", { n: 2 }),
            call("t", { n: 1 }),
            text("done")
          ])
        )
      )
    )
  })

  it.live(
    "waits for the call whose arguments it was given, and no longer for its former one",
    () => {
      const ran: Array<number> = []
      const gate = Deferred.makeUnsafe<void>()
      return Effect.gen(function* () {
        const run = yield* H.send("hello")
        const second = yield* H.question(run, 2)
        const [first] = (yield* H.pending).filter(({ id }) => id !== second.approval)
        const [two, three] =
          second.call === "0/1.1" ? [first!.id, second.approval] : [second.approval, first!.id]
        yield* H.decide(two, H.approve)
        yield* H.happened(run, "CallDispatched")
        yield* H.decide(three, { _tag: "Modify", arguments: { n: 2 } })
        yield* H.happened(run, "ApprovalDecided", 2)
        yield* Deferred.succeed(gate, undefined)
        yield* H.decide((yield* H.question(run, 3)).approval, H.approve)
        const all = yield* H.ended(run)
        assert.deepStrictEqual(values(all), { "0/1.0": "1", "0/1.1": "1", "0/2.0": "2" })
        assert.deepStrictEqual(ran, [2, 3])
      }).pipe(
        Effect.provide(
          H.layer({
            tools: {
              t: H.asks(
                (n) =>
                  Effect.andThen(
                    Deferred.await(gate),
                    Effect.sync(() => ran.push(n))
                  ),
                { idempotency: { key: "n-{n}", scope: "run" } }
              )
            },
            agent: { limits },
            script: [
              calls([call("t", { n: 2 }), call("t", { n: 3 })]),
              call("t", { n: 3 }),
              text("done")
            ]
          })
        )
      )
    }
  )

  it.live("is indexed the same way by the process that takes the run over", () => {
    const ran: Array<number> = []
    const shared = options(ran, ({ step }) =>
      step <= 2 ? call("t", { n: 1 }) : step === 3 ? call("t", { n: 2 }) : text("done")
    )
    return Effect.gen(function* () {
      const first = yield* H.boot(shared)
      const run = yield* first.run(H.send("hello"))
      const { approval } = yield* first.run(H.question(run))
      yield* first.run(H.decide(approval, { _tag: "Modify", arguments: { n: 2 } }))
      const again = yield* first.run(H.question(run, 2))
      yield* first.stop
      const second = yield* H.boot(shared)
      yield* second.run(H.decide(again.approval, H.approve))
      const all = yield* second.run(H.ended(run))
      assert.deepStrictEqual(values(all), { "0/1.0": "1", "0/2.0": "2", "0/3.0": "1" })
      assert.deepStrictEqual(ran, [2, 1])
    }).pipe(Effect.provide(EphemeralStores.layer))
  })
})

/** What of a state's calls is looked at: calls that are passed in a walk through all of them, and phases. */
const counting = () => {
  const seen = { walked: 0, phases: 0, agents: 0 }
  class Calls extends Map<CallId, CallState> {
    override *values(): MapIterator<CallState> {
      for (const call of super.values()) {
        seen.walked++
        yield call
      }
    }
  }
  const state: RunState = { ...fold([Samples.runAccepted(Samples.newTask())]), calls: new Calls() }
  state.frames.set(rootFrame, { agent: H.agentName } as FrameState)
  return { seen, state }
}

const done = { _tag: "Value", json: "1" } as const
const refused = failedOutcome(new ToolUserError({ kind: "invalid_args", message: "no" }))

describe("the idempotency index", () => {
  /** Runs so many calls one after the other through the piece that does an effect once; gives what was looked at. */
  const trial = Effect.fnUntraced(function* (
    many: number,
    keyOf: (n: number) => number,
    outcome: Outcome
  ) {
    const tools = yield* H.toolsOf({
      t: H.reads((n) => Effect.succeed(n), { idempotency: { key: "n-{n}", scope: "run" } })
    })
    const [tool] = tools
    const agent = { tools: new Map([["t", tool!]]) } as unknown as ResolvedAgent
    const { seen, state } = counting()
    let bodies = 0
    const once = makeOnce({
      agentOf: () => (seen.agents++, agent),
      body: {
        run: (started) => {
          // What this trial gives is never a body with a deadline.
          const effect = started.inputOfExit === undefined ? started.effect : Effect.undefined
          return Effect.suspend(() => (bodies++, effect))
        }
      }
    })
    const effects = new Map<string, BegunSideEffect>()
    const looks: Array<number> = []
    for (let n = 0; n < many; n++) {
      const before = seen.walked + seen.phases + seen.agents
      const id = callId(rootFrame, n + 1, 0)
      const args = { n: keyOf(n) }
      let phase: CallPhase = { _tag: "Proposed" }
      const own: CallState = {
        id,
        frame: rootFrame,
        step: n + 1,
        index: 0,
        proposed: { model_id: "c", name: "t", arguments: args },
        arguments: args,
        modified: undefined,
        approved_by: undefined,
        get phase() {
          seen.phases++
          return phase
        },
        set phase(next) {
          phase = next
        }
      }
      state.calls.set(id, own)
      const host = { state, begunSideEffects: effects, call: () => own } as unknown as CallHost
      const finished: RunInput = {
        _tag: "Finished",
        settled: { _tag: "CallSettled", call: id, outcome }
      }
      const { effect } = once(host, tool!, sideEffectIdentity(tool!.spec, own.arguments)!, () => ({
        effect: Exit.succeed(finished)
      }))
      yield* Effect.provideService(effect, AgentMemory, {} as AgentMemory["Service"])
      own.phase = { _tag: "Settled", outcome }
      looks.push(seen.walked + seen.phases + seen.agents - before)
    }
    return { bodies, looks, walked: seen.walked }
  })

  const cases = [
    ["with keys of their own", (n: number) => n, done, 2_000],
    ["with one key, of which the first has a value", () => 1, done, 1],
    ["with one key, all of which fail", () => 1, refused, 2_000],
    ["with twenty keys", (n: number) => n % 20, done, 20]
  ] as const

  for (const [title, keyOf, outcome, expected] of cases) {
    it.effect(
      `2,000 calls ${title} are each read once, and the last costs as much as the first`,
      () =>
        Effect.gen(function* () {
          const { bodies, looks, walked } = yield* trial(2_000, keyOf, outcome)
          assert.strictEqual(bodies, expected)
          assert.strictEqual(walked, 2_000)
          assert.isAtMost(Math.max(...looks), 8)
          assert.strictEqual(looks[1_999], looks[1_000])
        })
    )
  }

  it.live("reads the key of each tool a fixed number of times for each of 2,000 calls", () => {
    let looks = 0
    const after: Array<number> = []
    const options: H.Options = {
      tools: {
        t: H.reads((n) => Effect.succeed(n), { idempotency: { key: "n-{n}", scope: "run" } })
      },
      agent: { limits },
      spied: (tool) => ({
        ...tool,
        spec: Object.defineProperty({ ...tool.spec }, "idempotency", {
          enumerable: true,
          get: () => {
            looks++
            return tool.spec.idempotency
          }
        })
      }),
      script: ({ step }) => {
        after.push(looks)
        return step <= 20
          ? calls(Array.from({ length: 100 }, (_, n) => call("t", { n: step * 100 + n })))
          : text("done")
      }
    }
    return Effect.gen(function* () {
      const all = yield* H.ended(yield* H.send("hello"))
      assert.strictEqual(
        H.settled(all).filter(({ outcome }) => outcome._tag === "Value").length,
        2_000
      )
      const each = after.slice(1).map((so_far, at) => so_far - after[at]!)
      assert.lengthOf(each, 20)
      assert.deepStrictEqual(new Set(each).size, 1, each.join())
      assert.isAtMost(each[0]!, 800)
    }).pipe(Effect.provide(H.layer(options)))
  })
})
