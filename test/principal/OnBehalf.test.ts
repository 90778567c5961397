/** A backend that acts for its users: what it may do for whom, what records say of it, and what its log says of refusals. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger, References } from "effect"
import { Troupe } from "../../layers/compose/entries/Troupe.ts"
import { call, scripted, text } from "../../layers/compose/entries/Testing.ts"
import type { PrincipalInput } from "../../src/principal/Principal.ts"
import { Principal } from "../../src/principal/Principal.ts"
import { AgentSpec, tool } from "../../src/index.ts"
import { Tenant } from "../../src/value/Ids.ts"
import { Schema } from "effect"

const tenant = "default"
const web = { id: "web", tenant, roles: ["shop-backend"] }
const office = { id: "office", tenant, roles: ["back-office"] }
const carl: PrincipalInput = { id: "carl", tenant, roles: ["customer"], via: web }
const dora: PrincipalInput = { id: "dora", tenant, roles: ["customer"], via: web }
const anna: PrincipalInput = { id: "anna", tenant, roles: ["approver"], via: office }
const admin: PrincipalInput = { id: "admin", tenant, roles: ["admin"] }
const foreign = { id: "web", tenant: "other", roles: ["shop-backend"] }
const tokenOf = (id: string) => `a token of ${id} that is long enough`

const refund = tool(
  {
    namespace: "shop",
    name: "refund",
    description: "Pays an order back.",
    side_effects: "external",
    input: Schema.Struct({ order: Schema.String })
  },
  ({ order }) => `order ${order} is paid back`
)

const payout = tool(
  {
    namespace: "shop",
    name: "payout",
    description: "Pays out.",
    side_effects: "external",
    approvers: ["operator"],
    input: Schema.Struct({})
  },
  () => "paid"
)

const roles = {
  "shop-backend": {
    actFor: { customer: ["send", "follow", "cancel", "deleteConversations"] as const }
  },
  "back-office": { actFor: { approver: ["decide", "inspect", "follow"] as const } }
}

/** A line of the log, and its fields. */
interface Line {
  readonly said: string
  readonly fields: Readonly<Record<string, unknown>>
}

const served = () => {
  const lines: Array<Line> = []
  const logger = Logger.make(({ fiber, message }) => {
    lines.push({ said: String(message), fields: fiber.getRef(References.CurrentLogAnnotations) })
  })
  const layer = Troupe.layer({
    agents: [
      AgentSpec.make({
        name: "shop",
        instructions: "Help customers.",
        tools: ["refund", "payout"]
      }),
      AgentSpec.make({ name: "desk", instructions: "Help staff." })
    ],
    tools: [refund, payout],
    customer_agents: ["shop"],
    roles,
    model: scripted(({ transcript: [first, ...more] }) =>
      first?.role === "user" && first.text === "refund" && more.length === 0
        ? call("refund", { order: "7" })
        : first?.role === "user" && first.text === "payout" && more.length === 0
          ? call("payout", {})
          : text("Good day.")
    ),
    http: {
      port: 0,
      tokens: [
        ...[web, office, foreign].map((principal) => ({
          token: tokenOf(`${principal.id} of ${principal.tenant}`),
          principal
        })),
        { token: tokenOf("carl"), principal: { id: "carl", tenant, roles: ["customer"] } },
        { token: tokenOf("admin"), principal: admin },
        { token: tokenOf("dora through web"), principal: dora },
        { token: tokenOf("web through office"), principal: { ...web, via: office } }
      ]
    }
  }).pipe(Layer.provideMerge(Logger.layer([logger])))
  const refusals = () =>
    lines
      .filter(({ said }) => said.startsWith("what somebody asks for another"))
      .map(({ fields }) => fields)
  return { layer, refusals }
}

/** The error of an effect, by its tag and its text. */
const refusal = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(
    Effect.flip(effect),
    (error) => error as { readonly _tag: string; readonly message: string }
  )

const message = { agent: "shop", text: "hello" }

describe("a principal for whom somebody acts", () => {
  it.live("does what it may, and events, runs, approvals and erasures name both", () => {
    const { layer } = served()
    return Effect.gen(function* () {
      const troupe = yield* Troupe
      const asked = yield* troupe.ask({ ...message, text: "refund" }, carl)
      assert(asked.status === "awaiting_approval")
      const [question] = yield* troupe.pending(anna)
      const denial = { _tag: "Deny", reason: "too late" } as const
      const decided = yield* troupe.decide(question!.id, denial, anna)
      assert.deepInclude(decided, { decided_by: "anna", decided_via: "office" })
      assert.strictEqual((yield* troupe.result(asked.run, carl)).status, "complete")

      const [item] = yield* troupe.runs({}, admin)
      assert.deepInclude(item, { by: "carl", via: "web" })
      assert.deepInclude(yield* troupe.run(asked.run, admin), { by: "carl", via: "web" })
      const events = (yield* troupe.runEvents(asked.run, {}, admin)).map(({ event }) => event)
      const of = (tag: string) => events.find(({ _tag }) => _tag === tag)
      assert.deepInclude(of("RunAccepted"), { by: "carl", via: "web", roles: ["customer"] })
      assert.deepInclude(of("ApprovalDecided"), { by: "anna", via: "office" })
      assert.deepInclude(of("CallSettled"), { by: "anna", via: "office" })

      const parked = yield* troupe.ask({ ...message, text: "refund" }, carl)
      yield* troupe.cancel(parked.run, carl, "I changed my mind")
      const stopped = yield* troupe.runEvents(parked.run, {}, admin)
      const stopping = stopped.find(({ event }) => event._tag === "RunStopping")?.event
      assert.deepInclude(stopping, { by: "carl", via: "web" })

      yield* troupe.deleteConversation(parked.conversation, carl)
      const [erasure] = yield* troupe.erasures({}, admin)
      assert.deepInclude(erasure, { of: "conversation", by: "carl", via: "web" })
    }).pipe(Effect.provide(layer))
  })

  it.live("may no more than itself, and no more than the other's role names of its rights", () => {
    const { layer, refusals } = served()
    return Effect.gen(function* () {
      const troupe = yield* Troupe
      const { conversation, run } = yield* troupe.ask(message, dora)
      yield* troupe.ask({ ...message, text: "payout" }, dora)
      const [question] = yield* troupe.pending(admin)
      const both = { ...anna, roles: ["approver", "operator"] }
      const acts: Readonly<Record<string, Effect.Effect<unknown, unknown>>> = {
        "another's conversation": troupe.messages(conversation, {}, carl),
        "another's run": troupe.result(run, carl),
        "a cancel of another's run": troupe.cancel(run, carl, "no"),
        "a message to another's conversation": troupe.send({ ...message, conversation }, carl),
        "a message to whoever has it": troupe.send({ conversation, text: "hello" }, carl),
        "an agent for staff": troupe.send({ agent: "desk", text: "hello" }, carl),
        "a right that the user lacks": troupe.runs({}, carl),
        "a right that the role does not name": troupe.clientCalls(conversation, dora),
        "a decision by a role that the role does not name": troupe.decide(
          question!.id,
          { _tag: "Approve" },
          both
        ),
        "a role that the role does not name": troupe.runs({}, { ...anna, via: web }),
        "an admin": troupe.runs({}, { ...admin, via: office }),
        "a role of nobody": troupe.send(message, { ...carl, via: { ...web, roles: [] } }),
        "an admin's help": troupe.send(message, { ...carl, via: { ...web, roles: ["admin"] } }),
        "a token for another": troupe.createToken({ name: "x", roles: ["viewer"] }, anna)
      }
      const tags: Record<string, string> = {}
      for (const [act, effect] of Object.entries(acts)) tags[act] = (yield* refusal(effect))._tag
      assert.deepStrictEqual(tags, {
        "another's conversation": "ConversationNotFound",
        "another's run": "RunNotFound",
        "a cancel of another's run": "RunNotFound",
        "a message to another's conversation": "ConversationNotFound",
        "a message to whoever has it": "ConversationNotFound",
        "an agent for staff": "NotForCustomers",
        "a right that the user lacks": "NotEntitled",
        "a right that the role does not name": "NotEntitled",
        "a decision by a role that the role does not name": "NotEntitled",
        "a role that the role does not name": "NotEntitled",
        "an admin": "NotEntitled",
        "a role of nobody": "NotEntitled",
        "an admin's help": "NotEntitled",
        "a token for another": "NotEntitled"
      })
      assert.lengthOf(yield* troupe.runs({}, admin), 2)
      assert.lengthOf(yield* troupe.pending(admin), 1)
      const said = refusals()
      assert.lengthOf(said, Object.keys(acts).length)
      for (const line of said.slice(0, 5)) {
        assert.deepInclude(line, { tenant, principal: "carl", via: "web", reason: "dora began it" })
      }
      assert.include(said[7]?.["reason"], "web may not do this for dora")
      assert.strictEqual(said[7]?.["right"], "answer")
    }).pipe(Effect.provide(layer))
  })

  it.live("is of the same tenant, in one step, with roles that there are", () => {
    const { layer } = served()
    return Effect.gen(function* () {
      const troupe = yield* Troupe
      const instance = new Principal({
        id: "web",
        tenant: Tenant.make(tenant),
        roles: ["shop-backend"]
      })
      assert.strictEqual(
        (yield* troupe.ask(message, { ...carl, via: instance })).status,
        "complete"
      )
      const wrong = {
        "by.via.tenant is another tenant's": { ...carl, via: foreign },
        "by.via.via: who acts for somebody acts itself": { ...carl, via: carl },
        "by.via.roles[0]: there is no role": { ...carl, via: { ...web, roles: ["stranger"] } },
        "by.via.id": { ...carl, via: { ...web, id: "" } },
        "by.via": { ...carl, via: "web" }
      }
      for (const [expected, by] of Object.entries(wrong)) {
        const { _tag, message: said } = yield* refusal(troupe.send(message, by as PrincipalInput))
        assert.strictEqual(_tag, "InvalidInput")
        assert.include(said, expected)
      }
      assert.lengthOf(yield* troupe.runs({}, admin), 1)
    }).pipe(Effect.provide(layer))
  })

  it.live(
    "is none of a start whose roles act for an admin, for nobody that there is, or beyond what is recorded",
    () =>
      Effect.gen(function* () {
        const refusedRoles = (actFor: unknown) =>
          refusal(
            Effect.provide(
              Troupe,
              Troupe.layer({
                agents: [],
                model: scripted([]),
                roles: { backend: { actFor } } as never
              })
            )
          )
        const wrong: ReadonlyArray<readonly [unknown, string]> = [
          [{ admin: ["send"] }, "roles.backend.actFor.admin: nobody acts for an admin"],
          [{ stranger: ["send"] }, "roles.backend.actFor.stranger: there is no role"],
          [{ customer: ["issueTokens"] }, "roles.backend.actFor.customer[0]"],
          [{ customer: [] }, "roles.backend.actFor.customer"],
          ["all", "roles.backend.actFor"]
        ]
        for (const [actFor, expected] of wrong) {
          assert.include((yield* refusedRoles(actFor)).message, expected)
        }
      })
  )
})

interface Given {
  readonly as: string
  readonly for?: string | ReadonlyArray<string>
  readonly json?: unknown
  readonly method?: string
}

const request = Effect.fnUntraced(function* (path: string, { as, for: user, json, method }: Given) {
  const url = (yield* Troupe).url
  return yield* Effect.promise(async () => {
    const headers = new Headers({ authorization: `Bearer ${tokenOf(as)}` })
    for (const each of user === undefined ? [] : [user].flat()) headers.append("on-behalf-of", each)
    if (json !== undefined) headers.set("content-type", "application/json")
    const response = await fetch(new URL(path, url), {
      method: method ?? (json === undefined ? "GET" : "POST"),
      headers,
      ...(json === undefined ? undefined : { body: JSON.stringify(json) })
    })
    const said = await response.text()
    return {
      status: response.status,
      said,
      json: said === "" ? undefined : JSON.parse(said),
      id: response.headers.get("x-correlation-id")
    }
  })
})

const backend = "web of default"

describe("a request on behalf of a user", () => {
  it.live("is the user's: it reaches the user's own, and the record names both", () => {
    const { layer, refusals } = served()
    return Effect.gen(function* () {
      const troupe = yield* Troupe
      const sent = yield* request("/v1/messages", { as: backend, for: "d%C3%B6ra", json: message })
      assert.strictEqual(sent.status, 202)
      assert.deepInclude(yield* troupe.run(sent.json.run_id, admin), {
        by: "döra",
        via: "web",
        roles: ["customer"]
      })
      const path = `/v1/conversations/${sent.json.conversation_id}`
      assert.strictEqual((yield* request(path, { as: backend, for: "d%C3%B6ra" })).status, 200)

      const fixed = yield* request("/v1/messages", { as: "dora through web", json: message })
      assert.deepInclude(yield* troupe.run(fixed.json.run_id, admin), { by: "dora", via: "web" })

      const hidden = yield* request(path, { as: backend, for: "carl" })
      assert.strictEqual(hidden.status, 404)
      for (const secret of ["döra", "web", "began"]) assert.notInclude(hidden.said, secret)
      assert.deepStrictEqual(refusals(), [
        {
          right: "follow",
          tenant,
          principal: "carl",
          via: "web",
          error: "ConversationNotFound",
          reason: "döra began it",
          correlation_id: hidden.id
        }
      ])
      const elsewhere = yield* request(path, { as: "web of other", for: "d%C3%B6ra" })
      assert.strictEqual(elsewhere.status, 404)
      assert.include(refusals()[1]?.["reason"], "there is no conversation")
    }).pipe(Effect.provide(layer))
  })

  it.live("decides for staff whose role its own role names, and says so in the approval", () => {
    const { layer } = served()
    return Effect.gen(function* () {
      const troupe = yield* Troupe
      const asked = yield* troupe.ask({ ...message, text: "refund" }, carl)
      assert(asked.status === "awaiting_approval")
      const [question] = yield* troupe.pending(admin)
      const path = `/v1/approvals/${question!.id}/decision`
      const json = { decision: "approve" }
      const by = (user: string, as = "office of default") => request(path, { as, for: user, json })
      assert.strictEqual((yield* by("anna")).status, 403)
      assert.strictEqual((yield* by("anna; roles=operator")).status, 403)
      assert.strictEqual((yield* by("anna; roles=admin")).status, 403)
      assert.strictEqual((yield* by("anna; roles=approver", backend)).status, 403)
      const decided = yield* by("anna; roles=approver viewer")
      assert.deepInclude(decided.json, { decided_by: "anna", decided_via: "office" })
      assert.strictEqual((yield* by("anna; roles=approver")).status, 409)
    }).pipe(Effect.provide(layer))
  })

  it.live(
    "is refused from every token whose role acts for nobody, and for every other form of the header",
    () => {
      const { layer } = served()
      return Effect.gen(function* () {
        const troupe = yield* Troupe
        const send = (as: string, user: Given["for"], json: unknown = message) =>
          Effect.map(
            request("/v1/messages", { as, json, ...(user === undefined ? {} : { for: user }) }),
            (answer) => answer.status
          )
        assert.strictEqual(yield* send("carl", "dora"), 403)
        assert.strictEqual(yield* send("carl", "carl"), 403)
        assert.strictEqual(yield* send("admin", "carl"), 403)
        assert.strictEqual(yield* send(backend, undefined), 403)
        // It is told of no role, and a token of a user for whom its backend acts begins no chain.
        assert.strictEqual(yield* send("carl", "dora; roles=stranger"), 403)
        assert.strictEqual(yield* send("dora through web", "carl"), 403)
        assert.strictEqual(yield* send("web through office", "carl"), 403)
        const forms = [
          "",
          "carl, dora",
          "carl,dora",
          ["carl", "dora"],
          ["carl; roles=customer", "customer"],
          "carl dora",
          "carl; roles=",
          "carl; roles=customer,approver",
          "carl; via=office",
          "carl; roles=customer; roles=approver",
          "%ff",
          "%00",
          "c\u00e4rl",
          "x".repeat(201)
        ]
        for (const form of forms) assert.strictEqual(yield* send(backend, form), 400, String(form))
        assert.strictEqual(yield* send(backend, "carl; roles=stranger"), 400)
        assert.strictEqual(yield* send("carl", undefined, { ...message, via: "web" }), 400)
        assert.strictEqual(yield* send("carl", undefined, { ...message, by: "dora" }), 400)
        assert.deepStrictEqual(yield* troupe.runs({}, admin), [])
      }).pipe(Effect.provide(layer))
    }
  )
})
