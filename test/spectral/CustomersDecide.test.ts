/** A customer over real HTTP: it decides about changes in its own conversations, and authorises some in advance. */
import { createHash } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { HttpServer } from "effect/http"
import * as Server from "../../layers/compose/assembly/HttpSurface.ts"
import * as Stores from "../../layers/compose/assembly/StoreLayers.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import type { Script } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { ApiClient } from "../../scripts/chat/ApiClient.ts"
import { Session } from "../../scripts/chat/Session.ts"
import { View } from "../../scripts/chat/View.ts"
import { spectral_name } from "../../src/spectral/agents/SpectralAgents.ts"
import type { RunId } from "../../src/value/Ids.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { AgentName, Tenant } from "../../src/value/Ids.ts"
import type { Role } from "../../src/principal/Principal.ts"
import * as H from "../runtime/Harness.ts"
import { ask as delegate, ended, over, question } from "./Workspace.ts"
import type { Changes } from "./Workspace.ts"

const beta = Tenant.make("beta")
const people: ReadonlyArray<readonly [id: string, role: Role, tenant: Tenant]> = [
  ["carl", "customer", H.tenant],
  ["cora", "customer", H.tenant],
  ["olga", "operator", H.tenant],
  ["vera", "viewer", H.tenant],
  ["boris", "customer", beta]
]
const credentials = people.map(([id, role, tenant]) => ({
  sha256: createHash("sha256").update(id).digest("hex"),
  principal: H.person(id, [role], tenant)
}))

const applies: Script = ({ agent, step }) =>
  agent === spectral_name
    ? step === 1
      ? delegate("change-manager", "apply change set 7")
      : text("as you say")
    : step === 1
      ? call("apply_changeset", { n: 7 })
      : text("reported")

/** For the staff, though one of its tools names customers. */
const backoffice = AgentSpec.make({
  name: AgentName.make("backoffice"),
  instructions: "Help the staff.",
  tools: ["apply_changeset"]
})

const served = (done: Changes, bodies: Readonly<Record<string, H.TestTool>> = {}) =>
  Server.layer({
    listen: { port: 0 },
    credentials,
    settings: { customer_agents: [spectral_name] }
  }).pipe(
    Layer.provideMerge(over({ done, bodies, script: applies, others: [backoffice] })),
    Layer.provideMerge(Stores.ephemeral)
  )

// oxlint-disable-next-line typescript/no-explicit-any -- what a foreign client sees has no type
type Json = any

/** Has a request posted without a body. */
const no_body = null

const ask = Effect.fnUntraced(function* (as: string, path: string, json?: unknown) {
  const { address } = yield* HttpServer.HttpServer
  return yield* Effect.promise(async () => {
    const response = await fetch(`${HttpServer.formatAddress(address)}${path}`, {
      method: json === undefined ? "GET" : "POST",
      headers: {
        authorization: `Bearer ${as}`,
        ...(json === undefined || json === no_body
          ? undefined
          : { "content-type": "application/json" })
      },
      ...(json === undefined || json === no_body ? undefined : { body: JSON.stringify(json) })
    })
    const read: Json = await response.json()
    return { status: response.status, json: read }
  })
})

const begin = Effect.fnUntraced(function* (as: string) {
  const { json } = yield* ask(as, "/v1/messages", { agent: "spectral", text: "apply 7" })
  return { run: json.run_id as RunId, conversation: json.conversation_id as string }
})

/** The first events of a conversation as a customer is sent them, up to one with this tag. */
const shown = Effect.fnUntraced(function* (as: string, conversation: string, tag: string) {
  const { address } = yield* HttpServer.HttpServer
  return yield* Effect.promise(async () => {
    const stream = await fetch(
      `${HttpServer.formatAddress(address)}/v1/conversations/${conversation}/events`,
      { headers: { authorization: `Bearer ${as}` } }
    )
    let seen = ""
    for await (const piece of stream.body!.pipeThrough(new TextDecoderStream())) {
      seen += piece
      const line = seen
        .split("\n")
        .find((each) => each.startsWith("data: ") && each.includes(`"_tag":"${tag}"`))
      if (line !== undefined) return JSON.parse(line.slice(6)).event as Json
    }
    throw new Error("the stream ended")
  })
})

const approve = { decision: "approve" }
const authorise = { agent: "change-manager", action: "apply_changeset" }

describe("a customer", () => {
  it.live("SA-25 is asked about a change that it wanted, and it happens when it agrees", () => {
    const done: Changes = []
    return Effect.gen(function* () {
      const { conversation, run } = yield* begin("carl")
      const { approval } = yield* question(run)
      const event = yield* shown("carl", conversation, "ApprovalRequested")
      assert.deepStrictEqual(Object.keys(event).toSorted(), ["_tag", "approval", "payload"])
      assert.deepInclude(event.payload, {
        tool_name: "apply_changeset",
        agent_name: "change-manager",
        correlation_id: approval
      })
      const path = `/v1/approvals/${approval}/decision`
      // Another customer of the workspace does not find it, nor does one of another; a viewer may not decide.
      assert.strictEqual((yield* ask("cora", path, approve)).status, 404)
      assert.strictEqual((yield* ask("boris", path, approve)).status, 404)
      assert.strictEqual((yield* ask("vera", path, approve)).status, 403)
      assert.deepStrictEqual(done, [])
      const decided = yield* ask("carl", path, approve)
      assert.strictEqual(decided.status, 200)
      assert.deepInclude(decided.json, { status: "decided", decided_by: "carl" })
      yield* ended(run)
      assert.deepStrictEqual(done, ["apply_changeset 7"])
      assert.strictEqual((yield* ask("carl", path, approve)).status, 409)
      assert.strictEqual((yield* ask("carl", `/v1/approvals/${approval}`)).status, 403)
      assert.strictEqual((yield* ask("carl", "/v1/approvals")).status, 403)
    }).pipe(Effect.provide(served(done)))
  })

  it.live("is asked in the chat, decides there, and reads the answer", () => {
    const done: Changes = []
    let out = ""
    return Effect.gen(function* () {
      const { address } = yield* HttpServer.HttpServer
      const url = HttpServer.formatAddress(address)
      const session = new Session(
        new ApiClient(() => ({ url, token: "carl" })),
        new View((piece) => (out += piece)),
        "chat",
        undefined
      )
      yield* Effect.promise(async () => {
        const run = await session.send("spectral", "apply 7", false)
        const { pause, shown: seen } = await session.follow(run, 0)
        if (pause.how !== "asked") return assert.fail(pause.how)
        session.view.question(pause.questions[0]!)
        assert.deepStrictEqual(done, [])
        await session.decide(pause.questions[0]!.correlation_id, { decision: "approve" })
        const end = await session.follow(run, seen)
        assert.deepStrictEqual(end.pause, { how: "ended", status: "complete" })
      })
      assert.deepStrictEqual(done, ["apply_changeset 7"])
      assert.include(out, "change-manager asks for approval of apply_changeset")
      assert.include(out, "as you say")
      assert.notInclude(out, "a person of the service")
    }).pipe(Effect.provide(served(done)))
  })

  it.live(
    "may not decide where the tool does not name customers, and is shown no more of it",
    () => {
      const done: Changes = []
      const apply_changeset = H.asks((n) => Effect.sync(() => void done.push(`${n}`)))
      return Effect.gen(function* () {
        const { conversation, run } = yield* begin("carl")
        const { approval } = yield* question(run)
        const event = yield* shown("carl", conversation, "ApprovalRequested")
        assert.deepStrictEqual(event, { _tag: "ApprovalRequested" })
        const refused = yield* ask("carl", `/v1/approvals/${approval}/decision`, approve)
        assert.strictEqual(refused.status, 403)
        const granted = yield* ask("carl", "/v1/authorizations", authorise)
        assert.strictEqual(granted.status, 403)
        assert.deepStrictEqual(done, [])
      }).pipe(Effect.provide(served(done, { apply_changeset })))
    }
  )

  it.live("SA-28 authorises an action in advance, sees it listed, and takes it back", () => {
    const done: Changes = []
    return Effect.gen(function* () {
      const granted = yield* ask("carl", "/v1/authorizations", { ...authorise, uses_max: 5 })
      assert.strictEqual(granted.status, 201)
      assert.deepInclude(granted.json, { ...authorise, granted_by: "carl", uses: 0, uses_max: 5 })
      const { run } = yield* begin("cora")
      yield* ended(run)
      assert.deepStrictEqual(done, ["apply_changeset 7"])
      const { items } = (yield* ask("olga", `/v1/runs/${run}/events?limit=500`)).json
      const dispatched = items.find(({ event }: Json) => event._tag === "CallDispatched")
      assert.deepInclude(dispatched.event.authorized, {
        authorization: granted.json.id,
        by: "carl"
      })
      const listed = yield* ask("cora", "/v1/authorizations")
      assert.deepStrictEqual(
        listed.json.items.map(({ id, uses }: Json) => [id, uses]),
        [[granted.json.id, 1]]
      )
      assert.deepStrictEqual((yield* ask("boris", "/v1/authorizations")).json.items, [])
      const path = `/v1/authorizations/${granted.json.id}/revoke`
      assert.strictEqual((yield* ask("boris", path, no_body)).status, 404)
      const revoked = yield* ask("cora", path, no_body)
      assert.strictEqual(revoked.status, 200)
      assert.strictEqual(revoked.json.revoked_by, "cora")
      assert.deepStrictEqual((yield* ask("carl", "/v1/authorizations")).json.items, [])
      const all = yield* ask("carl", "/v1/authorizations?all=true&limit=1")
      assert.strictEqual(all.json.items[0].id, granted.json.id)
      const next = yield* begin("carl")
      yield* question(next.run)
      assert.lengthOf(done, 1)
    }).pipe(Effect.provide(served(done)))
  })

  it.live("learns of no agent that is not for customers when it authorises", () =>
    Effect.gen(function* () {
      const wrong: ReadonlyArray<readonly [body: object, status: number]> = [
        [{ ...authorise, agent: "operations" }, 404],
        [{ ...authorise, agent: "nobody" }, 404],
        [{ ...authorise, agent: "backoffice" }, 404],
        [{ ...authorise, action: "list_recent_scans" }, 409],
        [{ ...authorise, agent: "spectral" }, 409],
        [{ ...authorise, granted_by: "olga" }, 400],
        [{ ...authorise, holds_ms: 1 }, 400],
        [{ action: "apply_changeset" }, 400]
      ]
      for (const [body, status] of wrong) {
        const answer = yield* ask("carl", "/v1/authorizations", body)
        assert.strictEqual(answer.status, status, JSON.stringify([body, answer.json]))
        assert.notInclude(answer.json.available ?? [], "operations")
      }
      assert.strictEqual((yield* ask("vera", "/v1/authorizations", authorise)).status, 403)
      const theirs = yield* ask("olga", "/v1/authorizations", {
        ...authorise,
        agent: "backoffice"
      })
      assert.strictEqual(theirs.status, 201)
      assert.deepStrictEqual((yield* ask("carl", "/v1/authorizations")).json.items, [])
      const revoke = `/v1/authorizations/${theirs.json.id}/revoke`
      assert.strictEqual((yield* ask("carl", revoke, no_body)).status, 404)
      const bad = yield* ask("carl", "/v1/authorizations/not-an-id/revoke", no_body)
      assert.include([400, 404], bad.status)
      assert.strictEqual((yield* ask("carl", "/v1/authorizations?limit=501")).status, 400)
    }).pipe(Effect.provide(served([])))
  )
})
