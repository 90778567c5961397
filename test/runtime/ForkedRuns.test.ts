/** Forks over restarts and erasures, and what of their agents they are given: specialists, guards, memory, files, history. */
import { assert, expect, it } from "@effect/vitest"
import { Effect, Redacted, Schema } from "effect"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { agent, Guard, tool } from "troupe"
import { start } from "troupe/embed"
import { scripted } from "troupe/testing"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { AgentName, ConversationId, Tenant } from "../../src/value/Ids.ts"
import type { RunId } from "../../src/value/Ids.ts"
import type { ForkOptions } from "../../src/replay/ForkOptions.ts"
import { AgentMemory } from "../../services/AgentMemory.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { BlobStore } from "../../services/BlobStore.ts"
import { RunList } from "../../services/RunList.ts"
import { SubjectErasure } from "../../services/SubjectErasure.ts"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import * as H from "./Harness.ts"

const olga = H.person("olga", ["operator"], Tenant.make("default"))

const fork = (run: RunId, options: ForkOptions = {}, by = H.alice) =>
  Effect.map(
    AgentRuntime.use((runtime) => runtime.fork(run, options, by)),
    ({ task }) => task
  )

const forked = Effect.fnUntraced(function* (run: RunId, options: ForkOptions = {}) {
  const task = yield* fork(run, options)
  return yield* H.ended(task.id, task.conversation)
})

/** The turns of runs in the order of their first ones. */
const inTurn = () => {
  const runs: Array<RunId> = []
  return (run: RunId) => {
    if (!runs.includes(run)) runs.push(run)
    return runs.indexOf(run)
  }
}

const helper = AgentSpec.make({
  name: AgentName.make("helper"),
  description: "Helps.",
  instructions: "Help.",
  tools: ["test.note@1"]
})

it.effect(
  "a fork from a specialist's turn has the supervisor's turns, and the specialist's own before",
  () => {
    const nth = inTurn()
    const ran: Array<number> = []
    return Effect.gen(function* () {
      const run = yield* H.send("go")
      yield* H.ended(run)
      expect(ran).toEqual([1])
      const before = (yield* H.requests).length
      const events = yield* forked(run, { step: "0/1.0/2" })
      const asked = (yield* H.requests).slice(before)
      expect(asked.map(({ frame, step }) => `${frame}/${step}`)).toEqual(["0/1.0/2", "0/2"])
      expect(H.end(events)).toMatchObject({ text: "1: done" })
      expect(ran).toEqual([1])
    }).pipe(
      Effect.provide(
        H.layer({
          tools: { note: H.writes((n) => Effect.sync(() => (ran.push(n), n))) },
          agent: { tools: [], specialists: ["helper"] },
          agents: [helper],
          script: ({ frame, run, step }) =>
            frame === "0"
              ? step === 1
                ? call("ask_helper", { task: "help" })
                : text(`${nth(run)}: done`)
              : step === 1
                ? call("note", { n: 1 })
                : text(`helped ${nth(run)}`)
        })
      )
    )
  }
)

it.live("a fork goes on in another process as it was", () =>
  Effect.gen(function* () {
    const nth = inTurn()
    const ran: Array<number> = []
    const options = (isStuck: boolean): H.Options => ({
      tools: {
        // The same call twice: each has its own result.
        note: H.writes((n) => Effect.sync(() => (ran.push(n), `note ${ran.length}`)))
      },
      script: ({ run, step }) =>
        nth(run) > 0 && step === 3
          ? isStuck
            ? Effect.never
            : call("note", { n: 1 })
          : step <= 2
            ? call("note", { n: 1 })
            : text("done")
    })
    const first = yield* H.boot(options(true))
    const [run, task] = yield* first.run(
      Effect.gen(function* () {
        const run = yield* H.send("go")
        yield* H.ended(run)
        const task = yield* fork(run, { step: "0/2" })
        yield* H.until(
          (event) => event._tag === "ModelTurned" && event.step === 2,
          task.conversation
        )
        return [run, task] as const
      })
    )
    expect(ran).toEqual([1, 1])
    yield* first.stop
    const second = yield* H.boot(options(false))
    const events = yield* second.run(H.ended(task.id, task.conversation))
    expect(H.settled(events).map(({ outcome, recorded }) => [outcome, recorded])).toEqual([
      [{ _tag: "Value", json: '"note 1"' }, "0/1.0"],
      [{ _tag: "Value", json: '"note 2"' }, "0/2.0"],
      // After the last one, that one again.
      [{ _tag: "Value", json: '"note 2"' }, "0/2.0"]
    ])
    expect(ran).toEqual([1, 1])
    expect(run).not.toBe(task.id)
  }).pipe(Effect.scoped, Effect.provide(EphemeralStores.layer))
)

it.effect(
  "a run that is erased is not forked, and a fork of it fails where it has to read it again",
  () =>
    Effect.gen(function* () {
      const carl = H.person("carl", ["customer"])
      const run = yield* H.send("my name is carl", "carl:1", carl)
      yield* H.ended(run, "carl:1")
      const gone = yield* forked(run)
      expect(H.end(gone)).toMatchObject({ status: "complete" })
      const forks = yield* RunList.use((runs) => runs.list({ tenant: H.tenant, limit: 10 }))
      expect(forks.length).toBe(2)
      const report = yield* SubjectErasure.use((erasure) =>
        erasure.erase({ tenant: H.tenant, subject: "carl", by: "alice" })
      )
      expect(report.found).toEqual([])
      const left = yield* RunList.use((runs) => runs.list({ tenant: H.tenant, limit: 10 }))
      expect(JSON.stringify(left)).not.toContain("carl")
      expect(yield* Effect.flip(fork(run))).toMatchObject({ _tag: "NotForkable" })
    }).pipe(
      Effect.provide(
        H.layer({
          script: ({ transcript: [first] }) =>
            text(`re: ${first?.role === "user" ? first.text : ""}`)
        })
      )
    )
)

it.effect("a fork writes no memories", () => {
  const nth = inTurn()
  const refused: Array<unknown> = []
  return Effect.gen(function* () {
    const run = yield* H.send("remember")
    yield* H.ended(run)
    const events = yield* forked(run)
    expect(H.outcome(events)).toMatchObject({ _tag: "Value" })
    expect(refused).toEqual([undefined, "replay"])
  }).pipe(
    Effect.provide(
      H.layer({
        tools: {
          look: H.reads((n, { run }) =>
            AgentMemory.use((memory) =>
              memory.remember({ text: `seen ${n}` }, { source: "tool_call", author: "model", run })
            ).pipe(
              Effect.match({
                onFailure: (error) => void refused.push("reason" in error ? error.reason : error),
                onSuccess: () => void refused.push(undefined)
              }),
              Effect.as(n)
            )
          )
        },
        script: ({ run, step }) => (step === 1 ? call("look", { n: nth(run) }) : text("done"))
      })
    )
  )
})

it.effect("a fork is told what its run was told of the conversation", () =>
  Effect.gen(function* () {
    yield* H.ended(yield* H.send("one"))
    const run = yield* H.send("two")
    yield* H.ended(run)
    yield* H.ended(yield* H.send("three"))
    yield* forked(run, { message: "2" })
    const asked = (yield* H.requests).at(-1)
    const said = [...(asked?.history ?? []), ...(asked?.transcript ?? [])].flatMap((entry) =>
      entry.role === "tool" ? [] : [entry.text]
    )
    expect(said).toEqual(["one", "re: one", "2"])
  }).pipe(
    Effect.provide(
      H.layer({
        script: ({ transcript: [first] }) => text(`re: ${first?.role === "user" ? first.text : ""}`)
      })
    )
  )
)

it.live("a tool that needs secrets answers from the record alone", () =>
  Effect.promise(async () => {
    const ran: Array<string> = []
    const look = tool(
      {
        namespace: "shop",
        name: "look",
        description: "Looks.",
        side_effects: "read",
        input: Schema.Struct({ at: Schema.String }),
        context: Schema.Struct({ token: Schema.RedactedFromValue(Schema.String) })
      },
      ({ at }, { context }) => {
        ran.push(Redacted.value(context.token))
        return `seen ${at}`
      }
    )
    const troupe = await start({
      agents: [agent({ name: "clerk", instructions: "Look.", tools: ["look"] })],
      tools: [look],
      model: scripted(({ step, transcript: [first] }) =>
        step === 1 ? call("look", { at: first?.role === "user" ? first.text : "" }) : text("done")
      )
    })
    try {
      const { run } = await troupe.ask(
        { agent: "clerk", text: "left", context: { token: "secret-of-olga" } },
        olga
      )
      const settledOf = async (id: string) => {
        assert.strictEqual((await troupe.result(id)).status, "complete")
        return H.settled((await troupe.runEvents(id, {})).map(({ event }) => event))
      }
      const same = await settledOf((await troupe.fork(run, {}, olga)).id)
      assert.deepInclude(same[0]?.outcome, { json: '"seen left"' })
      const other = await settledOf((await troupe.fork(run, { message: "right" }, olga)).id)
      assert.include(JSON.stringify(other), "FORK_NOT_RECORDED")
      assert.deepStrictEqual(ran, ["secret-of-olga"])
    } finally {
      await troupe.stop()
    }
  })
)

it.effect("a read that asks a person is answered from the record alone", () => {
  const nth = inTurn()
  const ran: Array<number> = []
  return Effect.gen(function* () {
    const run = yield* H.send("go")
    const { approval } = yield* H.question(run)
    yield* H.decide(approval, H.approve)
    yield* H.ended(run)
    const events = yield* forked(run)
    expect(H.settled(events).map(({ outcome }) => outcome._tag)).toEqual(["Value", "Failed"])
    expect(ran).toEqual([1])
    expect(yield* H.pending).toEqual([])
  }).pipe(
    Effect.provide(
      H.layer({
        tools: {
          look: H.reads((n) => Effect.sync(() => (ran.push(n), n)), {
            permission: "ask",
            effect_description: "Looks into a safe."
          })
        },
        script: ({ run, step }) => {
          const isFork = nth(run) > 0
          return step <= (isFork ? 2 : 1) ? call("look", { n: step }) : text("done")
        }
      })
    )
  )
})

it.effect("a tool that may not be replayed is neither answered nor run", () => {
  const ran: Array<number> = []
  return Effect.gen(function* () {
    const run = yield* H.send("go")
    yield* H.ended(run)
    const events = yield* forked(run)
    expect(H.outcome(events)).toMatchObject({ error: { reason: "FORK_NOT_RECORDED" } })
    expect(ran).toEqual([1])
  }).pipe(
    Effect.provide(
      H.layer({
        tools: {
          look: H.reads((n) => Effect.sync(() => (ran.push(n), n)), { replay_policy: "fail-loud" })
        },
        script: ({ step }) => (step === 1 ? call("look", { n: 1 }) : text("done"))
      })
    )
  )
})

it.live("the turns that a fork is given cost nothing, and guards say of them what they said", () =>
  Effect.promise(async () => {
    const judged: Array<string> = []
    const usage = { input_tokens: 1_000_000, output_tokens: 0 }
    const polite = Guard.make({
      name: "polite",
      on: ["message", "answer"],
      judge: ({ on, text }) => {
        judged.push(`${on}: ${text}`)
        return on === "message"
          ? { verdict: "change", text: `${text}, please` }
          : { verdict: "pass" }
      }
    })
    const look = tool(
      { namespace: "shop", name: "look", description: "Looks.", side_effects: "read" },
      () => "seen"
    )
    const troupe = await start({
      agents: [
        agent({
          name: "clerk",
          instructions: "Look.",
          tools: ["look"],
          model: "small",
          guards: [polite]
        })
      ],
      tools: [look],
      prices: {
        currency: "EUR",
        version: "1",
        prices: [
          { model: "small", input: "1", output: "1" },
          { model: "large", input: "10", output: "10" }
        ]
      },
      model: scripted(({ step }) => ({
        ...(step === 1 ? call("look") : text("It is here.")),
        usage
      }))
    })
    try {
      const { run } = await troupe.ask({ agent: "clerk", text: "look" }, olga)
      await troupe.result(run)
      assert.deepStrictEqual(judged.splice(0), ["message: look", "answer: It is here."])
      assert.deepInclude((await troupe.run(run)).cost, { amount: "2" })
      const { id } = await troupe.fork(run, { step: "0/2", model: "large" }, olga)
      assert.strictEqual((await troupe.result(id)).status, "complete")
      assert.deepInclude((await troupe.run(id)).cost, { amount: "10", unpriced_turns: 0 })
      assert.deepStrictEqual(judged, ["answer: It is here."])
      const verdicts = (await troupe.runEvents(id, {})).flatMap(({ event }) =>
        event._tag === "Guarded" ? [[event.on, event.verdict, event.text]] : []
      )
      assert.deepStrictEqual(verdicts, [
        ["message", "change", "look, please"],
        ["answer", "pass", undefined]
      ])
    } finally {
      await troupe.stop()
    }
  })
)

it.effect("a fork has the files of its run, which stay for it when that one's go", () =>
  Effect.gen(function* () {
    const image = { type: "image", media_type: "image/png" } as const
    const conversation = ConversationId.make("c-1")
    const parts = [{ ...image, data: new TextEncoder().encode("sent") }]
    const { task } = yield* AgentRuntime.use((runtime) =>
      runtime.send({ agent: H.agentName, conversation, text: "", parts }, H.alice)
    )
    yield* H.ended(task.id)
    const made = yield* fork(task.id, { step: "0/2" })
    const events = yield* H.ended(made.id, made.conversation)
    const [settled] = H.settled(events)
    expect(settled?.files).toMatchObject([{ media_type: "image/png", size: 5 }])
    const { release, heldBy } = yield* BlobStore
    yield* release(H.tenant, [task.id])
    const digests = [task.parts?.[0], settled?.files?.[0]].map((file) =>
      file !== undefined && "digest" in file ? file.digest : ""
    )
    const held = yield* Effect.forEach(digests, (digest) =>
      heldBy(H.tenant, made.conversation, digest)
    )
    expect(held.map((of) => of.map((each) => each.as))).toEqual([["message"], ["result"]])
  }).pipe(
    Effect.provide(
      H.layer({
        tools: {
          draw: H.reads((_, { attach }) =>
            Effect.as(
              Effect.promise(() =>
                attach({
                  type: "image",
                  media_type: "image/png",
                  data: new TextEncoder().encode("drawn")
                })
              ),
              "ok"
            )
          )
        },
        script: ({ step }) => (step === 1 ? call("draw", { n: 1 }) : text("done"))
      })
    )
  )
)
