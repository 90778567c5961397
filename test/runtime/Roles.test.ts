import { assert, describe, it } from "@effect/vitest"
import { Cause, Deferred, Effect, Exit, Schema } from "effect"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { AgentName } from "../../src/value/Ids.ts"
import {
  effectivePermission,
  permissionFor,
  Policy,
  policyOf
} from "../../src/permission/Policy.ts"
import type { Principal, Role } from "../../src/principal/Principal.ts"
import { common_roles, hasRole, rolesOf } from "../../src/principal/Principal.ts"
import type { RunEvent } from "../../src/run/RunEvent.ts"
import { RunLimits } from "../../src/run/RunLimits.ts"
import type { GroupsByRole } from "../../src/tool/ToolGroup.ts"
import { known_groups } from "../../src/tool/ToolGroup.ts"
import { AgentDirectory } from "../../services/AgentDirectory.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import * as Replay from "../../layers/compose/entries/Replay.ts"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import { call, calls, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as RoleDirectory from "../../layers/runtime/directory/RoleDirectory.ts"
import { runOf } from "../permission/Tools.ts"
import { seeded } from "../run/Interleaving.ts"
import * as H from "./Harness.ts"

const narrow = H.person("vera", ["operator"])
const wide = H.person("olga", ["operator", "approver"])
const customer = H.person("carl", ["customer"])

/** A message in a conversation of its own. */
const begin = (by: Principal) =>
  Effect.map(
    AgentRuntime.use((agents) => agents.send({ agent: H.agentName, text: "go" }, by)),
    ({ task }) => task
  )

const counted = () => {
  const ran: Array<number> = []
  return { ran, body: (n: number) => Effect.sync(() => ran.push(n)) }
}

/** In the order in which they were proposed. */
const settled = (all: ReadonlyArray<RunEvent>) =>
  [...H.settled(all)].sort((a, b) => (a.call < b.call ? -1 : 1))

const reasons = (all: ReadonlyArray<RunEvent>) =>
  settled(all).map(({ outcome }) =>
    outcome._tag === "Failed" ? outcome.error.reason : outcome._tag
  )

const failures = (all: ReadonlyArray<RunEvent>) =>
  settled(all).flatMap(({ outcome }) => (outcome._tag === "Failed" ? [outcome.error] : []))

const rolesIn = (all: ReadonlyArray<RunEvent>) =>
  all.flatMap((event) => (event._tag === "RunAccepted" ? [event.roles] : []))

const byRole: GroupsByRole = { operator: ["knowledge"], approver: ["knowledge", "inspect"] }

/** Two tools of two groups; the model asks for both at once. */
const two = (body: H.Body, more?: Partial<H.Options>): H.Options => ({
  tools: {
    lookup: H.reads(body, { group: "knowledge" }),
    bash: H.reads(body, { group: "inspect" })
  },
  agent: { groups_by_role: byRole },
  script: ({ step }) =>
    step === 1 ? calls([call("lookup", { n: 1 }), call("bash", { n: 2 })]) : text("done"),
  ...more
})

describe("the groups of a role", () => {
  it.live("SM-83 give a sender the tools of its roles, and a call of any other is refused", () => {
    const { body, ran } = counted()
    return Effect.gen(function* () {
      const all = yield* H.ended(yield* H.send("hello", "c-1", narrow))
      assert.deepStrictEqual(rolesIn(all), [["operator"]])
      assert.deepStrictEqual(reasons(all), ["Value", "ROLE_DENIED"])
      assert.deepStrictEqual(ran, [1])
      assert.deepInclude(failures(all)[0], {
        class: "ToolPolicyError",
        kind: "permission",
        message: '"bash" is not for whoever sent the message.'
      })
      yield* H.ended(yield* H.send("hello", "c-2", wide), "c-2")
      assert.deepStrictEqual(ran, [1, 1, 2])
      const shown = (yield* H.requests)
        .filter(({ step }) => step === 1)
        .map(({ tools }) => tools.map(({ name }) => name))
      assert.deepStrictEqual(shown, [["lookup"], ["lookup", "bash"]])
    }).pipe(Effect.provide(H.layer(two(body))))
  })

  it.live("give a sender with other roles no tools, and an admin those of the staff", () => {
    const { body, ran } = counted()
    return Effect.gen(function* () {
      const sent = yield* begin(customer)
      const none = yield* H.ended(sent.id, sent.conversation)
      assert.deepStrictEqual(reasons(none), ["ROLE_DENIED", "ROLE_DENIED"])
      assert.deepStrictEqual((yield* H.requests)[0]?.tools, [])
      const admin = yield* H.ended(yield* H.send("hello", "c-2", H.alice), "c-2")
      assert.deepStrictEqual(reasons(admin), ["Value", "Value"])
      assert.lengthOf(ran, 2)
      assert.isFalse(hasRole(["admin"], ["customer"]))
    }).pipe(Effect.provide(H.layer(two(body))))
  })

  it.live("refuse a call without showing the tool's name or arguments", () => {
    const { body } = counted()
    return Effect.gen(function* () {
      const all = yield* H.ended(yield* H.send("hello", "c-1", narrow))
      assert.deepStrictEqual(reasons(all), ["ROLE_DENIED", "UNKNOWN_TOOL"])
      assert.notInclude(failures(all)[1]!.message, "bash")
    }).pipe(
      Effect.provide(
        H.layer(
          two(body, {
            script: [calls([call("bash", { wrong: true }), call("bahs", { n: 1 })]), text("done")]
          })
        )
      )
    )
  })

  it.live("apply to a waiting message with the roles that its own sender had", () => {
    const { body, ran } = counted()
    const gate = Deferred.makeUnsafe<void>()
    const slow: H.Body = (n) =>
      Effect.andThen(n === 1 ? Deferred.await(gate) : Effect.void, body(n))
    return Effect.gen(function* () {
      const first = yield* H.send("hello", "c-1", narrow)
      yield* H.happened(first, "ModelTurned")
      const second = yield* H.send("hello", "c-1", wide)
      const third = yield* H.send("hello", "c-1", narrow)
      yield* Deferred.succeed(gate, undefined)
      assert.deepStrictEqual(reasons(yield* H.ended(first)), ["Value", "ROLE_DENIED"])
      assert.deepStrictEqual(reasons(yield* H.ended(second)), ["Value", "Value"])
      assert.deepStrictEqual(reasons(yield* H.ended(third)), ["Value", "ROLE_DENIED"])
      assert.strictEqual(ran.filter((n) => n === 2).length, 1)
    }).pipe(Effect.provide(H.layer(two(slow))))
  })

  it.live("are a specialist's own, for the roles of the sender of the run's message", () => {
    const { body, ran } = counted()
    const digger = AgentSpec.make({
      name: AgentName.make("digger"),
      instructions: "Dig.",
      tools: ["test.lookup@1", "test.bash@1"],
      groups_by_role: { operator: ["inspect"] }
    })
    return Effect.gen(function* () {
      const all = yield* H.ended(yield* H.send("hello", "c-1", narrow))
      assert.deepStrictEqual(reasons(all), ["Value", "ROLE_DENIED", "Value"])
      assert.deepStrictEqual(ran, [2])
      const dug = (yield* H.requests).find(({ agent }) => agent === "digger")
      assert.deepStrictEqual(
        dug?.tools.map(({ name }) => name),
        ["bash"]
      )
    }).pipe(
      Effect.provide(
        H.layer(
          two(body, {
            agents: [digger],
            agent: { tools: [], specialists: [digger.name], groups_by_role: byRole },
            script: {
              "0": [call("ask_digger", { task: "dig" }), text("done")],
              digger: [calls([call("lookup", { n: 1 }), call("bash", { n: 2 })]), text("dug")]
            }
          })
        )
      )
    )
  })

  it.live("are applied in another process from the roles in the run's journal alone", () => {
    const { body, ran } = counted()
    const options: H.Options = {
      tools: { pay: H.asks(body, { group: "inspect" }), bash: H.reads(body, { group: "meta" }) },
      agent: { groups_by_role: { operator: ["inspect"] } },
      script: ({ step }) =>
        step === 1 ? call("pay", { n: 1 }) : step === 2 ? call("bash", { n: 2 }) : text("done")
    }
    return Effect.gen(function* () {
      const first = yield* H.boot(options)
      const run = yield* first.run(H.send("hello", "c-1", wide))
      const { approval } = yield* first.run(H.question(run))
      yield* first.stop
      const second = yield* H.boot(options)
      // Who decides has another role than who asked, which changes nothing.
      yield* second.run(H.decide(approval, H.approve, H.person("ann", ["approver"])))
      const all = yield* second.run(H.ended(run))
      assert.deepStrictEqual(reasons(all), ["Value", "ROLE_DENIED"])
      assert.deepStrictEqual(ran, [1])
    }).pipe(Effect.provide(EphemeralStores.layer))
  })

  it.live("cause one agent directory for all runs where no agent has groups by role", () => {
    const { body } = counted()
    return Effect.gen(function* () {
      const directory = yield* AgentDirectory
      const of = RoleDirectory.make(directory)
      assert.strictEqual(of(["viewer"]), directory)
      assert.strictEqual(of(undefined), directory)
    }).pipe(Effect.provide(H.layer({ tools: { t: H.reads(body) }, script: [] })))
  })

  it.live("are computed once for runs of the same roles, which share their gates", () => {
    const { body } = counted()
    return Effect.gen(function* () {
      const directory = yield* AgentDirectory
      const of = RoleDirectory.make(directory)
      assert.strictEqual(of(["viewer", "operator"]), of(["operator", "viewer", "viewer"]))
      const agent = of(["viewer"]).get(H.agentName)!
      assert.strictEqual(of(["viewer"]).get(H.agentName), agent)
      assert.notStrictEqual(of(["operator"]).get(H.agentName), agent)
      assert.strictEqual(agent.pins, directory.get(H.agentName)!.pins)
    }).pipe(Effect.provide(H.layer(two(body))))
  })

  it.live("end the start where they are invalid, with what is wrong", () =>
    Effect.gen(function* () {
      const { body } = counted()
      const wrong = H.layer(
        two(body, { agent: { groups: ["knowledge"], groups_by_role: { operator: ["inspect"] } } })
      )
      const exit = yield* Effect.exit(Effect.provide(Effect.void, wrong))
      assert.isTrue(Exit.isFailure(exit))
      const error = Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
      assert.deepInclude(error, {
        _tag: "MisdeclaredAgent",
        field: "groups_by_role",
        value: "inspect"
      })
      // No tool is of such a group: it is misspelt.
      const misspelt = H.layer(two(body, { agent: { groups_by_role: { operator: ["cores"] } } }))
      const failed = yield* Effect.flip(Effect.provide(Effect.void, misspelt))
      assert.deepInclude(failed, { _tag: "MisdeclaredAgent", field: "groups_by_role" })
      assert.include(String(failed), 'no tool is of the group "cores"')
      const decode = Schema.decodeUnknownExit(AgentSpec)
      const spec = { name: "a", instructions: "", groups_by_role: { viewer: ["core"] } }
      assert.isTrue(Exit.isSuccess(decode(spec)))
      for (const groups_by_role of [{ viewer: ["a group"] }, { viewer: "core" }, []]) {
        assert.isTrue(Exit.isFailure(decode({ ...spec, groups_by_role })))
      }
    })
  )
})

describe("rules about roles", () => {
  const subject = { name: "refund", category: "mutate", read_only: false } as const
  const policy = Policy.make({
    mode: "ask",
    rules: [
      { pattern: "refund", permission: "allow", roles: ["operator"] },
      { pattern: "refund", permission: "deny", unless_roles: ["operator", "approver"] },
      { pattern: "refund(all:*)", permission: "deny", roles: ["operator"] }
    ]
  })
  const of = (roles: ReadonlyArray<Role> | undefined, what = "one") =>
    effectivePermission(
      policy,
      subject,
      { what },
      false,
      roles === undefined ? undefined : runOf(roles)
    )

  it("match senders who have one of a rule's roles, or senders who have none of them", () => {
    assert.strictEqual(of(["operator"]), "allow")
    assert.strictEqual(of(["operator", "viewer"]), "allow")
    assert.strictEqual(of(["admin"]), "allow")
    assert.strictEqual(of(["approver"]), "ask")
    assert.strictEqual(of(["viewer"]), "deny")
    assert.strictEqual(of(["customer"]), "deny")
    assert.strictEqual(of([]), "deny")
    assert.strictEqual(of(undefined), "deny")
    assert.strictEqual(of(["operator"], "all of it"), "deny")
    assert.strictEqual(of(["approver"], "all of it"), "ask")
  })

  it("with something else than roles, or without any, make a policy that asks", () => {
    for (const roles of [["Owner"], [], "operator"]) {
      const rules = [{ pattern: "refund", permission: "allow", roles }]
      assert.deepStrictEqual(policyOf({ mode: "allow", rules }), Policy.make({ mode: "ask" }))
    }
  })

  it("leave the decision about other tools known before any call", () => {
    const other = { ...subject, name: "other" }
    assert.strictEqual(permissionFor(policy, other), "ask")
    assert.strictEqual(typeof permissionFor(policy, subject), "function")
  })

  it.live("refuse a call that a role may not make, and name the role", () => {
    const { body, ran } = counted()
    return Effect.gen(function* () {
      const all = yield* H.ended(yield* H.send("hello", "c-1", narrow))
      assert.deepStrictEqual(reasons(all), ["PERMISSION_DENIED", "PERMISSION_DENIED"])
      assert.deepStrictEqual(
        failures(all).map(({ kind, message }) => [kind, message]),
        [
          ["permission", '"t" is not permitted for whoever sent the message.'],
          ["permission", '"never" is not permitted.']
        ]
      )
      const run = yield* H.send("hello", "c-2", wide)
      assert.deepStrictEqual(reasons(yield* H.ended(run, "c-2")), ["Value", "PERMISSION_DENIED"])
      assert.deepStrictEqual(ran, [1])
    }).pipe(
      Effect.provide(
        H.layer({
          tools: { t: H.reads(body), never: H.reads(body) },
          policy: Policy.make({
            rules: [
              { pattern: "test.t@1", permission: "deny", unless_roles: ["approver"] },
              { pattern: "never", permission: "deny" },
              { pattern: "never", permission: "deny", roles: ["operator"] }
            ]
          }),
          script: ({ step }) =>
            step === 1 ? calls([call("t", { n: 1 }), call("never", { n: 2 })]) : text("done")
        })
      )
    )
  })

  it.live("apply to a replay and to a policy's dry run with the roles that the run had", () => {
    const { body } = counted()
    const options = two(body)
    const app: Replay.App<unknown, never> = {
      agents: H.agentsOf(options),
      tools: [H.toolsOf(options.tools!)]
    }
    return Effect.gen(function* () {
      const seen = yield* H.send("hello", "c-1", narrow)
      yield* H.ended(seen)
      const did = yield* H.send("hello", "c-2", wide)
      yield* H.ended(did, "c-2")
      for (const run of [seen, did]) {
        const report = yield* Replay.replay(run, { app })
        assert.isUndefined(report.divergence)
        assert.deepInclude(report.gate, { divergence: undefined })
      }
      const rules = [{ pattern: "lookup", permission: "deny", unless_roles: ["approver"] } as const]
      const trial = (run: typeof seen) => Replay.dryRun({ run }, app, Policy.make({ rules }))
      const [denied, allowed] = [yield* trial(seen), yield* trial(did)]
      // The call that the groups refused never came as far as a policy.
      assert.deepInclude(denied, { calls: 1, now: { allow: 0, ask: 0, deny: 1 } })
      assert.deepInclude(allowed, { calls: 2, now: { allow: 2, ask: 0, deny: 0 } })
    }).pipe(Effect.provide(H.layer(options)))
  })

  it.live("find no role in a run that began before roles were journaled", () => {
    const { body, ran } = counted()
    return Effect.gen(function* () {
      const process = yield* H.withJournal(H.boot(two(body)), (journal) => ({
        begin: ({ accepted: { roles: _roles, ...accepted }, ...beginning }, owner) =>
          journal.begin({ ...beginning, accepted }, owner)
      }))
      const all = yield* process.run(
        Effect.flatMap(H.send("hello", "c-1", wide), (run) => H.ended(run))
      )
      assert.deepStrictEqual(rolesIn(all), [undefined])
      assert.deepStrictEqual(reasons(all), ["ROLE_DENIED", "ROLE_DENIED"])
      assert.lengthOf(ran, 0)
    }).pipe(Effect.provide(EphemeralStores.layer))
  })
})

/** Written apart from the code that it judges. */
const has = (roles: ReadonlyArray<Role>, role: Role): boolean =>
  roles.includes(role) || (roles.includes("admin") && role !== "customer")

/** Random groups, rules and calls for a sender with random roles; it is shown the tools `may`, and may run `may_run`. */
const randomCase = (seed: number) => {
  const random = seeded(seed)
  const some = <A>(of: ReadonlyArray<A>, chance: number): ReadonlyArray<A> =>
    of.filter(() => random() < chance)
  const pick = <A>(of: ReadonlyArray<A>): A => of[Math.floor(random() * of.length)]!
  // One of the roles that may send, and any others.
  const sends = pick<Role>(["operator", "customer", "admin"])
  const roles = rolesOf({ roles: [sends, ...some(common_roles, 0.3)] })
  const groups: GroupsByRole = Object.fromEntries(
    some(common_roles, 0.6).map((role) => [role, some(known_groups, 0.6)])
  )
  const names = known_groups.map((group) => `do_${group}`)
  const rules = some(names, 0.4).map((pattern) => {
    const condition = [pick(common_roles)]
    return random() < 0.5
      ? ({ pattern, permission: "deny", roles: condition } as const)
      : ({ pattern, permission: "deny", unless_roles: condition } as const)
  })
  const may = known_groups
    .filter((group) =>
      common_roles.some((role) => has(roles, role) && groups[role]?.includes(group))
    )
    .map((group) => `do_${group}`)
  const may_run = may.filter((name) =>
    rules.every(
      (rule) =>
        rule.pattern !== name ||
        ("roles" in rule ? !has(roles, rule.roles[0]!) : has(roles, rule.unless_roles[0]!))
    )
  )
  const proposes = () => {
    const name = pick(names)
    return random() < 0.1 ? call(`test.${name}@1`, { n: 1 }) : call(name, { n: 1 })
  }
  const turns = Array.from({ length: 3 }, () => calls(Array.from({ length: 4 }, proposes)))
  return { groups, may, may_run, roles, rules, turns }
}

/** Runs the case: what is shown and what runs is what may be; how many calls ran and how many failed. */
const judged = (seed: number) => {
  const { groups, may, may_run, roles, rules, turns } = randomCase(seed)
  const ran: Array<string> = []
  const tools = Object.fromEntries(
    known_groups.map((group) => [
      `do_${group}`,
      H.reads(() => Effect.sync(() => ran.push(`do_${group}`)), { group })
    ])
  )
  const limits = RunLimits.make({ repeats_max: 0, mistakes_max: 0 })
  return Effect.gen(function* () {
    const { conversation, id } = yield* begin(H.person("p", roles))
    const all = yield* H.ended(id, conversation)
    assert.isTrue(
      ran.every((name) => may_run.includes(name)),
      `seed ${seed}`
    )
    const [request] = yield* H.requests
    assert.deepStrictEqual(
      request!.tools.map(({ name }) => name),
      may,
      `seed ${seed}`
    )
    // Every allowed call runs.
    const wanted = turns
      .flatMap((turn) => turn.calls ?? [])
      .filter(({ name }) => may_run.includes(name))
    assert.lengthOf(ran, wanted.length, `seed ${seed}`)
    return { ran: ran.length, refused: failures(all).length }
  }).pipe(
    Effect.provide(
      H.layer({
        tools,
        agent: { groups_by_role: groups, limits },
        policy: Policy.make({ rules }),
        script: [...turns, text("done")]
      })
    )
  )
}

describe("a run whose sender lacks a role", () => {
  it.live(
    "never executes a filtered tool, whatever its model proposes",
    () =>
      Effect.gen(function* () {
        const seen = { refused: 0, ran: 0 }
        for (let seed = 0; seed < 80; seed++) {
          const { ran, refused } = yield* judged(seed)
          seen.ran += ran
          seen.refused += refused
        }
        assert.isAbove(seen.ran, 100)
        assert.isAbove(seen.refused, 100)
      }),
    { timeout: 60_000 }
  )

  it("keeps each role of its sender once, however often a token names it", () => {
    const named = H.person("p", ["operator", "viewer", "operator", "viewer", "operator", "viewer"])
    assert.deepStrictEqual(rolesOf(named), ["viewer", "operator"])
  })
})
