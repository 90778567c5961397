import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Layer, Logger, References } from "effect"
import { TestClock } from "effect/testing"
import { ToolTerminalError, ToolUserError } from "../../src/error/ToolError.ts"
import { Tenant } from "../../src/value/Ids.ts"
import type { CallId, RunId } from "../../src/value/Ids.ts"
import type { Settlement } from "../../src/run/UnknownCall.ts"
import type { CallSettled, RunEvent } from "../../src/run/RunEvent.ts"
import type { Idempotency } from "../../src/tool/Idempotency.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import * as Replay from "../../layers/compose/entries/Replay.ts"
import { EphemeralStore } from "../../layers/ephemeral/EphemeralStore.ts"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import type { Script } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as H from "./Harness.ts"

const idempotency = { key: "order-{n}", scope: "tenant" } satisfies Idempotency
const parameters = { n: H.anyFields.n, note: H.textField }

/** Calls the tool with the arguments that the message has as JSON; all of them at once, one in each turn. */
const script: Script = ({ transcript }) => {
  const at = transcript.findLastIndex((entry) => entry.role === "user")
  const asked = transcript[at]
  const given = JSON.parse(asked?.role === "user" ? asked.text : "[]") as ReadonlyArray<object>
  const next = given[transcript.slice(at).filter((entry) => entry.role === "tool").length]
  return next === undefined ? text("done") : call("t", { note: "", ...next })
}

const ask = (conversation: string, ...given: ReadonlyArray<object>) =>
  Effect.flatMap(H.send(JSON.stringify(given), conversation), (run) => H.ended(run, conversation))

const resultOf = ({ outcome }: CallSettled): string =>
  outcome._tag === "Value"
    ? outcome.json
    : outcome._tag === "Failed"
      ? (outcome.error.reason ?? outcome.error.kind)
      : outcome._tag

const results = (all: ReadonlyArray<RunEvent>) => H.settled(all).map(resultOf)

/** A tool whose body counts, and the options of a runtime with it. */
const counting = (scope: Idempotency["scope"], more?: Partial<Idempotency>) => {
  const ran: Array<readonly [n: number, key: string | undefined, business: string | undefined]> = []
  const options: H.Options = {
    tools: {
      t: {
        ...H.writes(
          (n, { business_key, key }) => Effect.sync(() => ran.push([n, key, business_key])),
          {
            idempotency: { ...idempotency, scope, ...more }
          }
        ),
        parameters
      }
    },
    script
  }
  return { ran, options }
}

describe("a key of a conversation", () => {
  it.live("has one effect in all messages of the conversation, and another in the next one", () => {
    const { options, ran } = counting("conversation")
    return Effect.gen(function* () {
      const first = yield* ask("c-1", { n: 1 })
      const second = yield* ask("c-1", { n: 1 })
      assert.deepStrictEqual([results(first), results(second)], [["1"], ["1"]])
      assert.strictEqual(H.count(second, "CallDispatched"), 0)
      assert.deepStrictEqual(results(yield* ask("c-1", { n: 2 })), ["2"])
      assert.deepStrictEqual(results(yield* ask("c-2", { n: 1 })), ["3"])
      assert.lengthOf(new Set(ran.map(([, key]) => key)), 3)
      assert.deepStrictEqual(
        ran.map(([, , business]) => business),
        ["order-1", "order-2", "order-1"]
      )
    }).pipe(Effect.provide(H.layer(options)))
  })
})

describe("a key of a tenant", () => {
  it.live("has one effect in all its conversations, and its own in another tenant", () => {
    const { options, ran } = counting("tenant")
    return Effect.gen(function* () {
      const first = yield* H.send(JSON.stringify([{ n: 1 }]))
      yield* H.ended(first)
      const second = yield* ask("c-2", { n: 1 })
      const [settled] = H.settled(second)
      assert.deepInclude(settled, { outcome: { _tag: "Value", json: "1" } })
      assert.deepInclude(settled?.repeats ?? {}, { run: first, call: "0/1.0" })
      assert.notProperty(settled, "started_at")
      const told = H.resultsShown((yield* H.requests).at(-1))
      assert.match(told[0] ?? "", /^Not done again: this was done at \d{4}-.* Its result: 1$/)
      const beta = H.person("bob", ["admin"], Tenant.make("beta"))
      const other = yield* H.send(JSON.stringify([{ n: 1 }]), "c-1", beta)
      yield* H.ended(other, "c-1", beta)
      assert.lengthOf(ran, 2)
    }).pipe(Effect.provide(H.layer(options)))
  })

  it.live("refuses other arguments under it, in the same run and in another", () => {
    const { options, ran } = counting("tenant")
    return Effect.gen(function* () {
      const first = yield* ask("c-1", { n: 1 }, { n: 1, note: "again" }, { n: 1 })
      assert.deepStrictEqual(results(first), ["1", "KEY_REUSED", "1"])
      const second = yield* ask("c-2", { n: 1, note: "again" }, { n: 1 })
      assert.deepStrictEqual(results(second), ["KEY_REUSED", "1"])
      assert.include(H.resultsShown((yield* H.requests).at(-1))[0], '("order-1")')
      assert.lengthOf(ran, 1)
    }).pipe(Effect.provide(H.layer(options)))
  })

  it.live("gives a customer no result of another's call", () => {
    const { options, ran } = counting("tenant")
    const asks = Effect.fnUntraced(function* (id: string) {
      const by = H.person(id, ["customer"])
      const { task } = yield* AgentRuntime.use((runtime) =>
        runtime.send({ agent: H.agentName, text: '[{"n":1}]' }, by)
      )
      return yield* H.ended(task.id, task.conversation, by)
    })
    return Effect.gen(function* () {
      assert.deepStrictEqual(results(yield* asks("ann")), ["1"])
      assert.deepStrictEqual(results(yield* asks("ben")), ["KEY_REUSED"])
      assert.deepStrictEqual(results(yield* asks("ann")), ["1"])
      assert.lengthOf(ran, 1)
    }).pipe(Effect.provide(H.layer(options)))
  })

  it.live(
    "asks nobody for a call that gives back a result, and still denies what is denied",
    () => {
      const ran: Array<number> = []
      const t = {
        ...H.asks((n) => Effect.sync(() => ran.push(n)), { idempotency }),
        parameters
      }
      return Effect.gen(function* () {
        const process = yield* H.boot({ tools: { t }, script })
        const run = yield* process.run(H.send('[{"n":1}]'))
        yield* process.run(H.decide((yield* process.run(H.question(run))).approval, H.approve))
        yield* process.run(H.ended(run))
        const again = yield* process.run(ask("c-2", { n: 1 }))
        assert.deepStrictEqual(results(again), ["1"])
        assert.strictEqual(H.count(again, "ApprovalRequested"), 0)
        yield* process.stop
        const denied = { ...t, governance: { ...t.governance, permission: "deny" } as const }
        const denying = yield* H.boot({ tools: { t: denied }, script })
        const refused = yield* denying.run(ask("c-3", { n: 1 }))
        assert.deepStrictEqual(results(refused), ["PERMISSION_DENIED"])
        assert.deepStrictEqual(ran, [1])
      }).pipe(Effect.provide(EphemeralStores.layer))
    }
  )

  it.live(
    "is free after a failure before the effect, and not after one that may have had it",
    () => {
      const ran: Array<number> = []
      const t = {
        ...H.writes(
          (n) =>
            Effect.suspend((): Effect.Effect<number, ToolUserError | ToolTerminalError> =>
              ran.push(n) === 1
                ? Effect.fail(new ToolUserError({ kind: "not_found", message: "no such order" }))
                : n === 2
                  ? Effect.fail(new ToolTerminalError({ kind: "internal", message: "it broke" }))
                  : Effect.succeed(ran.length)
            ),
          { idempotency }
        ),
        parameters
      }
      return Effect.gen(function* () {
        assert.deepStrictEqual(results(yield* ask("c-1", { n: 1 })), ["not_found"])
        assert.deepStrictEqual(results(yield* ask("c-2", { n: 1, note: "other" })), ["2"])
        assert.deepStrictEqual(results(yield* ask("c-3", { n: 1, note: "other" })), ["2"])
        assert.deepStrictEqual(results(yield* ask("c-1", { n: 2 })), ["internal"])
        assert.deepStrictEqual(results(yield* ask("c-2", { n: 2 })), ["KEY_OUTCOME_UNKNOWN"])
        assert.deepStrictEqual(ran, [1, 1, 2])
      }).pipe(Effect.provide(H.layer({ tools: { t }, script })))
    }
  )

  it.effect("expires by holds_ms, and holds until then", () => {
    const { options, ran } = counting("tenant", { holds_ms: 10_000 })
    return H.asTimePasses(
      Effect.gen(function* () {
        yield* ask("c-1", { n: 1 })
        yield* TestClock.adjust(9_000)
        assert.deepStrictEqual(results(yield* ask("c-2", { n: 1 })), ["1"])
        yield* TestClock.adjust(1_000)
        assert.deepStrictEqual(results(yield* ask("c-3", { n: 1 })), ["2"])
        assert.lengthOf(ran, 2)
        assert.lengthOf(new Set(ran.map(([, key]) => key)), 1)
      })
    ).pipe(Effect.provide(H.layer(options)))
  })

  it.live("is held by a transactional call, and not by one that failed", () => {
    const ran: Array<number> = []
    const failing = new ToolUserError({ kind: "not_found", message: "no such order" })
    const t = {
      ...H.writes(
        (n) => Effect.suspend(() => (ran.push(n) === 1 ? failing : Effect.succeed(ran.length))),
        { idempotency, transactional: true }
      ),
      parameters
    }
    return Effect.gen(function* () {
      assert.deepStrictEqual(results(yield* ask("c-1", { n: 1 })), ["not_found"])
      assert.deepStrictEqual(results(yield* ask("c-2", { n: 1 })), ["2"])
      assert.deepStrictEqual(results(yield* ask("c-3", { n: 1 })), ["2"])
      assert.lengthOf(ran, 2)
    }).pipe(Effect.provide(H.layer({ tools: { t }, script })))
  })

  it.live("holds after its run was removed, without a result to give", () => {
    const { options, ran } = counting("tenant")
    return Effect.gen(function* () {
      const run = yield* H.send('[{"n":1}]')
      yield* H.ended(run)
      yield* EphemeralStore.use((store) => Effect.sync(() => store.runs.delete(run)))
      assert.deepStrictEqual(results(yield* ask("c-2", { n: 1 })), ["KEY_RESULT_GONE"])
      assert.lengthOf(ran, 1)
    }).pipe(Effect.provide(H.layer(options)))
  })

  it.live("decides a call in its replay as it did, and nobody is asked there", () => {
    const ran: Array<number> = []
    const options: H.Options = {
      tools: {
        t: { ...H.asks((n) => Effect.sync(() => ran.push(n)), { idempotency }), parameters }
      },
      script
    }
    return Effect.gen(function* () {
      const first = yield* H.send('[{"n":1}]')
      yield* H.decide((yield* H.question(first)).approval, H.approve)
      yield* H.ended(first)
      const app = { agents: H.agentsOf(options), tools: [H.toolsOf(options.tools ?? {})] }
      for (const given of ['[{"n":1}]', '[{"n":1,"note":"other"}]']) {
        const run = yield* H.send(given, `c-${given.length}`)
        yield* H.ended(run, `c-${given.length}`)
        const report = yield* Replay.replay(run, { app })
        assert.isUndefined(report.divergence)
        assert.deepInclude(report.gate, { divergence: undefined })
      }
      assert.lengthOf(ran, 1)
    }).pipe(Effect.provide(H.layer(options)))
  })

  it.live("runs one body of many calls at once, in two processes", () => {
    let bodies = 0
    const gate = Deferred.makeUnsafe<void>()
    const t = {
      ...H.writes(
        () =>
          Effect.andThen(
            Deferred.await(gate),
            Effect.sync(() => ++bodies)
          ),
        {
          idempotency
        }
      ),
      parameters
    }
    return Effect.gen(function* () {
      const processes = [
        yield* H.boot({ tools: { t }, script }),
        yield* H.boot({ tools: { t }, script })
      ]
      const runs = yield* Effect.forEach(Array.from({ length: 20 }), (_, at) =>
        processes[at % 2]!.run(H.send('[{"n":1}]', `c-${at}`))
      )
      yield* Effect.forEach(runs.slice(0, 4), (run, at) =>
        processes[at % 2]!.run(H.happened(run, "ModelTurned", 1, `c-${at}`))
      )
      yield* Deferred.succeed(gate, undefined)
      const all = yield* Effect.forEach(runs, (run, at) =>
        processes[at % 2]!.run(H.ended(run, `c-${at}`))
      )
      assert.deepStrictEqual([...new Set(all.flatMap(results))], ["1"])
      assert.strictEqual(bodies, 1)
      assert.lengthOf(
        all.filter((events) => H.count(events, "CallDispatched") > 0),
        1
      )
    }).pipe(Effect.provide(EphemeralStores.layer))
  })
})

const nothing: Settlement = { _tag: "Failed", message: "it never arrived" }

/** A tool whose body neither ends nor is sent again, and a run that is held in it. */
const stuck = Effect.fnUntraced(function* (timeout_ms: number) {
  const began = Deferred.makeUnsafe<void>()
  let bodies = 0
  const t = {
    ...H.writes(
      () =>
        Effect.suspend(() => {
          bodies++
          return Effect.andThen(Deferred.succeed(began, undefined), Effect.never)
        }),
      { idempotency, idempotent: false, timeout_ms }
    ),
    parameters
  }
  const process = yield* H.boot({ tools: { t }, script })
  const run: RunId = yield* process.run(H.send('[{"n":1}]'))
  yield* Deferred.await(began)
  return { process, run, bodies: () => bodies }
})

describe("a call whose key another call holds", () => {
  it.effect("is told that it is in flight, once it has waited for as long as an attempt", () =>
    H.asTimePasses(
      Effect.gen(function* () {
        const { bodies, process } = yield* stuck(5_000)
        yield* TestClock.adjust(10)
        const impatient = yield* H.boot({
          tools: {
            t: {
              ...H.writes(() => Effect.die("never"), { idempotency, timeout_ms: 1_000 }),
              parameters
            }
          },
          script
        })
        const all = yield* impatient.run(ask("c-2", { n: 1 }))
        assert.deepStrictEqual(results(all), ["KEY_IN_FLIGHT"])
        assert.strictEqual(bodies(), 1)
        yield* process.stop
      })
    ).pipe(Effect.provide(EphemeralStores.layer))
  )

  it.live("is refused while nobody knows the outcome, and gets what a person says of it", () =>
    Effect.gen(function* () {
      const { bodies, process, run } = yield* stuck(100)
      yield* process.run(H.happened(run, "CallUnknown"))
      const second = yield* process.run(ask("c-2", { n: 1 }))
      assert.deepStrictEqual(results(second), ["KEY_OUTCOME_UNKNOWN"])
      const unknown = (yield* process.run(H.events(run))).find(
        (each) => each._tag === "CallUnknown"
      )
      yield* process.run(
        AgentRuntime.use((runtime) =>
          runtime.settle(run, unknown!.call, { _tag: "Succeeded", json: "7" }, H.alice)
        )
      )
      assert.deepStrictEqual(results(yield* process.run(ask("c-3", { n: 1 }))), ["7"])
      assert.strictEqual(bodies(), 1)
    }).pipe(Effect.provide(EphemeralStores.layer))
  )

  it.live("may hold it once an operator says so of a call that has ended, and journals who", () => {
    const ran: Array<number> = []
    const t = {
      ...H.writes(
        (n) =>
          Effect.suspend(() =>
            ran.push(n) === 1
              ? Effect.fail(new ToolTerminalError({ kind: "internal", message: "it broke" }))
              : Effect.succeed(ran.length)
          ),
        { idempotency }
      ),
      parameters
    }
    const options: H.Options = { tools: { t }, script }
    const lines: Array<readonly [message: string, about: object]> = []
    const logger = Logger.make<unknown, void>(({ fiber, message }) => {
      lines.push([String(message), fiber.getRef(References.CurrentLogAnnotations)])
    })
    return Effect.gen(function* () {
      const run = yield* H.send('[{"n":1},{"n":9}]')
      const ended = yield* H.ended(run)
      const [broke, fine] = H.settled(ended)
      const settle = (call: CallId, by = H.alice, as: Settlement = nothing) =>
        AgentRuntime.use((runtime) => runtime.settle(run, call, as, by))
      const tagOf = (effect: ReturnType<typeof settle>) =>
        Effect.map(Effect.flip(effect), ({ _tag }) => _tag)
      const beta = H.person("bea", ["admin"], Tenant.make("beta"))
      assert.strictEqual(yield* tagOf(settle(broke!.call, beta)), "RunNotFound")
      assert.strictEqual(
        yield* tagOf(settle(broke!.call, H.person("vic", ["viewer"]))),
        "NotEntitled"
      )
      assert.strictEqual(
        yield* tagOf(settle(broke!.call, H.alice, { _tag: "Succeeded", json: "7" })),
        "RunIsOver"
      )
      assert.strictEqual(yield* tagOf(settle(fine!.call)), "RunIsOver")
      assert.deepStrictEqual(results(yield* ask("c-2", { n: 1 })), ["KEY_OUTCOME_UNKNOWN"])
      yield* settle(broke!.call)
      assert.strictEqual(yield* tagOf(settle(broke!.call)), "RunIsOver")
      assert.deepStrictEqual(yield* H.events(run), ended)
      const third = yield* H.send('[{"n":1,"note":"other"}]', "c-3")
      const done = yield* H.ended(third, "c-3")
      assert.deepStrictEqual(results(done), ["3"])
      const dispatched = done.find((each) => each._tag === "CallDispatched")
      assert.deepInclude(dispatched?.freed, { run, call: broke!.call, by: H.alice.id })
      assert.deepStrictEqual(results(yield* ask("c-4", { n: 1, note: "other" })), ["3"])
      assert.deepStrictEqual(results(yield* ask("c-5", { n: 9 })), ["2"])
      assert.deepStrictEqual(ran, [1, 9, 1])
      const app = { agents: H.agentsOf(options), tools: [H.toolsOf(options.tools ?? {})] }
      assert.isUndefined((yield* Replay.replay(third, { app })).divergence)
      const named = lines.find(([message]) => message.startsWith("a call is not done"))
      assert.deepInclude(named?.[1], { run_id: run, call_id: broke!.call })
    }).pipe(Effect.provide(Layer.provideMerge(H.layer(options), Logger.layer([logger]))))
  })

  it.live("may hold it once a run that was stopped behind it is settled", () =>
    Effect.gen(function* () {
      const { process, run } = yield* stuck(100)
      yield* process.run(H.happened(run, "CallUnknown"))
      const all = yield* process.run(H.events(run))
      const unknown = all.find((each) => each._tag === "CallUnknown")
      yield* process.run(H.cancel(run))
      yield* process.run(H.ended(run))
      yield* process.run(
        AgentRuntime.use((runtime) => runtime.settle(run, unknown!.call, nothing, H.alice))
      )
      const second = yield* process.run(H.send('[{"n":1}]', "c-2"))
      yield* process.run(H.happened(second, "CallDispatched", 1, "c-2"))
    }).pipe(Effect.provide(EphemeralStores.layer))
  )

  it.live("may hold it once a person says that nothing was done", () =>
    Effect.gen(function* () {
      const { process, run } = yield* stuck(100)
      yield* process.run(H.happened(run, "CallUnknown"))
      const unknown = (yield* process.run(H.events(run))).find(
        (each) => each._tag === "CallUnknown"
      )
      yield* process.run(
        AgentRuntime.use((runtime) =>
          runtime.settle(
            run,
            unknown!.call,
            { _tag: "Failed", message: "it never arrived" },
            H.alice
          )
        )
      )
      const second = yield* process.run(H.send('[{"n":1}]', "c-2"))
      yield* process.run(H.happened(second, "CallDispatched", 1, "c-2"))
    }).pipe(Effect.provide(EphemeralStores.layer))
  )
})
