/** Roles that a service declares: what they may do by method, over HTTP and after a restart, and what is refused at the start. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Schema } from "effect"
import { feature, operation, serve } from "troupe/feature"
import { assert, describe, it } from "vitest"
import type { NodeService } from "../../layers/compose/promises/NodeService.ts"
import type { Options } from "../../layers/compose/options/ServiceOptions.ts"
import { start } from "../../layers/compose/entries/Embed.ts"
import { call, layer as scripted, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { AgentName } from "../../src/value/Ids.ts"
import { Policy } from "../../src/permission/Policy.ts"
import type { PrincipalInput, Role } from "../../src/principal/Principal.ts"
import * as Entries from "../../src/entry/ArgumentReaders.ts"
import { DeclaredRoles, declaredRoles } from "../../src/principal/Rights.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"
import { inLongFormPlain } from "../InLongForm.ts"

const person = (id: string, ...roles: ReadonlyArray<Role>): PrincipalInput => ({
  id,
  tenant: "acme",
  roles
})

const roles = {
  auditor: { inspect: "all", follow: "all", decide: "named", authorize: "named" },
  releaser: { decide: "all", inspect: "all" },
  desk: { send: "all", follow: "all", cancel: "all" },
  keeper: { issueTokens: "all" },
  partner: {},
  // A member of every object.
  constructor: { inspect: "all" }
} as const satisfies Options["roles"]

const admin = person("root", "admin")
const audrey = person("audrey", "auditor")
const rita = person("rita", "releaser")
const dora = person("dora", "desk")
const kim = person("kim", "keeper")

const refundBy = (...approvers: ReadonlyArray<Role>) =>
  tool(
    {
      namespace: "shop",
      name: "refund",
      description: "Pays an order back.",
      side_effects: "external",
      approvers,
      group: "money",
      input: Schema.Struct({ order: Schema.String })
    },
    ({ order }) => Promise.resolve(order)
  )
const refund = refundBy("auditor")
const ship = tool(
  {
    namespace: "shop",
    name: "ship",
    description: "Sends an order.",
    side_effects: "external",
    group: "goods",
    input: Schema.Struct({ order: Schema.String })
  },
  ({ order }) => Promise.resolve(order)
)
const shop = AgentSpec.make({
  name: AgentName.make("shop"),
  instructions: "Help.",
  tools: ["refund", "ship"],
  groups_by_role: { desk: ["money", "goods"], partner: ["goods"] }
})

/** The message names the tool. */
const model = scripted(({ transcript: [first, ...more] }) =>
  first?.role !== "user" || more.length > 0
    ? text("Done.")
    : call(first.text.split(" ")[0]!, { order: "7" })
)

const tokenOf = ({ id }: PrincipalInput) => `token-of-${id}-0123456789`
const tokens = (...people: ReadonlyArray<PrincipalInput>) =>
  people.map((principal) => ({ token: tokenOf(principal), principal }))

const options = {
  agents: [shop],
  tools: [refund, ship],
  model,
  roles,
  customer_agents: ["shop"],
  telemetry: false,
  http: { tokens: tokens(admin, audrey, rita, dora, kim) }
} as const satisfies Options

const during = async (given: Options, use: (troupe: NodeService) => Promise<void>) => {
  const troupe = await start(given)
  try {
    await use(troupe)
  } finally {
    await troupe.stop()
  }
}

const outcome = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => "done",
    (error: { readonly _tag?: string }) => error._tag ?? String(error)
  )

/** What a start is refused with. */
const refusal = async (given: Partial<Options>) => {
  const error = await start({ ...options, ...given }).then(
    (troupe) => troupe.stop().then(() => undefined),
    (error: { readonly _tag: string; readonly field: string; readonly message: string }) => error
  )
  return error && [error._tag, error.field, error.message]
}

const ask = async (troupe: NodeService, token: string, path: string, json?: unknown) => {
  const response = await troupe.handler(
    new Request(`http://localhost${path}`, {
      method: json === undefined ? "GET" : "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(json === undefined ? undefined : { body: JSON.stringify(json) })
    })
  )
  const body = await response.text()
  return { status: response.status, body: body === "" ? {} : JSON.parse(body) }
}

const known =
  "There is: viewer, approver, operator, admin, customer, publisher, auditor, releaser, desk, keeper, partner, constructor."

describe("a role that a service declares", () => {
  it("has its rights with their reach, and no others", () =>
    during(options, async (troupe) => {
      const asked = await troupe.ask({ agent: "shop", text: "refund" }, dora)
      assert.strictEqual(asked.status, "awaiting_approval")
      const question = (await troupe.pending(audrey))[0]!
      assert.deepStrictEqual(question.approvers, ["auditor"])
      assert.deepStrictEqual((await troupe.run(asked.run, audrey)).roles, ["desk"])
      assert.deepStrictEqual(
        await Promise.all([
          outcome(troupe.send({ agent: "shop", text: "hello" }, audrey)),
          outcome(troupe.cancel(asked.run, audrey, "no")),
          outcome(troupe.tokens({}, audrey)),
          outcome(troupe.erase({ subject: "x" }, audrey)),
          outcome(troupe.pending(dora)),
          // A role without rights, and no rights of what every object has.
          outcome(troupe.pending(person("pat", "partner"))),
          outcome(troupe.erase({ subject: "x" }, person("cob", "constructor"))),
          outcome(troupe.pending(person("cob", "constructor")))
        ]),
        [...Array.from({ length: 7 }, () => "NotEntitled"), "done"]
      )
      // Named alone decides, also where another has the right for everything.
      assert.strictEqual(
        await outcome(troupe.decide(question.id, { _tag: "Approve" }, rita)),
        "NotEntitled"
      )
      await troupe.decide(question.id, { _tag: "Approve" }, audrey)
      assert.strictEqual((await troupe.result(asked.run, dora)).text, "Done.")

      // Where nobody is named, those decide that have the right for everything.
      const shipped = await troupe.ask({ agent: "shop", text: "ship" }, dora)
      const [open] = await troupe.pending(rita)
      assert.deepInclude(
        await troupe.decide(open!.id, { _tag: "Approve" }, audrey).catch((error: unknown) => error),
        { _tag: "NotEntitled", needs: ["approver", "operator", "releaser"] }
      )
      await troupe.decide(open!.id, { _tag: "Approve" }, rita)
      assert.strictEqual((await troupe.result(shipped.run, dora)).text, "Done.")

      const canceled = await troupe.ask({ agent: "shop", text: "ship" }, admin)
      await troupe.cancel(canceled.run, dora, "no")
      assert.strictEqual((await troupe.run(canceled.run, admin)).status, "cancelled")
      assert.deepInclude(await troupe.authorize({ agent: "shop", action: "refund" }, audrey), {
        granted_by: "audrey"
      })
      assert.strictEqual(
        await outcome(troupe.authorize({ agent: "shop", action: "ship" }, audrey)),
        "NotEntitled"
      )
    }))

  it("opens the tools of its groups, also to a customer that has it too", () =>
    during(options, async (troupe) => {
      const cara = person("cara", "customer", "partner")
      const refused = await troupe.ask({ agent: "shop", text: "refund" }, cara)
      const events = await troupe.runEvents(refused.run, {}, admin)
      assert.include(JSON.stringify(events), "ROLE_DENIED")
      const asked = await troupe.ask({ agent: "shop", text: "ship" }, cara)
      assert.strictEqual(asked.status, "awaiting_approval")
      // It stays a customer.
      assert.strictEqual(await outcome(troupe.run(asked.run, cara)), "NotEntitled")
      assert.strictEqual(
        await outcome(troupe.send({ agent: "shop", text: "x", context: {} }, cara)),
        "NotEntitled"
      )
    }))

  it("is that of tokens, over HTTP", () =>
    during(options, async (troupe) => {
      const made = await ask(troupe, tokenOf(admin), "/v1/tokens", {
        name: "audit",
        roles: ["viewer", "auditor"]
      })
      assert.strictEqual(made.status, 201, JSON.stringify(made.body))
      assert.deepStrictEqual(made.body.roles, ["viewer", "auditor"])
      const { token } = made.body
      for (const bearer of [token, tokenOf(audrey)]) {
        assert.strictEqual((await ask(troupe, bearer, "/v1/runs")).status, 200)
        const sent = await ask(troupe, bearer, "/v1/messages", { agent: "shop", text: "ship" })
        assert.strictEqual(sent.status, 403)
        assert.include(sent.body.detail, "operator, customer, desk")
      }
      const sent = { agent: "shop", text: "refund" }
      const { body } = await ask(troupe, tokenOf(dora), "/v1/messages", sent)
      await troupe.result(body.task_id, admin)
      const [question] = await troupe.pending(admin)
      const decided = await ask(troupe, token, `/v1/approvals/${question!.id}/decision`, {
        decision: "approve"
      })
      assert.strictEqual(decided.status, 200, JSON.stringify(decided.body))

      const wrong = { name: "n", roles: ["viewer", "audit"] }
      const refused = await ask(troupe, tokenOf(admin), "/v1/tokens", wrong)
      assert.strictEqual(refused.status, 400)
      assert.strictEqual(
        refused.body.detail,
        `payload.roles[1]: there is no role "audit". ${known}`
      )
      assert.deepInclude(await troupe.createToken(wrong, admin).catch((error: unknown) => error), {
        _tag: "InvalidInput",
        field: "payload.roles.1"
      })
    }))

  it("manages tokens only where it says so, and makes nobody an admin", () =>
    during(options, async (troupe) => {
      const bearer = tokenOf(kim)
      const made = await ask(troupe, bearer, "/v1/tokens", { name: "ci", roles: ["operator"] })
      assert.strictEqual(made.status, 201, JSON.stringify(made.body))
      const roots = { name: "root", roles: ["viewer", "admin"] }
      assert.strictEqual((await ask(troupe, bearer, "/v1/tokens", roots)).status, 403)
      assert.strictEqual(await outcome(troupe.createToken(roots, kim)), "NotEntitled")
      assert.strictEqual((await ask(troupe, bearer, "/v1/runs")).status, 403)
      assert.strictEqual((await ask(troupe, tokenOf(audrey), "/v1/tokens")).status, 403)
    }))

  it("is refused in a principal where it is not declared, also one that another service read", () =>
    during(options, async (troupe) => {
      let seen: unknown
      const read = Effect.runSync(
        Effect.provideService(
          Entries.principal(audrey, "by"),
          DeclaredRoles,
          await Effect.runPromise(declaredRoles(roles, "roles"))
        )
      )
      const other = { ...options, roles: { other: { inspect: "all" } }, http: undefined } as const
      const { http: _, tools: __, agents: ___, ...rest } = other
      const bare = AgentSpec.make({ name: AgentName.make("shop"), instructions: "Help." })
      await during({ ...rest, agents: [bare] }, async (second) => {
        const error = await second.pending(audrey).catch((error: unknown) => error)
        assert.deepInclude(error, {
          _tag: "InvalidInput",
          field: "by.roles.0",
          reason:
            'there is no role "auditor". There is: viewer, approver, operator, admin, customer, publisher, other.'
        })
        assert.strictEqual(await outcome(second.pending(read)), "InvalidInput")
        assert.deepStrictEqual(await troupe.pending(read), [])
        seen = await second.pending(person("otto", "other"))
      })
      assert.deepStrictEqual(seen, [])
      assert.strictEqual(await outcome(troupe.pending(person("otto", "other"))), "InvalidInput")
      assert.strictEqual(await outcome(troupe.pending(person("x", "Auditor"))), "InvalidInput")
    }))

  inLongFormPlain(
    "stays with runs and tokens over a restart, and has no right once it is not declared",
    async () => {
      const directory = mkdtempSync(join(tmpdir(), "troupe-roles-"))
      const stored = { ...options, store: { directory } } as const
      let run = ""
      let token = ""
      try {
        await during(stored, async (troupe) => {
          run = (await troupe.ask({ agent: "shop", text: "refund" }, dora)).run
          token = (await troupe.createToken({ name: "a", roles: ["auditor", "viewer"] }, admin))
            .token
        })
        const { roles: _, ...undeclared } = stored
        const agents = [AgentSpec.make({ name: shop.name, instructions: "Help.", tools: ["ship"] })]
        const later = { ...undeclared, agents, tools: [ship], http: { tokens: tokens(admin) } }
        await during(later, async (troupe) => {
          assert.deepStrictEqual((await troupe.run(run, admin)).roles, ["desk"])
          // It is a viewer still, and the question names a role that it has no more.
          assert.strictEqual((await ask(troupe, token, "/v1/runs")).status, 200)
          const [question] = await troupe.pending(admin)
          const path = `/v1/approvals/${question!.id}/decision`
          const decided = await ask(troupe, token, path, { decision: "approve" })
          assert.strictEqual(decided.status, 403, JSON.stringify(decided.body))
          assert.strictEqual(await outcome(troupe.pending(audrey)), "InvalidInput")
        })
      } finally {
        rmSync(directory, { recursive: true, force: true })
      }
    }
  )

  it("has the rights that a feature gives it", () => {
    const look = operation({
      id: "look",
      name: "look",
      method: "GET",
      path: "/v1/looks",
      success: Schema.String,
      right: { auditor: "all" },
      summary: "Look"
    })
    const effects = { look: serve(look, (_, by) => Effect.succeed(by.id)) }
    const looks = feature({ name: "looks", groups: [{ id: "looks", title: "Looks", effects }] })
    return during({ ...options, features: [looks] }, async (troupe) => {
      const methods = troupe.of(looks)
      assert.strictEqual(await methods.look(audrey), "audrey")
      assert.strictEqual(await outcome(methods.look(dora)), "NotEntitled")
      assert.strictEqual((await ask(troupe, tokenOf(audrey), "/v1/looks")).body, "audrey")
      assert.strictEqual((await ask(troupe, tokenOf(dora), "/v1/looks")).status, 403)
    })
  })

  it("ends the start where something names one that there is not", async () => {
    const noRole = `there is no role "auditer". ${known}`
    assert.deepStrictEqual(await refusal({ tools: [refundBy("approver", "auditer"), ship] }), [
      "MisdeclaredTool",
      "approvers.1",
      `tool "refund", field "approvers.1": ${noRole} Name one of these, or declare the role with its rights (\`roles\` of a start).`
    ])
    const observed = (...approvers: ReadonlyArray<Role>) =>
      refusal({
        roles: { ...roles, observer: { inspect: "all", authorize: "named" } },
        tools: [refundBy(...approvers), ship]
      })
    for (const idle of ["observer", "publisher"]) {
      assert.deepStrictEqual(await observed("auditor", idle), [
        "MisdeclaredTool",
        "approvers.1",
        `tool "refund", field "approvers.1": the role "${idle}" lacks the right "decide", so it can answer no question. These have it: viewer, approver, operator, admin, customer, auditor, releaser. Name one of these, or declare the role with \`decide: "named"\` (\`roles\` of a start).`
      ])
    }
    assert.isUndefined(await observed("auditor", "admin", "customer"))
    const agents = [AgentSpec.make({ ...shop, groups_by_role: { auditer: ["money"] } })]
    assert.deepStrictEqual(await refusal({ agents }), [
      "MisdeclaredAgent",
      "groups_by_role",
      `agent "shop", field "groups_by_role": ${noRole}`
    ])
    for (const which of ["roles", "unless_roles"] as const) {
      const policy = Policy.make({
        rules: [{ pattern: "refund", permission: "deny", [which]: ["admin", "auditer"] }]
      })
      const field = `rules.0.${which}.1`
      assert.deepStrictEqual(await refusal({ policy }), [
        "MisdeclaredPolicy",
        field,
        `policy, ${field}: ${noRole}`
      ])
    }
    assert.deepStrictEqual(
      await refusal({ http: { tokens: tokens(admin, person("a", "viewer", "auditer")) } }),
      [
        "InvalidInput",
        "http.tokens.1.principal.roles.1",
        `http.tokens[1].principal.roles[1]: ${noRole}`
      ]
    )
  })
})

describe("the option roles", () => {
  const problem = (given: unknown) =>
    Effect.runPromise(
      Effect.match(declaredRoles(given, "roles"), {
        onFailure: ({ field, reason }) => [field, reason],
        onSuccess: (read) => [...read.keys()]
      })
    )

  it("takes names of its own, with rights of the table and their reach", async () => {
    assert.deepStrictEqual(await problem(roles), Object.keys(roles))
    const shape = "a role has a lower-case name such as auditor: 1 to 63 letters, digits, _ or -"
    const common = "every service has this role, and none declares it"
    const cases: ReadonlyArray<readonly [given: unknown, field: string, message: string]> = [
      [{ admin: {} }, "roles.admin", common],
      [{ auditor: {}, customer: { inspect: "all" } }, "roles.customer", common],
      [{ Auditor: {} }, "roles.Auditor", shape],
      [{ ["a".repeat(64)]: {} }, `roles.${"a".repeat(64)}`, shape],
      [{ "": {} }, "roles.", shape],
      [
        { auditor: { inspekt: "all" } },
        "roles.auditor.inspekt",
        'there is no such member. Did you mean "inspect"?'
      ],
      // Only a customer is limited to its own.
      [{ auditor: { inspect: "own" } }, "roles.auditor.inspect", 'Expected "all"'],
      [{ auditor: { decide: "own" } }, "roles.auditor.decide", 'Expected "named" | "all"'],
      [{ auditor: { readNotices: "all" } }, "roles.auditor.readNotices", 'Expected "own"'],
      [{ auditor: { issueTokens: "named" } }, "roles.auditor.issueTokens", 'Expected "all"'],
      [{ auditor: null }, "roles.auditor", "Expected object"],
      [[], "roles", "it is a list: write an object"],
      [
        Object.fromEntries(Array.from({ length: 33 }, (_, at) => [`role${at}`, {}])),
        "roles",
        "Expected a value with at most 32 entries"
      ]
    ]
    for (const [given, ...expected] of cases) {
      assert.deepStrictEqual(await problem(given), expected)
    }
  })
})
