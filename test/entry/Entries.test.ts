import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Result, Stream } from "effect"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { ApprovalDesk } from "../../services/ApprovalDesk.ts"
import { KillSwitch } from "../../services/KillSwitch.ts"
import { RunReader } from "../../services/RunReader.ts"
import * as Entries from "../../src/entry/ArgumentReaders.ts"
import { Policy } from "../../src/permission/Policy.ts"
import type { RunId } from "../../src/value/Ids.ts"
import { Principal } from "../../src/principal/Principal.ts"
import { areReadable } from "../../src/run/Quarantine.ts"
import * as H from "../runtime/Harness.ts"
import { anyValue, forged, hostile, random } from "./HostileValues.ts"

const any = (value: unknown) => value as never

/** A tool that asks, and what it was run with. */
const asking = (more: Partial<H.Options> = {}) => {
  const ran: Array<unknown> = []
  const layer = H.layer({
    tools: {
      refund: H.asks((n) =>
        Effect.sync(() => {
          ran.push(n)
          return n
        })
      )
    },
    script: ({ transcript }) => (transcript.length === 1 ? call("refund", { n: 7 }) : text("done")),
    ...more
  })
  return { ran, layer }
}

/** Everything of the run, from its text and through its codec. */
const readBack = Effect.fnUntraced(function* (run: RunId) {
  const entries = yield* RunReader.use((reader) => reader.read(run, 0, 10_000))
  assert.isTrue(areReadable(entries.map(({ event }) => event)))
  return entries.length
})

const refused = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.flip(effect), (error) => {
    assert.strictEqual((error as { _tag?: unknown })._tag, "InvalidInput", String(error))
    const { field, message } = error as unknown as { field: string; message: string }
    assert.isAbove(field.length, 0)
    assert.isAbove(message.length, 0)
    assert.isBelow(message.length, 400)
  })

describe("ST-29 a value that is not a decision", () => {
  it.live("decides nothing, and the journal stays readable", () => {
    const { layer, ran } = asking()
    return Effect.gen(function* () {
      const run = yield* H.send("hello")
      const { approval } = yield* H.question(run)
      const desk = yield* ApprovalDesk
      const length = yield* readBack(run)
      for (const value of hostile) yield* refused(desk.decide(approval, any(value), H.alice))
      const next = random(7)
      for (let i = 0; i < 2_000; i++) {
        const value = anyValue(next, 3)
        const read = yield* Effect.result(Entries.decision(value, "decision"))
        if (Result.isFailure(read)) yield* refused(desk.decide(approval, any(value), H.alice))
      }
      assert.strictEqual(yield* readBack(run), length)
      assert.deepStrictEqual(ran, [])
      assert.strictEqual((yield* H.pending).length, 1)
      // The question is as it was: a person may still answer it.
      yield* desk.decide(approval, { decision: "deny", reason: "fraud" }, H.alice)
      yield* H.ended(run)
      assert.deepStrictEqual(ran, [])
      assert.deepInclude(H.outcome(yield* H.events(run)), { _tag: "Denied", reason: "fraud" })
    }).pipe(Effect.provide(layer))
  })

  it.live("HTTP's shape decides like the type's own", () => {
    const { layer, ran } = asking()
    return Effect.gen(function* () {
      const run = yield* H.send("hello")
      const { approval } = yield* H.question(run)
      yield* ApprovalDesk.use((desk) =>
        desk.decide(approval, { decision: "modify", arguments: { n: 8 } }, H.alice)
      )
      yield* H.ended(run)
      assert.deepStrictEqual(ran, [8])
    }).pipe(Effect.provide(layer))
  })

  it.live("a decision that changes after it was given is the one that was given", () => {
    const { layer, ran } = asking()
    return Effect.gen(function* () {
      const run = yield* H.send("hello")
      const { approval } = yield* H.question(run)
      let reads = 0
      const decision = Object.defineProperty({ _tag: "Modify" }, "arguments", {
        enumerable: true,
        get: () => ({ n: ++reads })
      })
      yield* ApprovalDesk.use((desk) => desk.decide(approval, any(decision), H.alice))
      yield* H.ended(run)
      assert.deepStrictEqual([reads, ran], [1, [1]])
    }).pipe(Effect.provide(layer))
  })
})

describe("a value that is not a principal", () => {
  it.live("is refused, and nothing is done", () => {
    const { layer, ran } = asking()
    return Effect.gen(function* () {
      const run = yield* H.send("hello")
      const { approval, call: which } = yield* H.question(run)
      const desk = yield* ApprovalDesk
      const runtime = yield* AgentRuntime
      const killed = yield* KillSwitch
      const length = yield* readBack(run)
      const impostor = Object.assign(Object.create(Principal.prototype), {
        id: "alice",
        tenant: "acme",
        roles: "admin"
      })
      for (const by of [...forged, impostor]) {
        yield* refused(desk.decide(approval, H.approve, any(by)))
        yield* refused(desk.get(approval, any(by)))
        yield* refused(desk.pending(any(by), 10))
        yield* refused(runtime.interrupt(run, any(by), "enough"))
        yield* refused(runtime.settle(run, which, { _tag: "RunAgain" }, any(by)))
        yield* refused(runtime.send({ agent: H.agentName, text: "x" }, any(by)))
        yield* refused(killed.turn(true, any(by)))
      }
      assert.isFalse(killed.isOn(H.tenant))
      assert.strictEqual(yield* readBack(run), length)
      assert.deepStrictEqual(ran, [])
      // An object of the shape is one: nobody has to make an instance.
      yield* desk.decide(approval, H.deny, any({ id: "ann", tenant: "acme", roles: ["approver"] }))
    }).pipe(Effect.provide(layer))
  })
})

describe("a principal that was decoded", () => {
  it.effect("is a copy that nobody can change, and is not copied again", () =>
    Effect.gen(function* () {
      const via = { id: "web", tenant: "acme", roles: ["viewer"] }
      const given = { id: "ann", tenant: "acme", roles: ["viewer"], via }
      const read = yield* Entries.principal(given, "by")
      given.roles.push("admin")
      assert.deepStrictEqual(read.roles, ["viewer"])
      assert.throws(() => void (read.roles as Array<string>).push("admin"), TypeError)
      assert.throws(() => void (read.via!.roles as Array<string>).push("admin"), TypeError)
      for (const each of [read, read.via!]) {
        assert.throws(() => Object.assign(each, { id: "boss" }), TypeError)
      }
      assert.strictEqual(yield* Entries.principal(read, "by"), read)
    })
  )
})

describe("values of the other entries", () => {
  it.live("messages, ids, reasons, settlements, cursors and limits are decoded", () => {
    const { layer } = asking()
    return Effect.gen(function* () {
      const run = yield* H.send("hello")
      const { call: which } = yield* H.question(run)
      const desk = yield* ApprovalDesk
      const runtime = yield* AgentRuntime
      const killed = yield* KillSwitch
      const length = yield* readBack(run)
      const agent = H.agentName
      const messages = [
        { agent, text: "" },
        { agent, text: 5 },
        { agent },
        { agent: "No Agent", text: "x" },
        { agent, text: "x", conversation: "a b" },
        { agent, text: "x", conversation: 5 },
        { agent, text: "x", idempotency_key: "" },
        { agent, text: "x", idempotency_key: {} },
        { agent, text: "x", unknown: true }
      ]
      for (const message of [...messages, ...hostile]) {
        yield* refused(runtime.send(any(message), H.alice))
      }
      for (const value of hostile) {
        yield* refused(runtime.interrupt(any(value), H.alice, "enough"))
        yield* refused(desk.get(any(value), H.alice))
        yield* refused(desk.decide(any(value), H.approve, H.alice))
        yield* refused(runtime.settle(any(value), which, { _tag: "RunAgain" }, H.alice))
        yield* refused(runtime.settle(run, which, any(value), H.alice))
        yield* refused(desk.pending(H.alice, any(value)))
        yield* refused(runtime.actors(any(value)))
        yield* refused(Stream.runHead(runtime.watch(run as never, any(value), H.alice)))
      }
      for (const value of ["", 5, null, {}, "x".repeat(5_000)]) {
        yield* refused(runtime.interrupt(run, H.alice, any(value)))
      }
      for (const value of ["true", "false", 0, 1, null, undefined, {}]) {
        yield* refused(killed.turn(any(value), H.alice))
        yield* refused(killed.turnAll(any(value)))
      }
      for (const value of ["a b", "", 5, null, "/"]) {
        const watched = runtime.watch(any(value), { ordinal: 0, seq: -1 }, H.alice)
        yield* refused(Stream.runHead(watched))
      }
      assert.isFalse(killed.isOn(H.tenant))
      assert.strictEqual(yield* readBack(run), length)
    }).pipe(Effect.provide(layer))
  })

  it.live(
    "a policy that no codec takes ends the start, and one that is half there is filled in",
    () => {
      const start = (policy: unknown) => Layer.build(asking({ policy: any(policy) }).layer)
      return Effect.gen(function* () {
        for (const policy of [
          { ...Policy.make({}), mode: "Deny" },
          { mode: "deny ", rules: [] },
          { rules: [{ pattern: "refund", permission: "Deny" }] },
          { mods: "deny" },
          5
        ]) {
          const error = yield* Effect.flip(Effect.scoped(start(policy)))
          assert.strictEqual((error as { _tag: string })._tag, "MisdeclaredPolicy")
        }
        yield* Effect.scoped(start({ mode: "deny" }))
      })
    }
  )

  it.live("a raw policy without its other members denies what it says it denies", () => {
    const { layer, ran } = asking({ policy: any({ mode: "deny" }) })
    return Effect.gen(function* () {
      const run = yield* H.send("hello")
      yield* H.ended(run)
      assert.deepStrictEqual(ran, [])
      assert.strictEqual(H.outcome(yield* H.events(run))?._tag, "Failed")
    }).pipe(Effect.provide(layer))
  })

  it.live("an agent with a limit that is no number ends the start", () =>
    Effect.gen(function* () {
      const agent = { limits: { steps_max: "25" } }
      const { layer } = asking({ agents: [any({ name: "other", instructions: "x", ...agent })] })
      const error = yield* Effect.flip(Effect.scoped(Layer.build(layer)))
      assert.strictEqual((error as { _tag: string })._tag, "MisdeclaredAgent")
    })
  )
})
