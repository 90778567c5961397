/** Actions that a workspace authorised in advance, at the gate of a real runtime: what runs by them, and what still asks. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import * as Replay from "../../layers/compose/entries/Replay.ts"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import { call, calls, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import type { Script } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { AuthorizationDesk } from "../../services/AuthorizationDesk.ts"
import { AuthorizationRecords } from "../../services/AuthorizationRecords.ts"
import { KillSwitch } from "../../services/KillSwitch.ts"
import { StoreError } from "../../services/StoreError.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { AgentName, Tenant } from "../../src/value/Ids.ts"
import type { AuthorizationId, RunId } from "../../src/value/Ids.ts"
import { Policy } from "../../src/permission/Policy.ts"
import type { Principal } from "../../src/principal/Principal.ts"
import type { RunEvent } from "../../src/run/RunEvent.ts"
import * as H from "../runtime/Harness.ts"

const carl = H.person("carl", ["customer"])
const olga = H.person("olga", ["operator"])
const anyone = ["customer", "approver", "operator"] as const

/** What bodies saw: the number, and who let them run. */
type Ran = Array<readonly [n: number, by: string | undefined]>

const pays = (ran: Ran, more?: Parameters<typeof H.asks>[1]) =>
  H.asks((n, { approved_by }) => Effect.sync(() => (ran.push([n, approved_by]), n)), {
    approvers: anyone,
    ...more
  })

const other = AgentName.make("other")

const optionsOf = (ran: Ran, more: Partial<H.Options> = {}): H.Options => ({
  tools: { pay: pays(ran), refund: pays(ran), look: H.reads((n) => Effect.succeed(n)) },
  agents: [
    AgentSpec.make({ name: other, instructions: "Test.", tools: ["test.pay@1", "test.look@1"] })
  ],
  script: ({ step }) => (step === 1 ? call("pay", { n: 7 }) : text("done")),
  ...more
})

const request = { agent: H.agentName, action: "pay" }

const grant = (more: object = {}, by: Principal = carl) =>
  AuthorizationDesk.use((desk) => desk.grant({ ...request, ...more }, by))
const revoke = (id: AuthorizationId, by = olga) =>
  AuthorizationDesk.use((desk) => desk.revoke(id, by))

const dispatched = (all: ReadonlyArray<RunEvent>) =>
  all.filter((event) => event._tag === "CallDispatched")

/** Sends a message to the tester, and waits for its end. */
const ends = (conversation = "c-1") =>
  Effect.flatMap(H.send("go", conversation), (run) => H.ended(run, conversation))

/** A run that asks a person, and has not begun its body. */
const asked = Effect.fnUntraced(function* (run: RunId, ran: Ran, conversation = "c-1") {
  yield* H.question(run, 1, conversation)
  assert.deepStrictEqual(dispatched(yield* H.events(run)), [])
  assert.deepStrictEqual(ran, [])
})

const asks = (ran: Ran) => Effect.flatMap(H.send("go"), (run) => asked(run, ran))

describe("an action that was authorised in advance", () => {
  it.live("SA-28 runs without a question, and its dispatch says by what and by whom", () => {
    const ran: Ran = []
    return Effect.gen(function* () {
      const given = yield* grant()
      const events = yield* ends()
      assert.strictEqual(H.count(events, "ApprovalRequested"), 0)
      assert.deepStrictEqual(ran, [[7, "carl"]])
      assert.deepStrictEqual(dispatched(events)[0]?.authorized, {
        authorization: given.id,
        agent: H.agentName,
        tool_key: "test.pay@1",
        by: "carl",
        granted_at: given.granted_at
      })
      const [listed] = yield* AuthorizationDesk.use((desk) => desk.list({ limit: 50 }, olga))
      assert.deepInclude(listed, { id: given.id, uses: 1, granted_by: "carl" })
    }).pipe(Effect.provide(H.layer(optionsOf(ran))))
  })

  for (const [kind, more] of [
    ["transactional", { transactional: true }],
    ["idempotent", { idempotent: true }],
    ["external", { side_effects: "external" }]
  ] as const) {
    it.live(`SA-28 runs and is audited where its tool is ${kind}`, () => {
      const ran: Ran = []
      return Effect.gen(function* () {
        const { id } = yield* grant()
        const events = yield* ends()
        assert.deepStrictEqual(ran, [[7, "carl"]])
        assert.strictEqual(dispatched(events)[0]?.authorized?.authorization, id)
        assert.strictEqual(H.count(events, "ApprovalRequested"), 0)
      }).pipe(
        Effect.provide(H.layer(optionsOf(ran, { agents: [], tools: { pay: pays(ran, more) } })))
      )
    })
  }

  it.live("lets one question of a turn go and leaves the others", () => {
    const ran: Ran = []
    return Effect.gen(function* () {
      yield* grant()
      const run = yield* H.send("go")
      const question = yield* H.question(run)
      assert.strictEqual(question.tool_key, "test.refund@1")
      yield* H.decide(question.approval, H.approve, olga)
      const events = yield* H.ended(run)
      assert.sameDeepMembers(ran, [
        [1, "carl"],
        [2, "olga"]
      ])
      const authorized = dispatched(events).map((event) => event.authorized?.by)
      assert.sameMembers(authorized, ["carl", undefined])
    }).pipe(
      Effect.provide(
        H.layer(
          optionsOf(ran, {
            script: [calls([call("pay", { n: 1 }), call("refund", { n: 2 })]), text("done")]
          })
        )
      )
    )
  })

  it.live(
    "a replay of its run asks nobody and finds no difference, and a dry run finds none",
    () => {
      const ran: Ran = []
      const options = optionsOf(ran, { script: [call("pay", { n: 7 }), text("done")] })
      return Effect.gen(function* () {
        const { id } = yield* grant()
        const run = yield* H.send("go")
        yield* H.ended(run)
        yield* revoke(id)
        const app = { agents: H.agentsOf(options), tools: [H.toolsOf(options.tools ?? {})] }
        const report = yield* Replay.replay(run, { app })
        assert.isUndefined(report.divergence)
        if (typeof report.gate === "string") return assert.fail(report.gate)
        assert.isUndefined(report.gate.divergence)
        assert.deepInclude(report.gate.state.ended, { status: "complete", text: "done" })
        assert.lengthOf(ran, 1)
        const tried = yield* Replay.dryRun({ tenant: H.tenant }, app, Policy.make({}))
        assert.deepInclude(tried, { calls: 1, changed: 0, was: { allow: 0, ask: 1, deny: 0 } })
      }).pipe(Effect.provide(H.layer(options)))
    }
  )
})

describe("whatever was not authorised", () => {
  it.live("SA-28 asks in another workspace, for another action and for another agent", () => {
    const ran: Ran = []
    const beta = Tenant.make("beta")
    const [root, bob] = [H.person("root", ["admin"], beta), H.person("bob", ["customer"], beta)]
    return Effect.gen(function* () {
      yield* grant({}, bob)
      yield* grant({ action: "refund" })
      yield* grant({ agent: other })
      yield* asks(ran)
      const { task } = yield* AgentRuntime.use((runtime) =>
        runtime.send({ agent: H.agentName, text: "go" }, root)
      )
      yield* H.ended(task.id, task.conversation, root)
      assert.deepStrictEqual(ran, [[7, "bob"]])
    }).pipe(Effect.provide(H.layer(optionsOf(ran))))
  })

  it.live("asks once it is revoked, by anyone who may grant it", () => {
    const ran: Ran = []
    return Effect.gen(function* () {
      const { id } = yield* grant()
      assert.deepInclude(yield* revoke(id), { revoked_by: "olga" })
      yield* asks(ran)
    }).pipe(Effect.provide(H.layer(optionsOf(ran))))
  })

  it.live("asks when its uses are used up", () => {
    const ran: Ran = []
    return Effect.gen(function* () {
      yield* grant({ uses_max: 2 })
      yield* ends("c-1")
      yield* ends("c-2")
      assert.lengthOf(ran, 2)
      const run = yield* H.send("go", "c-3")
      yield* H.question(run, 1, "c-3")
      assert.lengthOf(ran, 2)
    }).pipe(Effect.provide(H.layer(optionsOf(ran))))
  })

  it.effect("asks from the moment on at which it expires", () => {
    const ran: Ran = []
    return Effect.gen(function* () {
      yield* grant({ holds_ms: 1_000 })
      yield* TestClock.adjust(999)
      yield* ends("c-1")
      assert.lengthOf(ran, 1)
      yield* TestClock.adjust(1)
      const run = yield* H.send("go", "c-2")
      yield* H.question(run, 1, "c-2")
      assert.lengthOf(ran, 1)
    }).pipe(Effect.provide(H.layer(optionsOf(ran))))
  })

  it.live("asks where the tool's declaration has changed since", () => {
    const ran: Ran = []
    const changed = optionsOf(ran, {
      tools: { pay: pays(ran, { effect_description: "Pays twice as much." }) },
      agents: []
    })
    return Effect.gen(function* () {
      const before = yield* H.boot(optionsOf(ran))
      yield* before.run(grant())
      yield* before.stop
      const after = yield* H.boot(changed)
      yield* after.run(asks(ran))
    }).pipe(Effect.scoped, Effect.provide(EphemeralStores.layer))
  })

  it.live("asks a call that a person denied in this run: it is refused, and not run", () => {
    const ran: Ran = []
    const script: Script = ({ step }) => (step < 3 ? call("pay", { n: 7 }) : text("done"))
    return Effect.gen(function* () {
      const run = yield* H.send("go")
      const { approval } = yield* H.question(run)
      yield* grant()
      yield* H.decide(approval, H.deny)
      const events = yield* H.ended(run)
      assert.deepStrictEqual(ran, [])
      assert.deepStrictEqual(
        H.settled(events).map(({ outcome }) =>
          outcome._tag === "Failed" ? outcome.error.reason : outcome._tag
        ),
        ["Denied", "APPROVAL_DENIED"]
      )
    }).pipe(Effect.provide(H.layer(optionsOf(ran, { script }))))
  })

  it.live("stays denied by a policy and by the kill switch", () => {
    const ran: Ran = []
    const denied = Effect.gen(function* () {
      const events = yield* ends()
      assert.strictEqual(H.outcome(events)?._tag, "Failed")
      assert.deepStrictEqual(ran, [])
    })
    const policy = Policy.make({
      rules: [{ pattern: "pay", permission: "deny", unless_roles: ["operator"] }]
    })
    const carls = Effect.gen(function* () {
      yield* grant()
      const { task } = yield* AgentRuntime.use((runtime) =>
        runtime.send({ agent: H.agentName, text: "go" }, carl)
      )
      const events = yield* H.ended(task.id, task.conversation)
      assert.strictEqual(H.outcome(events)?._tag, "Failed")
      assert.deepStrictEqual(ran, [])
    })
    return Effect.gen(function* () {
      yield* Effect.provide(carls, H.layer(optionsOf(ran, { policy })))
      yield* Effect.provide(
        Effect.gen(function* () {
          yield* grant()
          yield* KillSwitch.use(({ turn }) => turn(true, olga))
          yield* denied
        }),
        H.layer(optionsOf(ran))
      )
    })
  })

  it.live("asks where the store does not answer, or is broken", () => {
    const ran: Ran = []
    const broken = (use: AuthorizationRecords["Service"]["use"]) =>
      H.over(optionsOf(ran)).pipe(
        Layer.provide(
          Layer.effect(
            AuthorizationRecords,
            AuthorizationRecords.useSync((records) => ({ ...records, use }))
          )
        ),
        Layer.provideMerge(EphemeralStores.layer)
      )
    return Effect.gen(function* () {
      for (const use of [
        () => Effect.fail(new StoreError({ message: "gone" })),
        () => Effect.die(new Error("broken")),
        () => {
          throw new Error("broken at once")
        }
      ]) {
        yield* Effect.provide(asks(ran), broken(use))
      }
    })
  })

  it.live("asks where a policy always has a person asked, and cannot be authorised there", () => {
    const ran: Ran = []
    const policy = Policy.make({ approval_required: ["pay"] })
    return Effect.gen(function* () {
      const before = yield* H.boot(optionsOf(ran))
      yield* before.run(grant())
      yield* before.stop
      const after = yield* H.boot(optionsOf(ran, { policy }))
      const refused = yield* Effect.flip(after.run(grant()))
      assert.deepInclude(refused, { _tag: "AuthorizationRefused" })
      yield* after.run(asks(ran))
    }).pipe(Effect.scoped, Effect.provide(EphemeralStores.layer))
  })
})

describe("who authorises", () => {
  it.live("SA-28 may decide about the tool's calls; nobody else may", () => {
    const options = optionsOf([], {
      tools: {
        pay: pays([]),
        refund: pays([], { approvers: [] }),
        look: H.reads((n) => Effect.succeed(n))
      }
    })
    return Effect.gen(function* () {
      for (const [roles, action, tag] of [
        [["customer"], "pay", undefined],
        [["approver"], "pay", undefined],
        [["admin"], "pay", undefined],
        [["viewer"], "pay", "NotEntitled"],
        [[], "pay", "NotEntitled"],
        [["customer"], "refund", "NotEntitled"],
        [["viewer"], "refund", "NotEntitled"],
        [["operator"], "refund", undefined]
      ] as const) {
        const result = yield* Effect.result(grant({ action }, H.person("p", roles)))
        const found = result._tag === "Success" ? undefined : result.failure._tag
        assert.strictEqual(found, tag, `${roles} ${action}`)
      }
    }).pipe(Effect.provide(H.layer(options)))
  })

  it.live("is refused for what asks nobody, is denied or is not the agent's", () =>
    Effect.gen(function* () {
      for (const [more, tag] of [
        [{ action: "look" }, "AuthorizationRefused"],
        [{ action: "deliver" }, "AuthorizationRefused"],
        [{ agent: "nobody" }, "AgentNotFound"],
        [{ agent: "other", action: "refund" }, "AuthorizationRefused"]
      ] as const) {
        assert.strictEqual((yield* Effect.flip(grant(more, olga)))._tag, tag)
      }
      const known = yield* Effect.flip(
        AuthorizationDesk.use((desk) => desk.grant(request, carl, [other]))
      )
      assert.deepInclude(known, { _tag: "AgentNotFound", available: [other] })
      assert.deepStrictEqual(
        yield* AuthorizationDesk.use((desk) => desk.list({ limit: 50, all: true }, olga)),
        []
      )
    }).pipe(Effect.provide(H.layer(optionsOf([]))))
  )

  it.live("is refused a value of the wrong shape, and nothing is kept", () =>
    Effect.gen(function* () {
      const desk = yield* AuthorizationDesk
      const wrong: ReadonlyArray<unknown> = [
        undefined,
        null,
        "pay",
        [],
        {},
        { agent: "tester" },
        { ...request, action: "" },
        { ...request, action: "pay*" },
        { ...request, action: "test.pay@1" },
        { ...request, action: ["pay"] },
        { ...request, action: "x".repeat(65) },
        { ...request, agent: "Tester" },
        { ...request, holds_ms: 0 },
        { ...request, holds_ms: 999 },
        { ...request, holds_ms: 367 * 86_400_000 },
        { ...request, holds_ms: Infinity },
        { ...request, holds_ms: "1000" },
        { ...request, uses_max: 0 },
        { ...request, uses_max: 1.5 },
        { ...request, granted_by: "olga" },
        { ...request, tenant: "beta" }
      ]
      for (const value of wrong) {
        const error = yield* Effect.flip(desk.grant(value as never, carl))
        assert.strictEqual(error._tag, "InvalidInput", JSON.stringify(value))
      }
      for (const by of [
        undefined,
        null,
        {},
        { id: "x", tenant: "acme" },
        { ...carl, roles: "admin" }
      ]) {
        const error = yield* Effect.flip(desk.grant(request, by as never))
        assert.strictEqual(error._tag, "InvalidInput")
      }
      for (const id of ["", "1", 7, null, `${"0".repeat(8)}-0000-4000-8000-00000000000G`]) {
        const error = yield* Effect.flip(desk.revoke(id as never, olga))
        assert.strictEqual(error._tag, "InvalidInput")
      }
      for (const page of [{}, { limit: 0 }, { limit: 501 }, { limit: 1, all: "yes" }, null]) {
        const error = yield* Effect.flip(desk.list(page as never, olga))
        assert.strictEqual(error._tag, "InvalidInput")
      }
      assert.deepStrictEqual(yield* desk.list({ limit: 500, all: true }, olga), [])
    }).pipe(Effect.provide(H.layer(optionsOf([]))))
  )

  it.live("revokes within the workspace alone, of the agents that it may know of", () =>
    Effect.gen(function* () {
      const desk = yield* AuthorizationDesk
      const { id } = yield* grant()
      const abroad = H.person("eve", ["admin"], Tenant.make("beta"))
      for (const refused of [
        desk.revoke(id, abroad),
        desk.revoke(id, carl, [other]),
        desk.revoke("00000000-0000-4000-8000-000000000000" as AuthorizationId, olga)
      ]) {
        assert.strictEqual((yield* Effect.flip(refused))._tag, "AuthorizationNotFound")
      }
      const vera = H.person("nobody", [])
      assert.strictEqual((yield* Effect.flip(desk.revoke(id, vera)))._tag, "NotEntitled")
      assert.strictEqual((yield* Effect.flip(desk.list({ limit: 1 }, vera)))._tag, "NotEntitled")
      assert.lengthOf(yield* desk.list({ limit: 50 }, olga), 1)
      assert.deepStrictEqual(yield* desk.list({ limit: 50 }, abroad), [])
    }).pipe(Effect.provide(H.layer(optionsOf([]))))
  )
})
