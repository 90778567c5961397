/** `mailbox: "answer"`: a message is answered beside a run that waits for people, and that run is left as it is. */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { call, calls, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as Replay from "../../layers/compose/entries/Replay.ts"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import type { RunId } from "../../src/value/Ids.ts"
import { RunLimits } from "../../src/run/RunLimits.ts"
import { either } from "../Long.ts"
import * as H from "./Harness.ts"
import {
  isSide,
  said,
  turnsOf,
  textsOf,
  answers,
  ran,
  optionsOf,
  scriptOf,
  layer,
  waiting,
  makeGate,
  endOf
} from "./SideScenes.ts"
import type { Side } from "./SideScenes.ts"

describe("a message while the run before it waits for a person", () => {
  it.live("is answered meanwhile, and both stand in what later turns read, in order, once", () =>
    Effect.gen(function* () {
      const first = yield* waiting
      const second = yield* H.send("two")
      assert.deepInclude(yield* endOf(second), { status: "complete", text: "beside: two" })
      const open = yield* H.pending
      assert.deepStrictEqual(
        open.map(({ id }) => id),
        [first.approval]
      )
      yield* H.decide(first.approval, H.approve)
      assert.deepInclude(yield* endOf(first.run), { text: "done: pay one" })
      yield* H.ended(yield* H.send("three"))
      const [third] = yield* turnsOf("three")
      assert.deepStrictEqual(textsOf(third!.history), [
        "user: pay one",
        "assistant: done: pay one",
        "user: two",
        "assistant: beside: two"
      ])
      assert.isFalse(isSide(third!))
    }).pipe(Effect.provide(layer()))
  )

  it.live("is told the open question in its instructions alone, and offered tools that read", () =>
    Effect.gen(function* () {
      yield* waiting
      yield* H.ended(yield* H.send("two"))
      const [turn] = yield* turnsOf("two")
      const { history, system, tools, transcript } = turn!
      assert.include(system, '"earlier_message":"pay one"')
      assert.include(system, `"tool":"pay"`)
      assert.deepStrictEqual(textsOf(transcript), ["user: two"])
      assert.deepStrictEqual(history, [])
      assert.deepStrictEqual(
        tools.map(({ name }) => name),
        ["look"]
      )
    }).pipe(Effect.provide(layer()))
  )

  it.live("changes nothing: a call that would is refused, and nothing of it runs", () => {
    const side: Side = (request) =>
      request.transcript.length === 1
        ? calls([call("note", { n: 1 }), call("pay", { n: 2 }), call("look", { n: 3 })])
        : text("nothing was done")
    return Effect.gen(function* () {
      ran.length = 0
      yield* waiting
      const all = yield* H.ended(yield* H.send("two"))
      const [note, pay, look] = H.settled(all).map(({ outcome }) => outcome)
      for (const refused of [note, pay]) {
        assert.deepInclude(refused?._tag === "Failed" ? refused.error : undefined, {
          class: "ToolPolicyError",
          reason: "SIDE_RUN"
        })
      }
      assert.strictEqual(look?._tag, "Value")
      assert.deepStrictEqual(ran, [])
      assert.lengthOf(yield* H.pending, 1)
    }).pipe(Effect.provide(layer(side)))
  })

  it.live("waits behind a side run that is at work, within the mailbox's bound", () => {
    const gate = makeGate()
    return Effect.gen(function* () {
      yield* waiting
      const second = yield* H.send("two")
      yield* gate.begun
      const third = yield* H.send("three")
      assert.strictEqual((yield* Effect.flip(H.send("four")))._tag, "MailboxFull")
      assert.lengthOf(yield* turnsOf("three"), 0)
      yield* gate.open
      assert.deepInclude(yield* endOf(second), { text: "beside: two" })
      assert.deepInclude(yield* endOf(third), { text: "beside: three" })
      const [turn] = yield* turnsOf("three")
      assert.deepStrictEqual(textsOf(turn!.history), ["user: two", "assistant: beside: two"])
    }).pipe(Effect.provide(layer(gate.side, { mailbox_max: 3 })))
  })

  it.live("that came while the run was at work is answered once the run waits", () => {
    const gate = Deferred.makeUnsafe<void>()
    const script = scriptOf(answers)
    return Effect.gen(function* () {
      const first = yield* H.send("pay one")
      const second = yield* H.send("two")
      yield* Deferred.succeed(gate, undefined)
      assert.deepInclude(yield* endOf(second), { text: "beside: two" })
      assert.strictEqual(H.count(yield* H.events(first), "RunEnded"), 0)
    }).pipe(
      Effect.provide(
        H.layer({
          ...optionsOf(),
          script: (request) =>
            Effect.flatMap(Deferred.await(gate), () => {
              const turn = script(request)
              return Effect.isEffect(turn) ? turn : Effect.succeed(turn)
            })
        })
      )
    )
  })

  it.live("stops at a limit whose breach would ask a person", () =>
    Effect.gen(function* () {
      yield* waiting
      const second = yield* endOf(yield* H.send("two"))
      assert.deepInclude(second, { status: "failed", reason: "recursion_limit" })
      assert.lengthOf(yield* H.pending, 1)
    }).pipe(
      Effect.provide(
        layer(({ step }) => call("look", { n: step }), {
          limits: RunLimits.make({ steps_max: 3, on_breach: "ask" })
        })
      )
    )
  )
})

describe("a side run, replayed,", () => {
  const tries: Side = (request) =>
    request.transcript.length === 1
      ? calls([call("note", { n: 1 }), call("look", { n: 3 })])
      : text("nothing was done")

  it.live("goes as it went, and is told the same", () =>
    Effect.gen(function* () {
      yield* waiting
      const second = yield* H.send("two")
      yield* H.ended(second)
      const options = optionsOf(tries)
      const app = { agents: H.agentsOf(options), tools: [H.toolsOf(options.tools ?? {})] }
      const report = yield* Replay.replay(second, { app })
      assert.isUndefined(report.divergence, JSON.stringify(report.divergence))
      if (typeof report.gate === "string") return assert.fail(report.gate)
      assert.isUndefined(report.gate.divergence, JSON.stringify(report.gate.divergence))
    }).pipe(Effect.provide(layer(tries)))
  )
})

describe("a run that waits, while a side run is at work,", () => {
  const beside = <A, E, R>(
    act: (first: { readonly run: RunId; readonly approval: never }) => Effect.Effect<A, E, R>,
    ended: object,
    asked: Parameters<typeof optionsOf>[2] = {}
  ) => {
    const gate = makeGate()
    return Effect.gen(function* () {
      const first = yield* waiting
      const second = yield* H.send("two")
      yield* gate.begun
      yield* act(first as never)
      assert.deepInclude(yield* endOf(first.run), ended)
      // What comes behind the side run waits for it: the order of the address stands.
      const third = yield* H.send("three")
      yield* Effect.yieldNow
      assert.lengthOf(yield* turnsOf("three"), 0)
      yield* gate.open
      assert.deepInclude(yield* endOf(second), { text: "beside: two" })
      assert.deepInclude(yield* endOf(third), { text: "done: three" })
      assert.strictEqual(H.count(yield* H.events(second), "RunClaimed"), 1)
    }).pipe(Effect.provide(layer(gate.side, {}, asked)))
  }

  it.live("goes on with its decision and ends", () =>
    beside(({ approval }) => H.decide(approval, H.approve), { text: "done: pay one" })
  )

  it.live("is cancelled and ends", () =>
    beside(({ run }) => H.cancel(run), { status: "cancelled" })
  )

  it.effect("goes on when its question expires, and ends", () => {
    ran.length = 0
    const minute_ms = 60_000
    return beside(
      ({ run }) =>
        Effect.gen(function* () {
          yield* TestClock.adjust(minute_ms - 1_000)
          assert.lengthOf(yield* H.pending, 1)
          yield* TestClock.adjust(1_000)
          const [pay] = H.settled(yield* H.ended(run))
          assert.strictEqual(pay?.outcome._tag, "Expired")
          assert.lengthOf(yield* H.pending, 0)
          assert.deepStrictEqual(ran, [])
        }),
      { text: "done: pay one" },
      { approval_expires_ms: minute_ms }
    )
  })
})

describe("a side run whose process goes away", () => {
  it.live("goes on in the next one, as a side run", () => {
    const held: Side = () => Effect.never
    const tries: Side = (request) =>
      request.transcript.length === 1 ? call("note", { n: 1 }) : text("nothing was done")
    return Effect.gen(function* () {
      ran.length = 0
      const one = yield* H.boot(optionsOf(held, {}))
      const first = yield* one.run(waiting)
      const second = yield* one.run(H.send("two"))
      yield* one.run(H.happened(second, "RunBeside"))
      yield* one.stop
      const two = yield* H.boot(optionsOf(tries))
      const all = yield* two.run(H.ended(second))
      assert.strictEqual(H.count(all, "RunBeside"), 1)
      assert.deepInclude(H.end(all), { text: "nothing was done" })
      assert.deepStrictEqual(ran, [])
      yield* two.run(H.decide(first.approval, H.approve))
      assert.deepInclude(yield* two.run(endOf(first.run)), { text: "done: pay one" })
    }).pipe(Effect.scoped, Effect.provide(EphemeralStores.layer.pipe(Layer.orDie)))
  })
})

/** What one seed makes of a conversation: how many questions there are, how each is answered, and what is said meanwhile. */
const scenarioOf = (seed: number) => {
  let state = seed * 2_654_435_761 + 1
  const draw = (below: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
  return Array.from({ length: 1 + draw(2) }, () => ({
    how: draw(3),
    asides: Array.from({ length: 1 + draw(2) }, () => draw(4))
  }))
}

type Scenario = ReturnType<typeof scenarioOf>

/** A side run that looks, that tries to change something, that fails, or that only answers. */
const aside: Side = (request) => {
  const kind = said(request).at(-1)
  if (request.transcript.length > 1) return text("so it is")
  if (kind === "0") return call("look", { n: 1 })
  if (kind === "1") return calls([call("note", { n: 1 }), call("pay", { n: 1 })])
  return kind === "2" ? Effect.die(new Error("the model broke")) : text("so it is")
}

const chatterOf = (scenario: Scenario, parks: boolean): H.Options => ({
  ...optionsOf(),
  // A run that has left the process is claimed with each decision; one that stays is not.
  config: { park_ms: parks ? 1 : 600_000 },
  script: (request) => {
    if (isSide(request)) return aside(request)
    const asked = request.transcript.filter(({ role }) => role === "tool").length
    return asked < scenario.length ? call("pay", { n: asked }) : text("done")
  }
})

const decisions = [H.approve, H.deny, { _tag: "RequestRevision", note: "smaller" } as const]

/** The journal of the first run, without what differs from run to run: ids, digests and times. */
const journalOf = Effect.fnUntraced(function* (
  scenario: Scenario,
  parks: boolean,
  speaks: boolean
) {
  const run = yield* H.send("pay for all")
  for (const [nth, { asides, how }] of scenario.entries()) {
    const { approval } = yield* H.question(run, nth + 1)
    if (parks) {
      const isParked = AgentRuntime.use((agents) => agents.actors(10)).pipe(
        Effect.map((all) => all.some((actor) => actor.run === run && actor.state === "parked"))
      )
      while (!(yield* isParked)) yield* Effect.sleep(1)
    }
    for (const kind of speaks ? asides : []) yield* H.ended(yield* H.send(`aside ${nth} ${kind}`))
    yield* H.decide(approval, decisions[how]!)
  }
  const names = new Map<string, number>()
  const events = yield* H.ended(run)
  const shown = JSON.stringify(events, (name, value: unknown) =>
    name === "started_at" || name === "ended_at" ? undefined : value
  )
  return shown.replace(/[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{32,}/g, (id) => {
    if (!names.has(id)) names.set(id, names.size)
    return `#${names.get(id)}`
  })
})

describe("the journal of a run that waits", () => {
  for (const parks of [false, true]) {
    it.live(
      `is the same with side runs and without, ${parks ? "after the run left the process" : "while the run is in the process"}`,
      () =>
        Effect.gen(function* () {
          for (let seed = 1; seed <= either(8, 60); seed++) {
            const scenario = scenarioOf(seed)
            const journal = (speaks: boolean) =>
              Effect.provide(
                journalOf(scenario, parks, speaks),
                Layer.fresh(H.layer(chatterOf(scenario, parks)))
              )
            assert.strictEqual(yield* journal(true), yield* journal(false), `seed ${seed}`)
          }
        }),
      120_000
    )
  }
})
