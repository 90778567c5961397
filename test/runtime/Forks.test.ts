import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import type { Turn } from "../../src/run/RunDecider.ts"
import type { ForkOptions } from "../../src/replay/ForkOptions.ts"
import type { RunEvent } from "../../src/run/RunEvent.ts"
import type { Principal } from "../../src/principal/Principal.ts"
import type { RunId } from "../../src/value/Ids.ts"
import { Tenant } from "../../src/value/Ids.ts"
import type { ModelRequest } from "../../services/ModelGateway.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import * as H from "./Harness.ts"

/** What a model asks to pay. */
let asksFor = 2

/** Bodies that ran. */
const ran: Array<string> = []

type Script = (request: ModelRequest, step: number) => Turn

/** Looks, pays and says so. */
const first: Script = (_, step) =>
  step === 1 ? call("look", { n: 1 }) : step === 2 ? call("pay", { n: 2 }) : text("It is paid.")

/** The run's own turns, and behind the first run those of `then`. */
const scene = (then: Script, more: Partial<H.Options> = {}) => {
  const runs: Array<RunId> = []
  return H.layer({
    tools: {
      look: H.reads((n) => Effect.sync(() => (ran.push(`look ${n}`), `seen ${n}`))),
      pay: H.asks((n) => Effect.sync(() => (ran.push(`pay ${n}`), { paid: n }))),
      note: H.writes((n) => Effect.sync(() => (ran.push(`note ${n}`), "noted")))
    },
    script: (request) => {
      if (!runs.includes(request.run)) runs.push(request.run)
      return (runs[0] === request.run ? first : then)(request, request.step)
    },
    ...more
  })
}

/** The run that is forked: it has looked, paid with an approval, and is over. */
const paid = Effect.gen(function* () {
  ran.length = 0
  const run = yield* H.send("pay two")
  const { approval } = yield* H.question(run)
  yield* H.decide(approval, H.approve)
  yield* H.ended(run)
  expect(ran.splice(0)).toEqual(["look 1", "pay 2"])
  return run
})

const fork = (run: RunId, options: ForkOptions = {}, by = H.alice) =>
  Effect.map(
    AgentRuntime.use((runtime) => runtime.fork(run, options, by)),
    ({ task }) => task
  )

/** The events of the fork, which is over. */
const forked = Effect.fnUntraced(function* (run: RunId, options: ForkOptions = {}) {
  const task = yield* fork(run, options)
  return yield* H.ended(task.id, task.conversation)
})

const texts = (events: ReadonlyArray<RunEvent>) =>
  events.flatMap((event) => (event._tag === "ModelTurned" ? [event.text] : []))

const tags = (events: ReadonlyArray<RunEvent>) => events.map(({ _tag }) => _tag)

it.effect("a fork from a turn is given the turns before, and asks the model from there on", () =>
  Effect.gen(function* () {
    const run = yield* paid
    const before = (yield* H.requests).length
    const recorded = yield* H.events(run)
    const events = yield* forked(run, { step: "0/3" })
    expect(H.end(events)).toMatchObject({ status: "complete", text: "Paid, in other words." })
    const asked = (yield* H.requests).slice(before)
    expect(asked.map(({ step }) => step)).toEqual([3])
    expect(H.resultsShown(asked[0])).toEqual(['"seen 1"', '{"paid":2}'])
    // Nothing was done, dispatched or asked.
    expect(ran).toEqual([])
    expect(tags(events)).not.toContain("CallDispatched")
    expect(tags(events)).not.toContain("ApprovalRequested")
    expect(H.settled(events).map(({ outcome, recorded }) => [outcome, recorded])).toEqual([
      [{ _tag: "Value", json: '"seen 1"' }, "0/1.0"],
      [{ _tag: "Value", json: '{"paid":2}' }, "0/2.0"]
    ])
    // The run that was forked is as it was.
    expect(yield* H.events(run)).toEqual(recorded)
  }).pipe(Effect.provide(scene(() => text("Paid, in other words."))))
)

it.effect(
  "a write that was not recorded is refused, one that was is answered, also another turn's",
  () =>
    Effect.gen(function* () {
      const run = yield* paid
      const events = yield* forked(run)
      expect(ran).toEqual(["look 5"])
      const [other, same, read, denied] = H.settled(events)
      expect(other?.outcome).toMatchObject({
        _tag: "Failed",
        error: { class: "ToolPolicyError", reason: "FORK_NOT_RECORDED" }
      })
      expect(same).toMatchObject({ outcome: { json: '{"paid":2}' }, recorded: "0/2.0" })
      expect(read?.outcome).toEqual({ _tag: "Value", json: '"seen 5"' })
      expect(read).not.toHaveProperty("recorded")
      expect(denied?.outcome).toMatchObject({ error: { reason: "FORK_NOT_RECORDED" } })
      expect(yield* H.pending).toEqual([])
      expect(tags(events)).not.toContain("CallDispatched")
    }).pipe(
      Effect.provide(
        scene((_, step) =>
          step === 1
            ? call("pay", { n: 9 })
            : step === 2
              ? call("pay", { n: 2 })
              : step === 3
                ? call("look", { n: 5 })
                : step === 4
                  ? call("note", { n: 1 })
                  : text("done")
        )
      )
    )
)

it.effect("another message goes to the model from the first turn, and none behind it", () =>
  Effect.gen(function* () {
    const run = yield* paid
    const late = yield* Effect.flip(fork(run, { step: "0/2", message: "pay three" }))
    expect(late).toMatchObject({ _tag: "InvalidInput", field: "message" })
    const task = yield* fork(run, { message: "pay three", model: "other" })
    expect(task).toMatchObject({
      message: "pay three",
      by: "alice",
      forked: {
        sender: "alice",
        conversation: "c-1",
        run,
        step: "0/1",
        edited: true,
        model: "other"
      }
    })
    const events = yield* H.ended(task.id, task.conversation)
    expect(texts(events)).toEqual(["pay three by other"])
  }).pipe(
    Effect.provide(
      scene(({ model, transcript: [entry] }) =>
        text(`${entry?.role === "user" ? entry.text : ""} by ${model}`)
      )
    )
  )
)

it.effect("another policy judges the calls of a fork, and what it denies stays denied", () =>
  Effect.gen(function* () {
    const run = yield* paid
    const policy = { rules: [{ pattern: "pay", permission: "deny" }] }
    const events = yield* forked(run, { step: "0/3", policy })
    expect(H.settled(events).map(({ outcome }) => outcome._tag)).toEqual(["Value", "Failed"])
    for (const wrong of [
      { rules: [{ pattern: "p*y", permission: "deny" }] },
      { mode: "sometimes" },
      { rules: [{ pattern: "pay", permission: "deny", roles: ["nobody"] }] },
      { version: "x".repeat(70_000) }
    ]) {
      const refused = yield* Effect.flip(fork(run, { policy: wrong }))
      expect(refused).toMatchObject({
        _tag: "InvalidInput",
        field: expect.stringMatching(/policy$/)
      })
    }
  }).pipe(Effect.provide(scene(() => text("so be it"))))
)

const carl = H.person("carl", ["customer"])
const olga = H.person("olga", ["operator"])
const vera = H.person("vera", ["viewer"])

/** A run of somebody's, which is over. */
const runOf = Effect.fnUntraced(function* (by: Principal, conversation = `of-${by.id}`) {
  const run = yield* H.send("hello", conversation, by)
  yield* H.ended(run, conversation, by.roles.includes("customer") ? H.alice : by)
  return run
})

it.effect(
  "operators fork what customers sent, and of colleagues what their own roles would let them",
  () =>
    Effect.gen(function* () {
      const asked: Array<unknown> = []
      yield* Effect.gen(function* () {
        const theirs = yield* H.send("look", `${carl.id}:1`, carl)
        yield* H.ended(theirs, `${carl.id}:1`)
        const task = yield* fork(theirs, {}, olga)
        expect(task).toMatchObject({ by: "olga", roles: ["customer"], forked: { sender: "carl" } })
        const events = yield* H.ended(task.id, task.conversation)
        expect(H.outcome(events)).toMatchObject({ _tag: "Value" })
        // Recorded; what is not recorded is read for the sender.
        expect(asked).toEqual(["carl 1", "carl 2"])
        // The customer has no part in it.
        const runtime = yield* AgentRuntime
        const cancelled = yield* Effect.flip(runtime.interrupt(task.id, carl, "mine"))
        expect(cancelled).toMatchObject({ _tag: "RunNotFound" })
        const read = yield* Effect.flip(runtime.currentAgent(task.conversation, carl))
        expect(read).toMatchObject({ _tag: "ConversationNotFound" })
        const admins = yield* runOf(H.alice)
        expect(yield* Effect.flip(fork(admins, {}, olga))).toMatchObject({
          _tag: "NotEntitled",
          needs: ["admin", "admin"]
        })
        for (const by of [vera, carl]) {
          expect(yield* Effect.flip(fork(theirs, {}, by))).toMatchObject({ _tag: "NotEntitled" })
        }
        const foreign = H.person("boss", ["admin"], Tenant.make("other"))
        expect(yield* Effect.flip(fork(theirs, {}, foreign))).toMatchObject({ _tag: "RunNotFound" })
        expect(yield* Effect.flip(fork(task.id, {}, olga))).toMatchObject({
          _tag: "NotForkable",
          reason: `it is a fork itself; fork run ${theirs}`
        })
      }).pipe(
        Effect.provide(
          H.layer({
            tools: {
              look: H.reads((n, { principal }) =>
                Effect.sync(() => (asked.push(`${principal} ${n}`), n))
              )
            },
            script: ({ run: _run, step, transcript: [message] }) => {
              const isLook = message?.role === "user" && message.text === "look"
              return isLook && step === 1
                ? call("look", { n: asked.length === 0 ? 1 : 2 })
                : text("so")
            }
          })
        )
      )
    })
)

it.effect("a fork begins at a turn that the run has taken, or would take next", () =>
  Effect.gen(function* () {
    const run = yield* paid
    for (const step of ["0/5", "0/1.0/1", "0/0", "1", "0/3/", "../1"]) {
      expect(yield* Effect.flip(fork(run, { step }))).toMatchObject({ _tag: "InvalidInput" })
    }
    // The run has ended with its third turn: a fork asks once more behind it, and is over at once.
    const events = yield* forked(run, { step: "0/4" })
    expect(H.end(events)).toMatchObject({ text: "It is paid." })
    expect(yield* Effect.flip(fork(run, { message: "" }))).toMatchObject({ _tag: "InvalidInput" })
    const large = { message: "é".repeat(500_001) }
    expect(yield* Effect.flip(fork(run, large))).toMatchObject({ _tag: "MessageTooLarge" })
  }).pipe(Effect.provide(scene(() => text("never"))))
)

it.effect("a fork with a key is made once, and the key with other changes is refused", () =>
  Effect.gen(function* () {
    const run = yield* paid
    const options = { step: "0/2", idempotency_key: "k" }
    const [one, two] = yield* Effect.all([fork(run, options), fork(run, options)], {
      concurrency: 2
    })
    expect(two.id).toBe(one.id)
    yield* H.ended(one.id, one.conversation)
    expect((yield* fork(run, options)).id).toBe(one.id)
    expect(yield* Effect.flip(fork(run, { ...options, model: "other" }))).toMatchObject({
      _tag: "IdempotencyConflict"
    })
    const others = yield* fork(run, options, H.person("root", ["admin"]))
    expect(others.id).not.toBe(one.id)
    yield* H.ended(others.id, others.conversation)
  }).pipe(Effect.provide(scene(() => text("again"))))
)

it.effect("a run that waits for a person is forked without its question, and goes on waiting", () =>
  Effect.gen(function* () {
    ran.length = 0
    const run = yield* H.send("pay two")
    const { approval } = yield* H.question(run)
    const before = yield* H.events(run)
    const events = yield* forked(run, { step: "0/2" })
    expect(H.settled(events).map(({ outcome }) => outcome._tag)).toEqual(["Value", "Failed"])
    expect(H.end(events)).toMatchObject({ text: "I may not." })
    expect(yield* H.events(run)).toEqual(before)
    yield* H.decide(approval, H.approve)
    yield* H.ended(run)
    expect(ran).toEqual(["look 1", "pay 2"])
  }).pipe(
    Effect.provide(scene((_, step) => (step === 2 ? call("pay", { n: 2 }) : text("I may not."))))
  )
)

it.effect("what a person answered stands: a denial, another call, other arguments", () =>
  Effect.gen(function* () {
    ran.length = 0
    const run = yield* H.send("pay two")
    const first = yield* H.question(run)
    yield* H.decide(first.approval, { _tag: "Modify", arguments: { n: 3 } })
    yield* H.ended(run)
    expect(ran.splice(0)).toEqual(["look 1", "pay 3"])
    // The model asks for what it asked then, or for what ran.
    for (const n of [2, 3]) {
      asksFor = n
      const events = yield* forked(run, { step: "0/2" })
      expect(H.settled(events).at(-1)?.outcome).toEqual({ _tag: "Value", json: '{"paid":3}' })
    }
    asksFor = 2
    const denied = yield* H.send("pay two", "c-2")
    const second = yield* H.question(denied, 1, "c-2")
    yield* H.decide(second.approval, H.deny)
    yield* H.ended(denied, "c-2")
    const events = yield* forked(denied, { step: "0/2" })
    expect(H.settled(events).at(-1)?.outcome).toMatchObject({ _tag: "Denied", reason: "not today" })
    expect(ran).toEqual(["look 1"])
  }).pipe(
    Effect.provide(
      H.layer({
        tools: {
          look: H.reads((n) => Effect.sync(() => (ran.push(`look ${n}`), `seen ${n}`))),
          pay: H.asks((n) => Effect.sync(() => (ran.push(`pay ${n}`), { paid: n })))
        },
        script: ({ step }) =>
          step === 1
            ? call("look", { n: 1 })
            : step === 2
              ? call("pay", { n: asksFor })
              : text("so")
      })
    )
  )
)
