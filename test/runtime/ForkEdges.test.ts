/** What a fork is not given: refusals of the gate, ends of a stop, verdicts and memories of another message. */
import { assert, expect, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { agent } from "troupe"
import { start } from "troupe/embed"
import { scripted } from "troupe/testing"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import { EphemeralStore } from "../../layers/ephemeral/EphemeralStore.ts"
import * as Guard from "../../src/agent/Guard.ts"
import { DeclaredGuards } from "../../services/AgentDirectory.ts"
import { AgentMemory } from "../../services/AgentMemory.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { MemorySpec } from "../../src/memory/MemoryAnchors.ts"
import { originOfCall } from "../../src/memory/MemoryRow.ts"
import type { RunEvent } from "../../src/run/RunEvent.ts"
import type { ForkOptions } from "../../src/replay/ForkOptions.ts"
import type { RunId } from "../../src/value/Ids.ts"
import { AgentName, Tenant } from "../../src/value/Ids.ts"
import * as H from "./Harness.ts"

const olga = H.person("olga", ["operator"], Tenant.make("default"))

const fork = (run: RunId, options: ForkOptions = {}) =>
  Effect.map(
    AgentRuntime.use((runtime) => runtime.fork(run, options, H.alice)),
    ({ task }) => task
  )

const forked = Effect.fnUntraced(function* (run: RunId, options: ForkOptions = {}) {
  const task = yield* fork(run, options)
  return yield* H.ended(task.id, task.conversation)
})

it.effect("what the gate refused is judged anew, and what a stop ended has no result", () => {
  const ran: Array<string> = []
  return Effect.gen(function* () {
    const denied = yield* H.send("look")
    yield* H.ended(denied)
    expect(H.outcome(yield* H.events(denied))).toMatchObject({ _tag: "Failed" })
    const allowed = yield* forked(denied, { policy: {} })
    expect(H.outcome(allowed)).toEqual({ _tag: "Value", json: "1" })
    const stopped = yield* H.send("pay", "c-2")
    yield* H.question(stopped, 1, "c-2")
    yield* H.cancel(stopped)
    expect(H.outcome(yield* H.ended(stopped, "c-2"))).toEqual({ _tag: "Cancelled" })
    expect(H.outcome(yield* forked(stopped))).toMatchObject({
      error: { reason: "FORK_NOT_RECORDED" }
    })
    expect(ran).toEqual(["look"])
  }).pipe(
    Effect.provide(
      H.layer({
        tools: {
          look: H.reads((n) => Effect.sync(() => (ran.push("look"), n))),
          pay: H.asks((n) => Effect.sync(() => (ran.push("pay"), n)))
        },
        policy: { rules: [{ pattern: "look", permission: "deny" }] } as never,
        script: ({ step, transcript: [first] }) =>
          step > 1 ? text("done") : call(first?.role === "user" ? first.text : "", { n: 1 })
      })
    )
  )
})

it.effect(
  "a fork is told what its run was told of memory, and of another message what fits that",
  () => {
    const facts = ["Olga of the north prefers tea", "Paul has a red chair"]
    const recalled = (events: ReadonlyArray<RunEvent>) =>
      events.flatMap((event) =>
        event._tag === "MemoryRecalled" ? event.lines.map((line) => line.text) : []
      )
    return Effect.gen(function* () {
      const keep = (n: number) => Effect.flatMap(H.send(`keep ${n}`), (run) => H.ended(run))
      yield* keep(0)
      const run = yield* H.send("Olga's tea in the red chair", "c-2")
      expect(recalled(yield* H.ended(run, "c-2"))).toEqual([facts[0]])
      yield* keep(1)
      expect(recalled(yield* forked(run))).toEqual([facts[0]])
      expect(recalled(yield* forked(run, { step: "0/2" }))).toEqual([facts[0]])
      expect(recalled(yield* forked(run, { message: "the red chair" }))).toEqual([facts[1]])
    }).pipe(
      Effect.provide(
        H.layer({
          agent: { memory: MemorySpec.make({}) },
          tools: {
            keep: H.writes((n, context) =>
              AgentMemory.use((memory) =>
                Effect.as(
                  Effect.orDie(
                    memory.remember(
                      { text: facts[n] ?? "", tier: "persistent" },
                      originOfCall(context)
                    )
                  ),
                  n
                )
              )
            )
          },
          script: ({ transcript }) => {
            const [first] = transcript
            const [name = "", n] = first?.role === "user" ? first.text.split(" ") : []
            return name === "keep" && transcript.length === 1
              ? call("keep", { n: Number(n) })
              : text("ok")
          }
        })
      )
    )
  }
)

it.live("a fork has the form of the answer of its run, and what was imported is not forked", () =>
  Effect.promise(async () => {
    const seen: Array<unknown> = []
    const troupe = await start({
      agents: [agent({ name: "clerk", instructions: "Help.", tools: [] })],
      model: scripted(({ answer_schema }) => {
        seen.push(answer_schema)
        return text('{"n":1}')
      })
    })
    try {
      const answer = Schema.Struct({ n: Schema.Int })
      const { run } = await troupe.ask({ agent: "clerk", text: "count", answer }, olga)
      await troupe.result(run)
      const made = await troupe.fork(run, {}, olga)
      await troupe.result(made.id)
      assert.deepStrictEqual(seen[1], seen[0])
      assert.isDefined(seen[0])
      const history = {
        agent: "clerk",
        format: "chat-completions",
        messages: [
          { role: "user", content: "hello" },
          { role: "assistant", content: "hi" }
        ]
      } as const
      await troupe.importHistory("old", history, olga)
      const [imported] = await troupe.runs({})
      const refused = await troupe
        .fork(imported?.id ?? "", {}, olga)
        .catch((error) => String(error))
      assert.include(refused, "imported")
    } finally {
      await troupe.stop()
    }
  })
)

it.live("a fork whose run is gone meanwhile fails, and says so", () =>
  Effect.gen(function* () {
    const runs: Array<RunId> = []
    const options: H.Options = {
      script: ({ run }) => {
        if (!runs.includes(run)) runs.push(run)
        return runs.indexOf(run) === 0 ? text("hi") : Effect.never
      }
    }
    const first = yield* H.boot(options)
    const [run, task] = yield* first.run(
      Effect.gen(function* () {
        const run = yield* H.send("hello")
        yield* H.ended(run)
        const task = yield* fork(run)
        yield* H.until((event) => event._tag === "RunClaimed", task.conversation)
        return [run, task] as const
      })
    )
    yield* first.stop
    // As retention removes it.
    const { runs: stored } = yield* EphemeralStore
    stored.delete(run)
    const second = yield* H.boot(options)
    const events = yield* second.run(H.ended(task.id, task.conversation))
    expect(H.end(events)).toMatchObject({ status: "failed", reason: "fork_source" })
    expect(events.find((event) => event._tag === "RunStopping")).toMatchObject({
      message: `this is a fork of run ${run}, which cannot be read: its events are not there (any more)`
    })
  }).pipe(Effect.scoped, Effect.provide(EphemeralStores.layer))
)

it.live(
  "a fork is for whom its run was, and those who handed that one over answer for it too",
  () =>
    Effect.promise(async () => {
      const customer = H.person("carl", ["customer"], Tenant.make("default"))
      const troupe = await start({
        agents: [
          agent({ name: "triage", instructions: "Hand it over.", handoffs: ["billing"] }),
          agent({ name: "billing", instructions: "Help." })
        ],
        customer_agents: [AgentName.make("triage"), AgentName.make("billing")],
        model: scripted({
          triage: [call("transfer_to_billing", { note: "invoice 7" })],
          billing: [text("It is paid."), text("On Monday."), text("On Tuesday.")]
        })
      })
      try {
        const { conversation } = await troupe.ask(
          { agent: "triage", text: "Is it paid?" },
          customer
        )
        const { run } = await troupe.ask({ conversation, text: "When?" }, customer)
        const made = await troupe.fork(run, {}, olga)
        await troupe.result(made.id)
        const acceptances = [run, made.id].map(async (id) =>
          (await troupe.runEvents(id, {})).flatMap(({ event }) =>
            event._tag === "RunAccepted" ? [event.handed_by] : []
          )
        )
        expect(await Promise.all(acceptances)).toEqual([[["triage"]], [["triage"]]])
        const all = await troupe.conversations({}, olga)
        const theirs = all.find(({ id }) => id === made.conversation)
        assert.strictEqual(theirs?.initiated_by, "customer")
      } finally {
        await troupe.stop()
      }
    })
)

it.effect(
  "a provider's tools are not offered to a fork, which could not take back what they do",
  () =>
    Effect.gen(function* () {
      const run = yield* H.send("hello")
      yield* H.ended(run)
      yield* forked(run)
      const offered = (yield* H.requests).map(({ provider_tools = [] }) => provider_tools.length)
      expect(offered).toEqual([1, 0])
    }).pipe(
      Effect.provide(
        H.layer({ agent: { provider_tools: ["web_search"] }, script: () => text("done") })
      )
    )
)

it.live("a guard that an agent has since judges what the fork's own turns read and say", () =>
  Effect.gen(function* () {
    const guard = Guard.make({
      name: "since",
      on: ["message", "result", "answer"],
      judge: () => ({ verdict: "pass" })
    })
    const options: H.Options = {
      tools: { look: H.reads((n) => Effect.succeed(n)) },
      script: ({ step }) => (step > 2 ? text("done") : call("look", { n: step }))
    }
    const first = yield* H.boot(options)
    const run = yield* first.run(Effect.tap(H.send("hello"), (run) => H.ended(run)))
    yield* first.stop
    const second = yield* Effect.provideService(H.boot(options), DeclaredGuards, [guard])
    const events = yield* second.run(forked(run, { step: "0/2" }))
    const judged = events.flatMap((event) =>
      event._tag === "Guarded" ? [`${event.on} ${event.step}`] : []
    )
    expect(judged).toEqual(["message 2", "result 2", "result 3", "answer 3"])
  }).pipe(Effect.scoped, Effect.provide(EphemeralStores.layer))
)
