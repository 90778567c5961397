import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { ApprovalId, Tenant } from "../../src/value/Ids.ts"
import type { Role } from "../../src/principal/Principal.ts"
import type { Governance } from "../../src/tool/GovernedTool.ts"
import { ApprovalDesk } from "../../services/ApprovalDesk.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as H from "./Harness.ts"

const gated = (governance: Partial<Governance> = {}) => {
  const ran: Array<number> = []
  const layer = H.layer({
    tools: { replay: H.asks((n) => Effect.sync(() => ran.push(n)), governance) },
    script: ({ transcript }) => (transcript.length === 1 ? call("replay", { n: 7 }) : text("done"))
  })
  return { ran, layer }
}

const others = Tenant.make("others")

describe("a decision", () => {
  it.live(
    "SM-56 is made once: of sixteen at once one is accepted, and fifteen are refused with it",
    () => {
      const { layer, ran } = gated()
      return Effect.gen(function* () {
        const run = yield* H.send("hello")
        const { approval } = yield* H.question(run)
        const exits = yield* Effect.forEach(
          Array.from({ length: 16 }, (_, i) => (i % 2 === 0 ? H.approve : H.deny)),
          (decision) => Effect.exit(Effect.andThen(Effect.yieldNow, H.decide(approval, decision))),
          { concurrency: "unbounded" }
        )
        assert.strictEqual(exits.filter(Exit.isSuccess).length, 1)
        const refusals = exits.flatMap((exit) => {
          const error = Exit.isFailure(exit) ? exit.cause.reasons[0] : undefined
          return error?._tag === "Fail" ? [error.error._tag] : []
        })
        assert.deepStrictEqual(
          refusals,
          Array.from({ length: 15 }, () => "ApprovalSettled")
        )
        const all = yield* H.ended(run)
        assert.strictEqual(H.count(all, "ApprovalDecided"), 1)
        assert.isAtMost(ran.length, 1)
        assert.strictEqual(ran.length, H.outcome(all)?._tag === "Value" ? 1 : 0)
      }).pipe(Effect.provide(layer))
    }
  )

  it.live("ST-33 on an unknown or settled question is refused and changes nothing", () => {
    const { layer, ran } = gated()
    return Effect.gen(function* () {
      const run = yield* H.send("hello")
      const { approval } = yield* H.question(run)
      const unknown = ApprovalId.make("00000000-0000-4000-8000-000000000000")
      const missing = yield* Effect.flip(H.decide(unknown, H.approve))
      assert.strictEqual(missing._tag, "ApprovalNotFound")
      assert.strictEqual((yield* H.pending).length, 1)
      yield* H.decide(approval, H.approve)
      const before = yield* H.ended(run)
      const settled = yield* Effect.flip(H.decide(approval, H.deny))
      assert.deepInclude(settled, { _tag: "ApprovalSettled", status: "decided" })
      assert.deepStrictEqual(yield* H.events(run), before)
      assert.deepStrictEqual(ran, [7])
    }).pipe(Effect.provide(layer))
  })

  const refuses = (title: string, approvers: ReadonlyArray<Role>, roles: ReadonlyArray<Role>) =>
    it.live(title, () => {
      const { layer, ran } = gated({ approvers })
      return Effect.gen(function* () {
        const run = yield* H.send("hello")
        const { approval } = yield* H.question(run)
        const before = yield* H.events(run)
        const error = yield* Effect.flip(H.decide(approval, H.approve, H.person("bob", roles)))
        assert.deepInclude(error, { _tag: "NotEntitled", principal: "bob" })
        assert.deepStrictEqual(yield* H.events(run), before)
        assert.strictEqual((yield* H.pending).length, 1)
        assert.deepStrictEqual(ran, [])
      }).pipe(Effect.provide(layer))
    })

  refuses("is refused to a viewer", [], ["viewer"])
  refuses("is refused to an approver where the tool wants an operator", ["operator"], ["approver"])

  for (const [whose, sender, approvers, tag] of [
    ["its own message, unless the tool names customers", "carl", [], "NotEntitled"],
    ["its own message, where the tool names others", "carl", ["operator"], "NotEntitled"],
    ["the message of another one", "cora", ["customer"], "ApprovalNotFound"],
    ["a message of the staff", "alice", ["customer"], "ApprovalNotFound"]
  ] as const) {
    it.live(`is refused to a customer about ${whose}`, () => {
      const { layer, ran } = gated({ approvers })
      return Effect.gen(function* () {
        const carl = H.person("carl", ["customer"])
        const by = sender === "alice" ? H.alice : H.person(sender, ["customer"])
        const { task } = yield* AgentRuntime.use((runtime) =>
          runtime.send({ agent: H.agentName, text: "hello" }, by)
        )
        const { approval } = yield* H.question(task.id, 1, task.conversation)
        const error = yield* Effect.flip(H.decide(approval, H.approve, carl))
        assert.strictEqual(error._tag, tag)
        assert.strictEqual((yield* H.pending).length, 1)
        assert.deepStrictEqual(ran, [])
      }).pipe(Effect.provide(layer))
    })
  }

  it.live("is allowed to the roles that the tool names, and its maker's name is kept", () => {
    const { layer, ran } = gated({ approvers: ["operator"] })
    return Effect.gen(function* () {
      const run = yield* H.send("hello")
      const { approval } = yield* H.question(run)
      yield* H.decide(approval, H.approve, H.person("olga", ["operator"]))
      const all = yield* H.ended(run)
      const decided = all.find((event) => event._tag === "ApprovalDecided")
      assert.strictEqual(decided?.by, "olga")
      assert.deepStrictEqual(ran, [7])
    }).pipe(Effect.provide(layer))
  })

  it.live("of another tenant finds no question, even for an administrator", () => {
    const { layer, ran } = gated()
    return Effect.gen(function* () {
      const run = yield* H.send("hello")
      const { approval } = yield* H.question(run)
      const mallory = H.person("mallory", ["admin"], others)
      const error = yield* Effect.flip(H.decide(approval, H.approve, mallory))
      assert.strictEqual(error._tag, "ApprovalNotFound")
      const desk = yield* ApprovalDesk
      assert.strictEqual((yield* Effect.flip(desk.get(approval, mallory)))._tag, "ApprovalNotFound")
      assert.deepStrictEqual(yield* desk.pending(mallory, 100), [])
      assert.deepStrictEqual(ran, [])
    }).pipe(Effect.provide(layer))
  })
})
