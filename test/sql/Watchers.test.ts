/** Watchers over every store: what they get is the journal, and what this process commits costs them no statement. */
import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Fiber, Layer, Stream } from "effect"
import { SqlClient } from "effect/sql"
import type { Cursor, FeedItem } from "../../src/run/FeedItem.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { RunReader } from "../../services/RunReader.ts"
import type { RunPorts } from "../../services/Stores.ts"
import { TaskStore } from "../../services/TaskStore.ts"
import * as EphemeralRunJournal from "../../layers/ephemeral/EphemeralRunJournal.ts"
import * as EphemeralStore from "../../layers/ephemeral/EphemeralStore.ts"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as SqlRunJournal from "../../layers/sql/journal/SqlRunJournal.ts"
import * as TenantReads from "../../layers/sql/engine/TenantReads.ts"
import * as SqlStores from "../../layers/sql/stores/SqlStores.ts"
import { ConversationId } from "../../src/value/Ids.ts"
import { either } from "../Long.ts"
import { randomOf } from "../process/Crowd.ts"
import * as H from "../runtime/Harness.ts"
import { engines } from "./Engines.ts"

const start: Cursor = { ordinal: 0, seq: -1 }

/** A message's text says how many steps its run has, and how large the result of each call is. */
const planOf = (message: string) => {
  const [steps = 1, size = 0] = message.split(" ").map(Number)
  return { steps, size }
}

const options: H.Options = {
  tools: {
    look: H.reads((n) => Effect.as(Effect.yieldNow, "x".repeat(n))),
    pay: H.asks((n) => Effect.succeed(n))
  },
  script: ({ transcript }) => {
    const first = transcript[0]
    const { size, steps } = planOf(first?.role === "user" ? first.text : "1")
    const done = transcript.filter(({ role }) => role === "tool").length
    if (done + 1 >= steps) return text("done")
    return call(done === 2 ? "pay" : "look", { n: done === 2 ? 1 : size })
  },
  agent: { history_tokens_max: 0, limits: { steps_max: 100 } },
  config: { watch_ms: 3_600_000, sweep_ms: 500 }
}

/** What a reader of the journal gets of a conversation, from a cursor on. */
const journaled = Effect.fnUntraced(function* (conversation: ConversationId, after: Cursor) {
  const reader = yield* RunReader
  const tasks = yield* TaskStore
  const items: Array<FeedItem> = []
  for (const { id, ordinal } of yield* tasks.ofConversation(H.tenant, conversation, 0, 100)) {
    for (const entry of yield* reader.read(id, 0, 10_000)) {
      const isAfter =
        ordinal > after.ordinal || (ordinal === after.ordinal && entry.seq > after.seq)
      if (isAfter) items.push({ _tag: "Event", run: id, ordinal, entry })
    }
  }
  return items
})

const isEnd = (item: FeedItem) => item._tag === "Event" && item.entry.event._tag === "RunEnded"

const watching = (conversation: ConversationId, after: Cursor) =>
  Stream.unwrap(
    AgentRuntime.use((runtime) => Effect.succeed(runtime.watch(conversation, after, H.alice)))
  )

/** Statements of the fiber that has it in its context, and of those that it starts. */
const Counter = Context.Reference<{ statements: number }>("test/Counter", {
  defaultValue: () => ({ statements: 0 })
})

/** The client, which counts the statements of whoever asks: those of tasks and journals are all texts of their own. */
const counted = (client: SqlClient.SqlClient): SqlClient.SqlClient =>
  new Proxy(client, {
    get: (target, name) =>
      name === "unsafe"
        ? (...args: Parameters<SqlClient.SqlClient["unsafe"]>) =>
            Effect.withFiber((fiber) => {
              fiber.getRef(Counter).statements++
              return target.unsafe(...args)
            })
        : Reflect.get(target, name)
  })

/** A message of so many steps to a conversation that is watched, and the statements of its watcher once it had caught up. */
const watchedMessage = Effect.fnUntraced(function* (steps: number) {
  const conversation = `c-${steps}`
  const counter = { statements: 0 }
  const isIdle = Deferred.makeUnsafe<number>()
  const watcher = yield* watching(ConversationId.make(conversation), start).pipe(
    Stream.tap((item) =>
      item._tag === "CaughtUp"
        ? Effect.sync(() => Deferred.doneUnsafe(isIdle, Effect.succeed(counter.statements)))
        : Effect.void
    ),
    Stream.takeUntil(isEnd),
    Stream.runCollect,
    Effect.provideService(Counter, counter),
    Effect.forkChild({ startImmediately: true })
  )
  const caughtUp = yield* Deferred.await(isIdle)
  const run = yield* H.send(`${steps} 100`, conversation)
  if (steps > 3) {
    const { approval } = yield* H.question(run, 1, conversation)
    yield* H.decide(approval, H.approve)
  }
  const items = yield* Fiber.join(watcher)
  const events = items.filter((item) => item._tag === "Event")
  assert.deepStrictEqual(events, yield* journaled(ConversationId.make(conversation), start))
  return { caughtUp, after: counter.statements - caughtUp }
})

/** Of one test: its dice, what it runs in, and the conversation's messages. */
interface Scene {
  readonly below: (n: number) => number
  readonly processes: ReadonlyArray<H.Process>
  readonly conversation: ConversationId
  readonly messages: number
}

const anyOf = ({ below, processes }: Scene): H.Process => processes[below(processes.length)]!

/** Sends the messages; some runs are cancelled, from whichever process. */
const sending = (scene: Scene) =>
  Effect.gen(function* () {
    const { below, conversation, messages } = scene
    for (let n = 0; n < messages; n++) {
      yield* Effect.sleep(below(20))
      const size = below(6) === 0 ? 400_000 : below(3_000)
      const run = yield* anyOf(scene).run(H.send(`${1 + below(6)} ${size}`, conversation))
      if (below(5) > 0) continue
      yield* Effect.sleep(below(60))
      yield* Effect.ignore(anyOf(scene).run(H.cancel(run)))
    }
  })

/** Watches to the end of the last run: pauses, leaves, and comes back behind what it got, in whichever process. */
const following = (scene: Scene) =>
  Effect.gen(function* () {
    const { below, conversation, messages } = scene
    const got: Array<FeedItem> = []
    const pause_ms = [0, 0, 3, 40][below(4)]!
    let after = start
    const isOver = () => got.filter(isEnd).length === messages
    yield* Effect.sleep(below(40))
    while (!isOver()) {
      let left = below(3) === 0 ? 1 + below(12) : Number.POSITIVE_INFINITY
      yield* anyOf(scene).run(
        watching(conversation, after).pipe(
          Stream.filter((item) => item._tag === "Event"),
          Stream.tap((item) => {
            got.push(item)
            after = { ordinal: item.ordinal, seq: item.entry.seq }
            return below(3) === 0 ? Effect.sleep(below(pause_ms + 1)) : Effect.void
          }),
          Stream.takeUntil(() => --left <= 0 || isOver()),
          Stream.runDrain
        )
      )
    }
    return got
  })

/** Answers every question, until it is interrupted. */
const answering = (scene: Scene) =>
  Effect.gen(function* () {
    for (;;) {
      yield* Effect.sleep(10)
      for (const { id } of yield* anyOf(scene).run(H.pending)) {
        const decision = scene.below(3) === 0 ? H.deny : H.approve
        yield* Effect.ignore(anyOf(scene).run(H.decide(id, decision)))
      }
    }
  })

/** Watchers of a conversation, each of which got what a reader of the journal gets: the same bytes in the same order. */
const conversing = Effect.fnUntraced(function* (scene: Scene) {
  const watchers = Array.from({ length: 3 }, () => following(scene))
  const [all] = yield* Effect.all(
    [Effect.all(watchers, { concurrency: "unbounded" }), sending(scene)],
    { concurrency: "unbounded" }
  )
  const expected = yield* journaled(scene.conversation, start)
  for (const got of all) {
    assert.deepStrictEqual(got, expected)
    assert.strictEqual(JSON.stringify(got), JSON.stringify(expected))
  }
})

const conversations = either(3, 40)

/** Random conversations in so many processes, each with a journal of its own over the same store. */
const randomly = <E, R>(journal: Layer.Layer<RunPorts, E, R>, count: number) =>
  Effect.gen(function* () {
    // What another process commits is found by a read; what is committed here needs none.
    const watch_ms = count === 1 ? 3_600_000 : 50
    const booted = Effect.flatMap(Layer.build(Layer.fresh(journal)), (own) =>
      Effect.provide(H.boot({ ...options, config: { ...options.config, watch_ms } }), own)
    )
    const processes = yield* Effect.replicateEffect(booted, count)
    const below = randomOf(count)
    const scenes = Array.from({ length: conversations }, (_, i): Scene => ({
      below,
      processes,
      conversation: ConversationId.make(`random-${count}-${i}`),
      messages: 3
    }))
    yield* Effect.forkScoped(answering(scenes[0]!))
    yield* Effect.forEach(scenes, conversing, { concurrency: "unbounded", discard: true })
  }).pipe(Effect.scoped)

/** By name: random conversations in so many processes over a new store. */
const stores = [
  [
    "ephemeral",
    (count: number) =>
      Effect.provide(randomly(EphemeralRunJournal.layer, count), EphemeralStores.layer)
  ],
  ...engines.map(
    ([name, client]) =>
      [
        name,
        (count: number) =>
          randomly(Layer.provide(SqlRunJournal.layer, Layer.orDie(TenantReads.layer)), count).pipe(
            Effect.provide(
              Layer.merge(EphemeralStore.layer, Layer.provideMerge(SqlStores.layer, client))
            )
          )
      ] as const
  )
] as const

describe("watchers", () => {
  for (const [name, client] of engines) {
    const counting = Layer.effect(SqlClient.SqlClient, Effect.map(SqlClient.SqlClient, counted))
    const store = SqlStores.layer.pipe(Layer.provideMerge(counting), Layer.provideMerge(client))
    it.live(
      `cost one statement to catch up, and none for what this process commits (${name})`,
      () =>
        Effect.gen(function* () {
          const process = yield* H.boot(options)
          for (const steps of [1, 10]) {
            assert.deepStrictEqual(yield* process.run(watchedMessage(steps)), {
              caughtUp: 1,
              after: 0
            })
          }
        }).pipe(Effect.scoped, Effect.provide(Layer.merge(EphemeralStore.layer, store)))
    )
  }

  for (const [name, conversed] of stores) {
    for (const [where, count] of [
      ["one process", 1],
      ["two processes", 2]
    ] as const) {
      it.live(`get exactly what the journal has, in ${where} (${name})`, () => conversed(count), {
        timeout: 120_000
      })
    }
  }
})
