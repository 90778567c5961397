/**
 * Runs that need more of a process than their agent, as while a new version is rolled out: a specialist that is at work,
 * the version with which they were accepted, the tool that a lost call was sent to.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Scope } from "effect"
import { TestClock } from "effect/testing"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { AgentName } from "../../src/value/Ids.ts"
import type { RunId } from "../../src/value/Ids.ts"
import type { CallContext } from "../../src/tool/GovernedTool.ts"
import type { RunStatus } from "../../src/run/RunState.ts"
import { RunReader } from "../../services/RunReader.ts"
import type { RunPorts } from "../../services/Stores.ts"
import type { Stores } from "../../services/Stores.ts"
import type { EphemeralStore } from "../../layers/ephemeral/EphemeralStore.ts"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as H from "./Harness.ts"

const config = { lease_ms: 1_000, sweep_ms: 500, drain_ms: 0, park_ms: 100 }
const scan = AgentName.make("scan")
const hangs = H.reads(() => Effect.never)
const reads = H.reads((n) => Effect.succeed(n))

const test = <A, E>(
  title: string,
  body: Effect.Effect<A, E, EphemeralStore | Stores | Scope.Scope>
) => it.effect(title, () => Effect.provide(Effect.scoped(body), EphemeralStores.layer))

/** The version with a specialist, which reads. */
const first = (look: H.TestTool, more: Partial<H.Options> = {}): H.Options => ({
  tools: { look },
  agent: { tools: [], specialists: [scan] },
  agents: [AgentSpec.make({ name: scan, instructions: "Scan.", tools: ["test.look@1"] })],
  script: ({ frame, transcript }) =>
    frame === "0"
      ? transcript.length === 1
        ? call("ask_scan", { task: "find out" })
        : text("done")
      : transcript.length === 1
        ? call("look", { n: 1 })
        : text("found"),
  config,
  ...more
})

/** The version without it. */
const second: H.Options = { script: () => text("by the second"), config }

const statusOf = (run: RunId): Effect.Effect<RunStatus, unknown, RunPorts> =>
  Effect.map(
    RunReader.use((reader) => reader.head(run)),
    ({ status }) => status
  )

/** A run whose process stopped after this event. */
const left = Effect.fnUntraced(function* (
  options: H.Options,
  event: "ModelTurned" | "FrameOpened"
) {
  const gone = yield* H.boot(options)
  const run = yield* gone.run(H.send("hello"))
  yield* gone.run(H.happened(run, event))
  yield* gone.stop
  return run
})

describe("a run whose specialist is at work", () => {
  test(
    "waits for a process that hosts both, is listed, and delays no other conversation",
    Effect.gen(function* () {
      const run = yield* left(first(hangs), "FrameOpened")
      const next = yield* H.boot(second)
      yield* TestClock.adjust(60_000)
      const before = yield* H.events(run)
      assert.strictEqual(H.count(before, "RunStopping"), 0)
      const [work, ...more] = yield* next.run(H.unhosted)
      assert.deepInclude(work, { agent: scan, tenant: H.tenant, count: 1 })
      assert.deepStrictEqual(more, [])
      const behind = yield* next.run(H.send("and then?"))
      const other = yield* next.run(H.send("hello", "c-2"))
      yield* TestClock.adjust(60_000)
      assert.deepInclude(H.end(yield* H.events(other)), { text: "by the second" })
      assert.strictEqual(H.count(yield* H.events(behind), "ModelTurned"), 0)
      // Found to be lacking once, and never again.
      assert.deepStrictEqual(yield* H.events(run), before)
      assert.isAtMost(H.count(before, "RunClaimed"), 2)
      const host = yield* H.boot(first(reads))
      yield* TestClock.adjust(2_000)
      const all = yield* host.run(H.ended(run))
      assert.deepInclude(H.end(all), { status: "complete", text: "done" })
      assert.deepStrictEqual(yield* next.run(H.unhosted), [])
      assert.strictEqual((yield* host.run(H.ended(behind))).at(-1)?._tag, "RunEnded")
    })
  )

  test(
    "is taken at once by a living process that hosts both",
    Effect.gen(function* () {
      const gone = yield* H.boot(first(hangs))
      const run = yield* gone.run(H.send("hello"))
      yield* gone.run(H.happened(run, "FrameOpened"))
      const [next, host] = [yield* H.boot(second), yield* H.boot(first(reads))]
      yield* gone.stop
      yield* TestClock.adjust(5_000)
      const all = yield* host.run(H.ended(run))
      assert.deepInclude(H.end(all), { status: "complete", text: "done" })
      yield* next.stop
    })
  )

  test(
    "is cancelled by a process that does not host it, and is over at once",
    Effect.gen(function* () {
      const run = yield* left(first(hangs), "FrameOpened")
      const next = yield* H.boot(second)
      yield* TestClock.adjust(5_000)
      assert.strictEqual((yield* next.run(H.unhosted)).length, 1)
      yield* next.run(H.cancel(run))
      yield* TestClock.adjust(2_000)
      assert.strictEqual(yield* statusOf(run), "cancelled")
      assert.deepStrictEqual(yield* next.run(H.unhosted), [])
    })
  )

  test(
    "continues in a process without the specialist once the specialist has answered",
    Effect.gen(function* () {
      const gone = yield* H.boot(
        first(reads, {
          agent: { tools: ["test.pay@1"], specialists: [scan] },
          tools: { look: reads, pay: H.asks((n) => Effect.succeed(n)) },
          script: ({ frame, transcript }) =>
            frame !== "0"
              ? text("found")
              : transcript.length === 1
                ? call("ask_scan", { task: "find out" })
                : call("pay", { n: 1 })
        })
      )
      const run = yield* gone.run(H.send("hello"))
      const { approval } = yield* gone.run(H.question(run))
      yield* gone.stop
      const next = yield* H.boot({
        ...second,
        tools: { pay: H.asks((n) => Effect.succeed(n)) }
      })
      yield* next.run(H.decide(approval, H.approve))
      yield* TestClock.adjust(2_000)
      const all = yield* next.run(H.ended(run))
      assert.deepInclude(H.end(all), { status: "complete", text: "by the second" })
    })
  )
})

describe("a run of an agent that has changed", () => {
  const version = (instructions: string, look: H.TestTool): H.Options => ({
    tools: { look },
    agent: { instructions, on_change: "wait" },
    script: ({ transcript }) =>
      transcript.length === 1 ? call("look", { n: 1 }) : text(instructions),
    config
  })

  test(
    "waits for the version with which it was accepted, where its agent says so",
    Effect.gen(function* () {
      const run = yield* left(version("One.", hangs), "ModelTurned")
      const next = yield* H.boot(version("Two.", reads))
      const other = yield* next.run(H.send("hello", "c-2"))
      yield* TestClock.adjust(60_000)
      assert.deepInclude(H.end(yield* H.events(other)), { text: "Two." })
      const [work, ...more] = yield* next.run(H.unhosted)
      assert.deepInclude(work, { agent: H.agentName, count: 1 })
      assert.match(work!.version!, /^[0-9a-f]{64}\.[0-9a-f]{64}$/)
      assert.deepStrictEqual(more, [])
      const same = yield* H.boot(version("One.", reads))
      yield* TestClock.adjust(2_000)
      const all = yield* same.run(H.ended(run))
      assert.deepInclude(H.end(all), { status: "complete", text: "One." })
    })
  )

  test(
    "is cancelled by an operator in a process of another version",
    Effect.gen(function* () {
      const run = yield* left(version("One.", hangs), "ModelTurned")
      const next = yield* H.boot(version("Two.", reads))
      yield* TestClock.adjust(5_000)
      yield* next.run(H.cancel(run))
      yield* TestClock.adjust(2_000)
      assert.strictEqual(yield* statusOf(run), "cancelled")
    })
  )
})

describe("a run of an agent that must not change", () => {
  const asks = { pay: H.asks((n) => Effect.succeed(n)) }
  const version = (
    instructions: string,
    tools: Readonly<Record<string, H.TestTool>>
  ): H.Options => ({
    tools,
    agent: { instructions, tools: ["test.pay@1"], on_change: "fail" },
    script: ({ transcript }) => (transcript.length === 1 ? call("pay", { n: 1 }) : text("done")),
    config
  })

  for (const [changed, next] of [
    ["its definition", version("Two.", asks)],
    [
      "its tools",
      version("One.", { pay: H.asks(() => Effect.succeed(0), { effect_description: "Pays." }) })
    ]
  ] as const) {
    test(
      `fails where ${changed} did, and operators are told what`,
      Effect.gen(function* () {
        const gone = yield* H.boot(version("One.", asks))
        const run = yield* gone.run(H.send("hello"))
        const { approval } = yield* gone.run(H.question(run))
        yield* gone.stop
        const now = yield* H.boot(next)
        yield* now.run(H.decide(approval, H.approve))
        yield* TestClock.adjust(2_000)
        const all = yield* now.run(H.ended(run))
        assert.deepInclude(H.end(all), { status: "failed", reason: "definition_changed" })
        const stopping = all.find((event) => event._tag === "RunStopping")
        assert.strictEqual(
          stopping?.message,
          `the agent ${H.agentName} has changed since the run was accepted: ${changed}`
        )
      })
    )
  }
})

describe("a call that was lost on its way to a tool", () => {
  const keys: Array<string | undefined> = []
  const paying = (version: string, body: H.Body): H.Options => ({
    tools: { pay: H.writes(body, { version, idempotent: true }) },
    agent: { tools: [`test.pay@${version}`] },
    script: ({ transcript }) =>
      transcript.length === 1 ? call("pay", { n: 1 }) : text(`by ${version}`),
    config
  })
  const pays = (_: number, { key }: CallContext) => Effect.sync(() => keys.push(key))

  test(
    "is sent again only to the tool's version that it was sent to",
    Effect.gen(function* () {
      const gone = yield* H.boot(paying("1", () => Effect.never))
      const run = yield* gone.run(H.send("hello"))
      yield* gone.run(H.happened(run, "CallDispatched"))
      yield* gone.stop
      const next = yield* H.boot(paying("2", pays))
      yield* TestClock.adjust(60_000)
      assert.deepStrictEqual(keys, [])
      const [work] = yield* next.run(H.unhosted)
      assert.deepInclude(work, { agent: H.agentName, tool: "test.pay@1", count: 1 })
      const same = yield* H.boot(paying("1", pays))
      yield* TestClock.adjust(2_000)
      const all = yield* same.run(H.ended(run))
      assert.deepInclude(H.end(all), { status: "complete", text: "by 1" })
      const dispatched = all.filter((event) => event._tag === "CallDispatched")
      assert.deepStrictEqual(
        dispatched.map(({ tool }) => tool),
        ["test.pay@1", "test.pay@1"]
      )
      assert.deepStrictEqual(keys, [dispatched[0]!.key])
    })
  )
})
