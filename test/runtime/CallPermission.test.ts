import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import type { JudgedRun } from "../../src/permission/Policy.ts"
import type { Permission } from "../../src/tool/SideEffects.ts"
import { effectivePermission, no_policy, policyOf } from "../../src/permission/Policy.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"
import { KillSwitch } from "../../services/KillSwitch.ts"
import * as Replay from "../../layers/compose/entries/Replay.ts"
import { call, calls, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { policySubjectOf } from "../../src/permission/JudgedTool.ts"
import { runOf } from "../permission/Tools.ts"
import * as H from "./Harness.ts"

const counted = () => {
  const ran: Array<number> = []
  return { ran, body: (n: number) => Effect.sync(() => ran.push(n)) }
}

const reasons = (all: Parameters<typeof H.settled>[0]) =>
  [...H.settled(all)]
    .sort((a, b) => (a.call < b.call ? -1 : 1))
    .map(({ outcome }) => (outcome._tag === "Failed" ? outcome.error.reason : outcome._tag))

type ByCall = (args: { readonly n: number }, run: JudgedRun) => Permission

const byAmount: ByCall = ({ n }) => (n > 100 ? "deny" : n > 10 ? "ask" : "allow")

/** A write with this permission of each call, which the model calls with these numbers at once. */
const writing = (permission: ByCall, numbers: ReadonlyArray<number>, more?: Partial<H.Options>) => {
  const { body, ran } = counted()
  const options: H.Options = {
    tools: { pay: { governance: { side_effects: "write", permission }, body } },
    script: [calls(numbers.map((n) => call("pay", { n }))), text("done")],
    ...more
  }
  return { ran, options }
}

describe("a permission of each call", () => {
  it.live("lets one run, asks a person about one, and refuses one, by their arguments", () => {
    const { options, ran } = writing(byAmount, [5, 50, 500])
    return Effect.gen(function* () {
      const run = yield* H.send("hello")
      const asked = yield* H.question(run)
      assert.deepStrictEqual((yield* H.pending)[0]?.payload.args_summary, "n: 50")
      const pending = yield* H.pending
      assert.lengthOf(pending, 1)
      yield* H.decide(asked.approval, H.approve)
      const all = yield* H.ended(run)
      assert.deepStrictEqual(reasons(all), ["Value", "Value", "PERMISSION_DENIED"])
      const answers = new Set(H.settled(all).map(({ permission }) => permission))
      assert.deepStrictEqual(answers, new Set(["allow", "ask", "deny"]))
      assert.deepStrictEqual(ran, [5, 50])
      assert.strictEqual(H.count(all, "ApprovalRequested"), 1)
    }).pipe(Effect.provide(H.layer(options)))
  })

  it.live("is given the run's tenant, agent, sender and roles", () => {
    const seen: Array<JudgedRun> = []
    const { options } = writing(
      (_, run) => {
        seen.push(run)
        return run.roles.includes("approver") ? "allow" : "deny"
      },
      [1]
    )
    return Effect.gen(function* () {
      const run = yield* H.send("hello", "c-1", H.person("olga", ["operator", "approver"]))
      assert.deepStrictEqual(reasons(yield* H.ended(run)), ["Value"])
      const [first] = seen
      const { tenant } = H
      const agent = H.agentName
      assert.deepStrictEqual(first, {
        run,
        tenant,
        agent,
        principal: "olga",
        roles: ["approver", "operator"]
      })
      const other = yield* H.send("hello", "c-2", H.person("vera", ["operator"]))
      assert.deepStrictEqual(reasons(yield* H.ended(other, "c-2")), ["PERMISSION_DENIED"])
    }).pipe(
      Effect.provide(
        H.layer({
          ...options,
          script: ({ step }) => (step === 1 ? call("pay", { n: 1 }) : text("done"))
        })
      )
    )
  })

  for (const [what, wrong] of [
    [
      "throws",
      () => {
        throw new Error("hunter2")
      }
    ],
    ["gives nothing", () => undefined],
    ["gives another word", () => "yes"],
    ["gives a promise", async () => "allow"],
    ["gives a promise that is rejected", () => Promise.reject(new Error("hunter2"))]
  ] as const) {
    it.live(`that ${what} fails its call, and the run goes on`, () => {
      const { options, ran } = writing(wrong as unknown as ByCall, [1])
      return Effect.gen(function* () {
        const all = yield* H.ended(yield* H.send("hello"))
        const [settled] = H.settled(all)
        assert.strictEqual(settled?.outcome._tag, "Failed")
        assert.deepInclude(settled?.outcome._tag === "Failed" ? settled.outcome.error : {}, {
          class: "ToolTerminalError",
          kind: "internal"
        })
        assert.notInclude(JSON.stringify((yield* H.requests)[1]), "hunter2")
        assert.deepStrictEqual(ran, [])
        assert.strictEqual(H.end(all)?.reason, "complete")
      }).pipe(Effect.provide(H.layer(options)))
    })
  }

  it.live("asks where approval_required lists the tool, and stands before the rules", () => {
    const policy = policyOf({
      rules: [{ pattern: "pay", permission: "deny" }],
      approval_required: ["pay"]
    })
    const { options, ran } = writing(byAmount, [5], { policy })
    return Effect.gen(function* () {
      const run = yield* H.send("hello")
      const asked = yield* H.question(run)
      yield* H.decide(asked.approval, H.approve)
      yield* H.ended(run)
      assert.deepStrictEqual(ran, [5])
    }).pipe(Effect.provide(H.layer(options)))
  })

  it.live("is not asked while the kill switch is on", () => {
    const { options, ran } = writing(() => "allow", [5])
    return Effect.gen(function* () {
      yield* KillSwitch.use((killSwitch) => killSwitch.turn(true, H.alice))
      assert.deepStrictEqual(reasons(yield* H.ended(yield* H.send("hello"))), ["KILL_SWITCH"])
      assert.deepStrictEqual(ran, [])
    }).pipe(Effect.provide(H.layer(options)))
  })

  it.live("is tried over history, beside what happened", () => {
    const { options } = writing(byAmount, [5, 500])
    const stricter = writing(({ n }) => (n === 5 ? "ask" : "allow"), [])
    const broken = writing(() => {
      throw new Error("boom")
    }, [])
    const appOf = (of: H.Options) => ({
      agents: H.agentsOf(of),
      tools: [H.toolsOf(of.tools ?? {})]
    })
    return Effect.gen(function* () {
      const run = yield* H.send("hello")
      yield* H.ended(run)
      // The journal says what it answered, which a changed function does not change.
      const answers = H.settled(yield* H.events(run)).map(({ permission }) => permission)
      assert.sameMembers(answers, ["allow", "deny"])
      const same = yield* Replay.dryRun({ run }, appOf(options), no_policy)
      assert.deepStrictEqual(same.now, { allow: 1, ask: 0, deny: 1 })
      assert.strictEqual(same.changed, 0)
      const now = yield* Replay.dryRun({ run }, appOf(stricter.options), no_policy)
      assert.deepStrictEqual(now.now, { allow: 1, ask: 1, deny: 0 })
      assert.strictEqual(now.changed, 2)
      assert.deepInclude(now.list[0], { principal: "alice", was: "allow", now: "ask" })
      const none = yield* Replay.dryRun({ run }, appOf(broken.options), no_policy)
      assert.deepStrictEqual(none.now, { allow: 0, ask: 0, deny: 2 })
    }).pipe(Effect.provide(H.layer(options)))
  })

  it.effect("reads decoded arguments, and contradicts needs_approval", () =>
    Effect.gen(function* () {
      const declared = {
        namespace: "shop",
        name: "pay",
        side_effects: "write",
        input: Schema.Struct({ amount: Schema.FiniteFromString })
      } as const
      type ByDeclared = Extract<
        Parameters<typeof tool<number, typeof declared.input>>[0]["permission"],
        (...args: never) => unknown
      >
      const seen: Array<unknown> = []
      const [governed] = yield* tool(
        {
          ...declared,
          permission: ({ amount }) => (seen.push(amount), amount > 1 ? "ask" : "allow")
        },
        () => 1
      )
      assert.isUndefined(governed.spec.permission)
      const of = (amount: unknown) =>
        effectivePermission(no_policy, policySubjectOf(governed), { amount }, false, runOf([]))
      assert.deepStrictEqual(
        [of("2"), of("1"), of("many"), of(2)],
        ["ask", "allow", "deny", "deny"]
      )
      assert.deepStrictEqual(seen, [2, 1])
      const both = { ...declared, needs_approval: true, permission: () => "allow" as const }
      const error = yield* Effect.flip(Effect.asVoid(tool(both, () => 1)))
      assert.include(error.message, "needs_approval")
      // @ts-expect-error the schema has no such argument
      const stray: ByDeclared = ({ amuont }) => (amuont > 1 ? "ask" : "allow")
      // @ts-expect-error a permission is one of three words
      const word: ByDeclared = ({ amount }) => amount > 1
      for (const wrong of [stray, word]) assert.isDefined(wrong)
    })
  )
})

describe("code of a tool that the gate calls", () => {
  for (const part of ["refusal", "decode"] as const) {
    it.live(`fails the call where its ${part} throws, and the run goes on`, () => {
      const { options, ran } = writing(() => "allow", [1])
      const spied: NonNullable<H.Options["spied"]> = (is) => ({
        ...is,
        [part]: () => {
          throw new Error("broken")
        }
      })
      return Effect.gen(function* () {
        const all = yield* H.ended(yield* H.send("hello"))
        assert.deepInclude(H.outcome(all), { _tag: "Failed" })
        assert.strictEqual(H.end(all)?.reason, "complete")
        assert.deepStrictEqual(ran, [])
      }).pipe(Effect.provide(H.layer({ ...options, spied })))
    })
  }
})
