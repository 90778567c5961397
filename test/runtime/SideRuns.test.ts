/** `mailbox: "answer"`: a message is answered beside a run that waits for people, and that run is left as it is. */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Stream } from "effect"
import { TestClock } from "effect/testing"
import { call, calls, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as Replay from "../../layers/compose/entries/Replay.ts"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import type { Turn } from "../../src/run/RunDecider.ts"
import * as EventStream from "../../layers/http/stream/EventStream.ts"
import type { Cursor, FeedItem } from "../../services/AgentRuntime.ts"
import { AgentRuntime, openStream } from "../../services/AgentRuntime.ts"
import type { ModelRequest } from "../../services/ModelGateway.ts"
import { RunReader } from "../../services/RunReader.ts"
import type { RunId } from "../../src/value/Ids.ts"
import { ConversationId } from "../../src/value/Ids.ts"
import { RunLimits } from "../../src/run/RunLimits.ts"
import { either } from "../Long.ts"
import * as H from "./Harness.ts"

const isSide = ({ system }: ModelRequest): boolean => system.includes("Note of the system")

const said = ({ transcript: [first] }: ModelRequest): string =>
  first?.role === "user" ? first.text : ""

/** What the model was asked for a message, in its turns. */
const turnsOf = (words: string) =>
  Effect.map(H.requests, (all) => all.filter((request) => said(request) === words))

const textsOf = (entries: ModelRequest["history"]) =>
  entries.flatMap((entry) =>
    entry.role === "tool" || entry.text === "" ? [] : [`${entry.role}: ${entry.text}`]
  )

type Side = (request: ModelRequest) => Turn | Effect.Effect<Turn>

const answers: Side = (request) => text(`beside: ${said(request)}`)

/** Bodies that ran. */
const ran: Array<string> = []

const scriptOf =
  (side: Side): Side =>
  (request) => {
    if (isSide(request)) return side(request)
    return said(request).startsWith("pay") && request.transcript.length === 1
      ? call("pay", { n: 1 })
      : text(`done: ${said(request)}`)
  }

/** `pay` asks a person, `look` reads, `note` writes and asks nobody. */
const optionsOf = (
  side: Side = answers,
  agent: H.Options["agent"] = {},
  asked: Parameters<typeof H.asks>[1] = {}
): H.Options => ({
  tools: {
    pay: H.asks((n) => Effect.sync(() => (ran.push("pay"), `paid ${n}`)), asked),
    look: H.reads((n) => Effect.succeed(`seen ${n}`)),
    note: H.writes((n) => Effect.sync(() => (ran.push("note"), `noted ${n}`)), {
      precondition: () => Effect.sync(() => void ran.push("precondition"))
    })
  },
  agent: { mailbox: "answer", ...agent },
  script: scriptOf(side)
})

const layer = (...of: Parameters<typeof optionsOf>) => H.layer(optionsOf(...of))

/** A run that waits for a person, and its question. */
const waiting = Effect.gen(function* () {
  const run = yield* H.send("pay one")
  const { approval } = yield* H.question(run)
  return { run, approval }
})

/** Blocks side runs until it is completed, and says when the first has begun its turn. */
const makeGate = () => {
  const [begun, open] = [Deferred.makeUnsafe<void>(), Deferred.makeUnsafe<void>()]
  const side: Side = (request) =>
    Effect.gen(function* () {
      yield* Deferred.succeed(begun, undefined)
      yield* Deferred.await(open)
      return yield* Effect.succeed(answers(request) as Turn)
    })
  return { side, begun: Deferred.await(begun), open: Deferred.succeed(open, undefined) }
}

const endOf = (run: RunId) => Effect.map(H.ended(run), H.end)

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

const conversation = ConversationId.make("c-1")

type Event = Extract<FeedItem, { readonly _tag: "Event" }>

/** The events of the conversation behind a cursor, up to the first that fits. */
const watched = (
  until: (item: Event) => boolean,
  after: Cursor | undefined = { ordinal: 0, seq: -1 }
) =>
  AgentRuntime.use((agents) =>
    agents.watch(conversation, after, H.alice).pipe(
      Stream.filter((item): item is Event => item._tag === "Event"),
      Stream.takeUntil(until),
      Stream.runCollect
    )
  )

/** The event's id as an HTTP client gets it. */
const idOf = (item: Event) =>
  EventStream.bytes(openStream(Stream.make(item)), {
    customer: false,
    heartbeat_ms: 60_000,
    goesOn: Effect.succeed(true),
    until: Effect.never
  }).pipe(
    Stream.decodeText,
    Stream.mkString,
    Effect.map((text) => /^id: (.*)$/m.exec(text)?.[1])
  )

const placeOf = ({ entry, ordinal }: Event) => `${ordinal}.${entry.seq}`

const isEndOf = (run: RunId) => (item: Event) =>
  item.run === run && item.entry.event._tag === "RunEnded"

describe("who watches the conversation", () => {
  it.live(
    "sees side runs while the question is open, and from every cursor all that is behind it",
    () =>
      Effect.gen(function* () {
        const first = yield* waiting
        // As they come: side runs before the end of the run that waits.
        const watching = yield* Effect.forkChild(
          watched((item) => item.ordinal === 4 && item.entry.event._tag === "RunEnded")
        )
        const second = yield* H.send("two")
        const third = yield* H.send("three")
        yield* watched(isEndOf(third))
        yield* H.decide(first.approval, H.approve)
        yield* H.ended(first.run)
        const last = yield* H.send("four")
        const all = yield* Fiber.join(watching)
        assert.isBelow(all.findIndex(isEndOf(third)), all.findIndex(isEndOf(first.run)))
        const reader = yield* RunReader
        for (const [run, ordinal] of [
          [first.run, 1],
          [second, 2],
          [third, 3],
          [last, 4]
        ] as const) {
          const journal = yield* reader.read(run, 0, 100)
          assert.deepStrictEqual(
            all.filter((item) => item.run === run).map(placeOf),
            journal.map(({ seq }) => `${ordinal}.${seq}`)
          )
        }
        for (const item of all.slice(0, -1)) {
          const own = { ordinal: item.ordinal, seq: item.entry.seq }
          const after = EventStream.parseCursor(yield* idOf(item))
          assert.deepStrictEqual(after, item.cursor ?? own)
          const rest = yield* watched(isEndOf(last), after)
          const behind = all.slice(all.indexOf(item) + 1).map(placeOf)
          assert.sameMembers(rest.map(placeOf), behind, `behind ${placeOf(item)}`)
        }
      }).pipe(Effect.provide(layer()))
  )

  it.live("is refused a place in side runs that do not answer beside its run", () =>
    Effect.gen(function* () {
      const first = yield* waiting
      const second = yield* H.send("two")
      yield* H.ended(second)
      for (const beside of [
        { ordinal: 1, seq: 0 },
        { ordinal: 3, seq: 0 }
      ]) {
        const refused = yield* Effect.flip(watched(isEndOf(second), { ordinal: 1, seq: 1, beside }))
        assert.deepInclude(refused, { _tag: "InvalidInput", field: "after" })
      }
      yield* H.decide(first.approval, H.approve)
      yield* H.ended(first.run)
    }).pipe(Effect.provide(layer()))
  )

  it.live("is given a side run again of which the server lost what it had shown", () => {
    const gate = makeGate()
    return Effect.gen(function* () {
      yield* waiting
      yield* H.send("two")
      yield* gate.begun
      const after = { ordinal: 1, seq: 1, beside: { ordinal: 2, seq: 99 } }
      const given = yield* watched((item) => placeOf(item) === "2.2", after)
      assert.includeMembers(given.map(placeOf), ["2.0", "2.1", "2.2"])
      yield* gate.open
    }).pipe(Effect.provide(layer(gate.side)))
  })

  it.live("sees each event once, also where the decision comes while the side run goes", () => {
    const gate = makeGate()
    return Effect.gen(function* () {
      const first = yield* waiting
      const seen: Array<string> = []
      const watching = yield* Effect.forkChild(
        AgentRuntime.use((agents) =>
          agents.watch(conversation, { ordinal: 0, seq: -1 }, H.alice).pipe(
            Stream.filter((item): item is Event => item._tag === "Event"),
            Stream.runForEach((item) => Effect.sync(() => seen.push(placeOf(item))))
          )
        )
      )
      const second = yield* H.send("two")
      yield* gate.begun
      yield* H.decide(first.approval, H.approve)
      yield* H.ended(first.run)
      yield* gate.open
      const third = yield* H.send("three")
      yield* H.ended(third)
      yield* H.ended(second)
      const whole = yield* watched(isEndOf(third))
      yield* Effect.repeat(Effect.sleep(10), { until: () => seen.length >= whole.length })
      assert.strictEqual(new Set(seen).size, seen.length)
      assert.sameMembers(seen, whole.map(placeOf))
      yield* Fiber.interrupt(watching)
    }).pipe(Effect.provide(layer(gate.side)))
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
