/**
 * Processes that host different agents on the same stores: each takes the work of its own, and what nobody hosts waits.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Scope } from "effect"
import { TestClock } from "effect/testing"
import { AgentName, ConversationId } from "../../src/value/Ids.ts"
import type { RunId } from "../../src/value/Ids.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { Outbox } from "../../services/Outbox.ts"
import { RunReader } from "../../services/RunReader.ts"
import { TaskStore } from "../../services/TaskStore.ts"
import type { Stores } from "../../services/Stores.ts"
import type { EphemeralStore } from "../../layers/ephemeral/EphemeralStore.ts"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as H from "./Harness.ts"

const config = { lease_ms: 1_000, sweep_ms: 500, drain_ms: 0, park_ms: 100 }

/** A process of one agent, whose tool asks a person. */
const hosting = (name: string, more: Partial<H.Options> = {}): H.Options => ({
  tools: { pay: H.asks((n) => Effect.succeed(n)) },
  agent: { name: AgentName.make(name) },
  script: ({ transcript }) => (transcript.length === 1 ? call("pay", { n: 1 }) : text("done")),
  config,
  ...more
})

const says = (name: string): H.Options => hosting(name, { script: () => text(`by ${name}`) })

const send = (agent: string, conversation: string) =>
  Effect.map(
    AgentRuntime.use((runtime) =>
      runtime.send(
        {
          agent: AgentName.make(agent),
          conversation: ConversationId.make(conversation),
          text: "?"
        },
        H.alice
      )
    ),
    ({ task }) => task.id
  )

const statusOf = (run: RunId) =>
  Effect.map(
    TaskStore.use((tasks) => tasks.get(run)),
    (task) => task?.status
  )

/** A process that accepts messages and begins none: it stops first. */
const accepting = Effect.fnUntraced(function* (options: H.Options) {
  const outbox = yield* Outbox
  const tasks = yield* TaskStore
  return yield* H.boot(options).pipe(
    Effect.provideService(Outbox, { ...outbox, claim: () => Effect.succeed([]) }),
    Effect.provideService(TaskStore, {
      ...tasks,
      accept: (task) => tasks.accept({ ...task, claim: undefined })
    })
  )
})

const test = <A, E>(
  title: string,
  body: Effect.Effect<A, E, EphemeralStore | Stores | Scope.Scope>
) => it.effect(title, () => Effect.provide(Effect.scoped(body), EphemeralStores.layer))

describe("processes that host different agents", () => {
  test(
    "run the messages of their own agents, however many wait for another's",
    Effect.gen(function* () {
      const a = yield* H.boot(says("a"))
      const b = yield* H.boot(says("b"))
      const runs: Array<readonly [run: RunId, conversation: string, text: string]> = []
      for (let i = 0; i < 30; i++) {
        const [process, name] = i % 2 === 0 ? ([a, "a"] as const) : ([b, "b"] as const)
        runs.push([yield* process.run(send(name, `c-${i}`)), `c-${i}`, `by ${name}`])
      }
      yield* TestClock.adjust(2_000)
      for (const [run, conversation, said] of runs) {
        const all = yield* a.run(H.ended(run, conversation))
        assert.deepInclude(H.end(all), { status: "complete", text: said })
        assert.strictEqual(H.count(all, "RunClaimed"), 1)
      }
    })
  )

  test(
    "leave a message of an agent that none of them hosts waiting, without a try, until a process hosts it",
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const gone = yield* accepting(says("c"))
      const run = yield* gone.run(send("c", "c-1"))
      yield* gone.stop
      const a = yield* H.boot(says("a"))
      yield* TestClock.adjust(600_000)
      assert.strictEqual(yield* statusOf(run), "pending")
      assert.strictEqual(yield* outbox.depth, 1)
      const next = yield* H.boot(says("c"))
      yield* TestClock.adjust(2_000)
      const all = yield* next.run(H.ended(run))
      assert.deepInclude(H.end(all), { status: "complete", text: "by c" })
      assert.deepStrictEqual(yield* a.run(AgentRuntime.use((runtime) => runtime.actors(10))), [])
    })
  )

  test(
    "leave a run to the process that hosts its agent, and it waits for that",
    Effect.gen(function* () {
      const gone = yield* H.boot(hosting("c", { tools: { pay: H.reads(() => Effect.never) } }))
      const run = yield* gone.run(send("c", "c-1"))
      yield* gone.run(H.happened(run, "ModelTurned"))
      yield* gone.stop
      const a = yield* H.boot(says("a"))
      yield* TestClock.adjust(60_000)
      assert.strictEqual(H.count(yield* H.events(run), "RunClaimed"), 1)
      const next = yield* H.boot(
        hosting("c", { tools: { pay: H.reads((n) => Effect.succeed(n)) } })
      )
      yield* TestClock.adjust(2_000)
      const all = yield* next.run(H.ended(run))
      assert.deepInclude(H.end(all), { status: "complete", text: "done" })
      yield* a.stop
    })
  )

  test(
    "decide questions of runs that they do not host, and the host continues the run",
    Effect.gen(function* () {
      const host = yield* H.boot(hosting("c"))
      const run = yield* host.run(send("c", "c-1"))
      const { approval } = yield* host.run(H.question(run))
      const a = yield* H.boot(says("a"))
      yield* a.run(H.decide(approval, H.approve))
      const all = yield* host.run(H.ended(run))
      assert.deepInclude(H.end(all), { status: "complete", text: "done" })
    })
  )

  test(
    "keep a decision on a run that none of them hosts for its next host",
    Effect.gen(function* () {
      const gone = yield* H.boot(hosting("c"))
      const run = yield* gone.run(send("c", "c-1"))
      const { approval } = yield* gone.run(H.question(run))
      yield* gone.stop
      const a = yield* H.boot(says("a"))
      yield* a.run(H.decide(approval, H.approve))
      yield* TestClock.adjust(60_000)
      const waits = yield* H.events(run)
      assert.strictEqual(H.count(waits, "ApprovalDecided"), 1)
      assert.strictEqual(H.count(waits, "RunClaimed"), 1)
      const next = yield* H.boot(hosting("c"))
      yield* TestClock.adjust(2_000)
      const all = yield* next.run(H.ended(run))
      assert.deepInclude(H.end(all), { status: "complete", text: "done" })
      assert.strictEqual(H.count(all, "ApprovalRequested"), 1)
    })
  )

  test(
    "cancel a run that they do not host, begun or not, and it ends at once",
    Effect.gen(function* () {
      const reader = yield* RunReader
      const gone = yield* H.boot(hosting("c"))
      const begun = yield* gone.run(send("c", "c-1"))
      yield* gone.run(H.question(begun))
      const behind = yield* gone.run(send("c", "c-1"))
      yield* gone.stop
      const deaf = yield* accepting(hosting("c"))
      const [first, second] = [yield* deaf.run(send("c", "c-2")), yield* deaf.run(send("c", "c-2"))]
      yield* deaf.stop
      const a = yield* H.boot(says("a"))
      for (const run of [begun, second]) {
        yield* a.run(H.cancel(run))
        assert.strictEqual((yield* reader.head(run)).status, "cancelled")
      }
      // What came before the one that was never begun is not begun here either.
      assert.deepStrictEqual(yield* H.events(first), [])
      const next = yield* H.boot(says("c"))
      yield* TestClock.adjust(2_000)
      for (const [run, conversation] of [
        [behind, "c-1"],
        [first, "c-2"]
      ] as const) {
        const all = yield* next.run(H.ended(run, conversation))
        assert.deepInclude(H.end(all), { status: "complete", text: "by c" })
      }
      assert.strictEqual(H.count(yield* H.events(second), "RunEnded"), 1)
    })
  )
})
