/** The Layer for programs in Effect, the people of a test, and time that a test moves. */
import { once } from "node:events"
import { readdirSync } from "node:fs"
import type { AddressInfo } from "node:net"
import { createServer } from "node:net"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Deferred, Effect, Exit, Fiber, Layer, Logger, Schema, Stream, Tracer } from "effect"
import { TestClock } from "effect/testing"
import { driveApprovals, drive } from "../../layers/compose/entries/ApprovalDriver.ts"
import type { NodeService } from "../../layers/compose/promises/NodeService.ts"
import { start } from "../../layers/compose/entries/Embed.ts"
import { Troupe } from "../../layers/compose/entries/Troupe.ts"
import { startVirtual } from "../../layers/compose/entries/VirtualTime.ts"
import {
  call,
  calls,
  layer as scripted,
  text
} from "../../layers/model/tape/ScriptedModelGateway.ts"
import { ApprovalDesk } from "../../services/ApprovalDesk.ts"
import { BlobStore } from "../../services/BlobStore.ts"
import { RunReader } from "../../services/RunReader.ts"
import { AgentSpec, Principal, RunId, tool } from "../../src/index.ts"
import * as Homes from "../process/Homes.ts"

const refund = tool(
  {
    namespace: "shop",
    name: "refund",
    side_effects: "external",
    approval_expires_ms: 60_000,
    description: "Pays an order back.",
    input: Schema.Struct({ order: Schema.String })
  },
  ({ order }) => `paid ${order}`
)
const shop = AgentSpec.make({ name: "shop", instructions: "Help.", tools: ["refund"] })
const boss = new Principal({ id: "boss", tenant: "default", roles: ["approver", "operator"] })
const message = { agent: "shop", text: "Pay it back" }
const asking = (order: string) => call("refund", { order })

const withTurns = (...turns: Parameters<typeof scripted>) =>
  Troupe.layer({ agents: [shop], tools: [refund], model: scripted(...turns) })

describe("Troupe.layer", () => {
  it.live("has every method of start, whose results and typed errors are values of Effects", () =>
    Effect.gen(function* () {
      const troupe = yield* Troupe
      const service = yield* Effect.promise(() =>
        start({ agents: [shop], tools: [refund], model: scripted([]) })
      )
      yield* Effect.promise(() => service.stop())
      const names = Object.keys(service).filter((name) => name !== "stop")
      assert.deepStrictEqual(Object.keys(troupe).toSorted(), names.toSorted())

      const answer = yield* troupe.ask({
        ...message,
        answer: Schema.Struct({ paid: Schema.Boolean })
      })
      assert.deepStrictEqual(answer.value, { paid: true })
      const seen = yield* Stream.runCollect(troupe.watch(answer.run))
      assert.strictEqual(seen.at(-1)?._tag, "CaughtUp")
      assert.deepStrictEqual(
        (yield* troupe.runs({ agent: "shop" })).map(({ id }) => id),
        [answer.run]
      )
      const errors = yield* Effect.all([
        Effect.flip(troupe.ask({ agent: "nobody", text: "Hello" })),
        Effect.flip(troupe.ask(message, undefined, { timeout_ms: -1 })),
        Effect.flip(troupe.decide(answer.run, { decision: "approve" }, boss)),
        Effect.flip(Stream.runDrain(troupe.watch("nothing")))
      ])
      assert.deepStrictEqual(
        errors.map((error) => error._tag),
        ["AgentNotFound", "InvalidInput", "ApprovalNotFound", "ConversationNotFound"]
      )
    }).pipe(Effect.provide(withTurns([text('{"paid":true}')])))
  )

  it.live(
    "fails with the option that is wrong before it opens anything, and stops with its scope",
    () =>
      Effect.gen(function* () {
        const place = yield* Homes.temporary
        const store = { directory: join(place, "data") }
        const options = { agents: [shop], tools: [refund], model: scripted([]), store }
        const wrong = { ...options, record: "yes" as unknown as boolean }
        const error = yield* Effect.flip(Effect.scoped(Effect.provide(Troupe, Troupe.layer(wrong))))
        assert.strictEqual(error._tag === "InvalidInput" && error.field, "record")
        assert.deepStrictEqual(readdirSync(place), [])
      })
  )

  it.live("gives the ports of the runtime, of which a store may be the application's own", () => {
    const kept: Array<string> = []
    const blobs = Layer.effect(
      BlobStore,
      Effect.map(BlobStore, (store) => ({
        ...store,
        put: (...args: Parameters<typeof store.put>) =>
          Effect.andThen(
            Effect.sync(() => kept.push(args[1].media_type)),
            store.put(...args)
          )
      }))
    )
    const options = { agents: [shop], tools: [refund], model: scripted([text("A picture.")]) }
    return Effect.gen(function* () {
      const troupe = yield* Troupe
      const data = new Uint8Array([1, 2, 3])
      const part = { type: "file", media_type: "application/pdf", data } as const
      const { run } = yield* troupe.send({ ...message, parts: [part] })
      assert.deepStrictEqual(kept, ["application/pdf"])
      const desk = yield* ApprovalDesk
      assert.deepStrictEqual(yield* desk.pending(boss, 1), [])
      const reader = yield* RunReader
      assert.isAtLeast((yield* reader.read(RunId.make(run), 0, 10)).length, 1)
    }).pipe(Effect.provide(Troupe.layer({ ...options, ports: blobs })))
  })

  it.live("leaves a program its own tracer", () =>
    Effect.gen(function* () {
      const spans: Array<string> = []
      const mine = Tracer.make({
        span: (options) => {
          spans.push(options.name)
          return new Tracer.NativeSpan(options)
        }
      })
      yield* Effect.gen(function* () {
        yield* Effect.void.pipe(Effect.withSpan("of the program"))
        assert.strictEqual(yield* Effect.tracer, mine)
      }).pipe(
        Effect.provide(
          Troupe.layer({
            agents: [],
            model: scripted([]),
            telemetry: { endpoint: "http://127.0.0.1:9" }
          })
        ),
        Effect.withTracer(mine)
      )
      assert.include(spans, "of the program")
    })
  )

  it.live("cancels the run of a wait that is interrupted with cancel, and no other", () =>
    Effect.gen(function* () {
      const troupe = yield* Troupe
      const interrupted = Effect.fnUntraced(function* (cancel: boolean) {
        const { run } = yield* troupe.send(message)
        const waiting = yield* Effect.forkChild(
          troupe.result(run, undefined, { cancel }).pipe(Effect.andThen(Effect.never)),
          { startImmediately: true }
        )
        yield* Fiber.interrupt(waiting)
        return run
      })
      const kept = yield* interrupted(false)
      const cancelled = yield* interrupted(true)
      assert.strictEqual((yield* troupe.result(cancelled)).status, "cancelled")
      yield* Deferred.succeed(gate, text("Done."))
      assert.strictEqual((yield* troupe.result(kept)).status, "complete")
    }).pipe(Effect.provide(withTurns(() => Deferred.await(gate))))
  )

  it.live("runs a method in the span of its caller, whatever it was built in", () =>
    Effect.gen(function* () {
      const parents: Array<string | undefined> = []
      const tracer = Tracer.make({
        span: (options) => {
          const { parent } = options
          if (options.name === "ApprovalDesk.pending") {
            parents.push(
              parent._tag === "Some" && parent.value._tag === "Span" ? parent.value.name : undefined
            )
          }
          return new Tracer.NativeSpan(options)
        }
      })
      yield* Effect.gen(function* () {
        const troupe = yield* Troupe
        yield* Effect.withSpan(troupe.pending(boss), "caller")
      }).pipe(Effect.provide(withTurns([])), Effect.withSpan("builder"), Effect.withTracer(tracer))
      assert.deepStrictEqual(parents, ["caller"])
    })
  )
})

const gate = Deferred.makeUnsafe<ReturnType<typeof text>>()

describe("the driver of approvals", () => {
  it.live(
    "answers in the order of the questions, edits, denies, and leaves open what no rule answers",
    () =>
      Effect.gen(function* () {
        const troupe = yield* Troupe
        const first = yield* troupe.send(message)
        const orders: Array<unknown> = []
        const driven = yield* drive(
          first.run,
          (approval) => {
            orders.push(approval.arguments)
            return orders.length === 1
              ? { decision: "modify", arguments: { order: "9" } }
              : { decision: "deny", reason: "sold" }
          },
          boss
        )
        assert.deepStrictEqual(orders, [{ order: "1" }, { order: "2" }])
        assert.deepStrictEqual(
          driven.decisions.map(([, decision]) => "decision" in decision && decision.decision),
          ["modify", "deny"]
        )
        assert.strictEqual(driven.answer.text, "Done.")
        const settled = yield* troupe.watch(first.run).pipe(
          Stream.filter((item) => item._tag === "Event" && item.entry.event._tag === "CallSettled"),
          Stream.map((item) => JSON.stringify(item._tag === "Event" && item.entry.event)),
          Stream.runCollect
        )
        assert.isTrue(settled.some((event) => event.includes("paid 9")))
        assert.isFalse(
          settled.some((event) => event.includes("paid 1") || event.includes("paid 2"))
        )

        const second = yield* troupe.send(message)
        const open = yield* drive(second.run, { another: { decision: "approve" } }, boss)
        assert.deepStrictEqual([open.answer.status, open.decisions], ["awaiting_approval", []])
        const rest = yield* drive(second.run, { "*": { decision: "approve" } }, boss)
        assert.deepStrictEqual([rest.answer.status, rest.decisions.length], ["complete", 1])
      }).pipe(
        Effect.provide(
          withTurns([calls([asking("1"), asking("2")]), text("Done."), asking("3"), text("Done.")])
        )
      )
  )

  it("ends a run that asks for ever", async () => {
    let decided = 0
    const approvals = [{ id: "a", payload: { tool_name: "refund" } }]
    const troupe = {
      result: async () => ({ status: "awaiting_approval", approvals }),
      decide: async () => void decided++
    } as unknown as NodeService
    const error: unknown = await driveApprovals(
      troupe,
      "run",
      { "*": { decision: "approve" } },
      boss
    ).catch((error) => error)
    assert.include(String(error), "goes on asking after 1000 decisions")
    assert.strictEqual(decided, 1_000)
  })
})

it("the driver of approvals refuses rules that are none, and decisions that are promises", async () => {
  const troupe = {
    result: async () => ({
      status: "awaiting_approval",
      approvals: [{ id: "a", payload: { tool_name: "refund" } }]
    })
  } as unknown as NodeService
  for (const rules of [undefined, "approve", [], async () => ({ decision: "approve" })]) {
    const error: unknown = await driveApprovals(troupe, "run", rules as never, boss).catch(
      (caught: unknown) => caught
    )
    assert.deepInclude(error, { _tag: "InvalidInput", field: "rules" })
  }
})

it("a virtual clock goes forward, to an end, and with no store", async () => {
  const options = { agents: [shop], tools: [refund], model: scripted([]) }
  const stored = { ...options, store: { directory: "/nowhere/at/all" } }
  const refused: unknown = await startVirtual(stored).catch((error: unknown) => error)
  assert.deepInclude(refused, { _tag: "InvalidInput", field: "store" })
  const troupe = await startVirtual(options)
  for (const by of [-1, "-1 hour", NaN, Infinity, "soon", undefined]) {
    const error: unknown = await troupe.advance(by as never).catch((caught: unknown) => caught)
    assert.deepInclude(error, { _tag: "InvalidInput", field: "by" }, String(by))
  }
  await troupe.advance("1 second")
  await troupe.stop()
})

describe("a start that waits for what it was given", () => {
  const startedAfter = Effect.fnUntraced(function* (options: {
    readonly tools: Effect.Effect<void>
    readonly model: Effect.Effect<void>
    readonly store?: { readonly postgres: string }
  }) {
    const said: Array<string> = []
    const capture = Logger.make<unknown, void>(({ message: text }) => {
      said.push(String(text))
    })
    const layer = Troupe.layer({
      agents: [shop],
      tools: [Effect.andThen(options.tools, refund)],
      model: Layer.unwrap(Effect.as(options.model, scripted([text("Good day.")]))),
      store: options.store ?? "ephemeral"
    })
    const waiting = yield* Effect.forkChild(
      Effect.provide(
        Troupe.use((troupe) => troupe.ask(message)),
        layer.pipe(Layer.provideMerge(Logger.layer([capture])))
      )
    )
    return { said, waiting }
  })
  const parts = { tools: Effect.void, model: Effect.void }
  const waits = (text: string) => text.startsWith("the start has waited")
  /** What a start loads is loaded in real time. */
  const untilSaid = Effect.fnUntraced(function* (said: ReadonlyArray<string>, count: number) {
    for (let tries = 0; tries < 1_000 && said.filter(waits).length < count; tries++) {
      yield* TestClock.adjust("10 seconds")
      yield* Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 10)))
    }
  })

  it.effect("says every 10 s that it waits for its store", () =>
    Effect.gen(function* () {
      const silent = createServer()
      yield* Effect.promise(() => once(silent.listen(0, "127.0.0.1"), "listening"))
      yield* Effect.addFinalizer(() => Effect.sync(() => silent.close()))
      const { port } = silent.address() as AddressInfo
      const store = { postgres: `postgres://bob:x@127.0.0.1:${port}/db` }
      const { said, waiting } = yield* startedAfter({ ...parts, store })
      yield* untilSaid(said, 1)
      assert.include(said, "the start has waited 10 s for its store")
      yield* Fiber.interrupt(waiting)
    }).pipe(Effect.scoped)
  )

  for (const [name, part] of [
    ["model", "the Layer of `model`"],
    ["tools", "its tools and agents"]
  ] as const) {
    it.effect(`says every 10 s that it waits for ${part}, until it is there`, () =>
      Effect.gen(function* () {
        const there = yield* Deferred.make<void>()
        const waited = { ...parts, [name]: Deferred.await(there) }
        const { said, waiting } = yield* startedAfter(waited)
        yield* untilSaid(said, 2)
        assert.includeMembers(said, [
          `the start has waited 10 s for ${part}`,
          `the start has waited 20 s for ${part}`
        ])
        yield* Deferred.succeed(there, undefined)
        assert.strictEqual((yield* Fiber.join(waiting)).text, "Good day.")
        const before = said.filter(waits).length
        yield* TestClock.adjust("1 minute")
        assert.strictEqual(said.filter(waits).length, before)
      })
    )
  }
})

describe("virtual time", () => {
  it.effect(
    "is the TestClock of the program: a question expires when the test says so, and not before",
    () =>
      Effect.gen(function* () {
        const troupe = yield* Troupe
        const { run, status } = yield* troupe.ask(message)
        assert.strictEqual(status, "awaiting_approval")
        yield* TestClock.adjust("55 seconds")
        assert.strictEqual((yield* troupe.result(run)).status, "awaiting_approval")
        yield* TestClock.adjust("5 seconds")
        assert.strictEqual((yield* troupe.result(run)).text, "Nobody answered.")
        const late = yield* Effect.exit(troupe.pending(boss))
        assert.deepStrictEqual(Exit.isSuccess(late) ? late.value : Cause.pretty(late.cause), [])
      }).pipe(Effect.provide(withTurns([asking("1"), text("Nobody answered.")])))
  )
})
