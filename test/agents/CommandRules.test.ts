/** Rules of a policy about `run_command`, with real programs behind the gate of a real runtime. */
import { mkdtempSync, realpathSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as CommandTool from "../../layers/builtin/CommandHandler.ts"
import * as Runtime from "../../layers/compose/assembly/Runtime.ts"
import * as Stores from "../../layers/compose/assembly/StoreLayers.ts"
import { call, layer as scripted, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { ApprovalDesk } from "../../services/ApprovalDesk.ts"
import { RunReader } from "../../services/RunReader.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { AgentName, ConversationId, Tenant } from "../../src/value/Ids.ts"
import { effectivePermission, Policy } from "../../src/permission/Policy.ts"
import type { PermissionMode } from "../../src/permission/Policy.ts"
import { Principal } from "../../src/principal/Principal.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"
import type { Permission } from "../../src/tool/SideEffects.ts"
import { eventually } from "../contracts/Contract.ts"

const olga = new Principal({ id: "olga", tenant: Tenant.make("acme"), roles: ["admin"] })
const name = AgentName.make("builder")
const agent = AgentSpec.make({
  name,
  instructions: "Build.",
  tools: ["run_command"],
  capabilities: ["process.run"]
})

const place = Effect.acquireRelease(
  Effect.sync(() => realpathSync(mkdtempSync(join(tmpdir(), "troupe-rules-")))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true }))
)

const policyOf = (mode: PermissionMode, rules: Readonly<Record<string, Permission>>): Policy =>
  Policy.make({
    mode,
    rules: Object.entries(rules).map(([pattern, permission]) => ({ pattern, permission }))
  })

type Words = readonly [program: string, ...args: ReadonlyArray<string>]

/** What the program printed, `asked` where a person would have to say, or the reason of the refusal. */
const outcomeOf = (policy: Policy, [program, ...args]: Words) =>
  Effect.gen(function* () {
    const root = yield* place
    const layer = Runtime.layer({
      agents: [agent],
      tools: [CommandTool.tools({ root, programs: ["echo", "env"] })],
      policy
    }).pipe(
      Layer.provide(scripted([call("run_command", { program, args }), text("done")])),
      Layer.provideMerge(Stores.ephemeral)
    )
    return yield* Effect.gen(function* () {
      const { task } = yield* AgentRuntime.use((agents) =>
        agents.send({ agent: name, conversation: ConversationId.make("c"), text: "go" }, olga)
      )
      const is = yield* eventually(
        Effect.gen(function* () {
          const entries = yield* RunReader.use((reader) => reader.read(task.id, 0, 1_000))
          const settled = entries.find(({ event }) => event._tag === "CallSettled")?.event
          const asked = yield* ApprovalDesk.use((desk) => desk.pending(olga, 10))
          return { settled, asked: asked.length > 0 }
        }),
        ({ asked, settled }) => asked || settled !== undefined
      )
      if (is.settled?._tag !== "CallSettled") return "asked"
      const { outcome } = is.settled
      if (outcome._tag === "Value") return (JSON.parse(outcome.json) as { stdout: string }).stdout
      return outcome._tag === "Failed" ? outcome.error.reason : outcome._tag
    }).pipe(Effect.provide(layer))
  }).pipe(Effect.scoped)

const outcomes = (policy: Policy, calls: ReadonlyArray<Words>) =>
  Effect.forEach(calls, (words) => outcomeOf(policy, words))

describe("rules about run_command", () => {
  it.live(
    "AG-59 a rule that denies reads the program and its arguments, however they are cut",
    () =>
      Effect.gen(function* () {
        const policy = policyOf("allow", { "run_command(echo evil:*)": "deny" })
        const refused = yield* outcomes(policy, [
          ["echo", "evil", "x"],
          ["echo", "evil"],
          ["echo", "evil x"],
          ["echo", "", "evil"],
          ["echo", "  evil"],
          ["echo", "evil\tx"],
          ["echo", "evilly"]
        ])
        assert.deepStrictEqual([...new Set(refused)], ["PERMISSION_DENIED"])
        const ran = yield* outcomes(policy, [["echo", "good"], ["echo", "good", "evil"], ["echo"]])
        assert.deepStrictEqual(ran, ["good\n", "good evil\n", "\n"])
      })
  )

  it.live("AG-59 a rule that allows has to meet its words whole, and asks for any other call", () =>
    Effect.gen(function* () {
      const policy = policyOf("ask", { "run_command(echo test:*)": "allow" })
      const ran = yield* outcomes(policy, [
        ["echo", "test"],
        ["echo", "test", "; rm"]
      ])
      assert.deepStrictEqual(ran, ["test\n", "test ; rm\n"])
      const asked = yield* outcomes(policy, [
        ["echo", "test; rm"],
        ["echo", "test x"],
        ["echo", "testify"],
        ["echo", '"test"'],
        ["echo", "", "test"],
        ["echo test"],
        ["echo"],
        ["env", "echo", "test"]
      ])
      assert.deepStrictEqual([...new Set(asked)], ["asked"])
    })
  )

  it.live("AG-60 of rules that meet one call the strictest wins", () =>
    Effect.gen(function* () {
      const policy = policyOf("deny", {
        "run_command(echo:*)": "allow",
        "process.run_command@1(echo push:*)": "ask",
        "run_command(echo push --force:*)": "deny"
      })
      const found = yield* outcomes(policy, [
        ["echo", "pull"],
        ["echo", "push", "origin"],
        ["echo", "push", "--force"],
        ["env"]
      ])
      assert.deepStrictEqual(found, ["pull\n", "asked", "PERMISSION_DENIED", "PERMISSION_DENIED"])
    })
  )
})

describe("rule_arguments", () => {
  it.effect("may name any arguments of a tool, and no others", () =>
    Effect.gen(function* () {
      const declared = (rule_arguments: ReadonlyArray<string>) =>
        tool(
          {
            namespace: "shop",
            name: "pay",
            side_effects: "external",
            input_schema: { type: "object", properties: { to: { type: "string" }, n: {} } },
            rule_arguments
          },
          () => null
        ).spec
      assert.deepStrictEqual((yield* declared(["to", "n"])).rule_arguments, ["to", "n"])
      const stray = yield* Effect.flip(declared(["to", "too"]))
      assert.deepInclude(stray, { _tag: "MisdeclaredTool", field: "rule_arguments" })
      assert.include(stray.message, '"too". Name some of: to, n.')
      assert.match((yield* Effect.flip(declared([]))).field, /^rule_arguments/)
    })
  )

  it("are read as words, numbers as they are written, and nothing where none was given", () => {
    const subject = {
      name: "pay",
      category: "mutate",
      read_only: false,
      rule_arguments: ["to", "n"]
    } as const
    const policy = policyOf("ask", { "pay(bob 10:*)": "allow", "pay(eve 6:*)": "deny" })
    const of = (args: unknown) => effectivePermission(policy, subject, args, false)
    assert.strictEqual(of({ n: 10, to: "bob" }), "allow")
    assert.strictEqual(of({ to: "bob", n: 100 }), "ask")
    assert.strictEqual(of({ to: "bob", n: [10, { a: 1 }] }), "allow")
    assert.strictEqual(of({ to: "eve", n: 66 }), "deny")
    for (const none of [{ to: null, n: {} }, {}, null, "bob 10", ["bob", 10]]) {
      assert.strictEqual(of(none), "ask")
    }
  })
})
