/** Two people with their own tokens send one agent the same message, over the real runtime and a real socket. */
import { createHash } from "node:crypto"
import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { HttpServer } from "effect/http"
import * as Runtime from "../../layers/compose/assembly/Runtime.ts"
import * as Server from "../../layers/compose/assembly/HttpSurface.ts"
import * as Stores from "../../layers/compose/assembly/StoreLayers.ts"
import {
  calls,
  call,
  layer as scripted,
  text
} from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { AgentName, Tenant } from "../../src/value/Ids.ts"
import { Policy } from "../../src/permission/Policy.ts"
import type { Role } from "../../src/principal/Principal.ts"
import { Principal } from "../../src/principal/Principal.ts"
import * as H from "../runtime/Harness.ts"

const tenant = Tenant.make("acme")
const credential = (id: string, roles: ReadonlyArray<Role>) => ({
  sha256: createHash("sha256").update(`token-of-${id}`).digest("hex"),
  principal: new Principal({ id, tenant, roles })
})
const credentials = [
  credential("olga", ["operator"]),
  credential("adam", ["admin"]),
  credential("carl", ["customer"])
]

const agent = AgentSpec.make({
  name: AgentName.make("spectral"),
  instructions: "Help.",
  tools: ["lookup", "bash", "refund"],
  groups_by_role: {
    customer: ["knowledge", "core"],
    operator: ["knowledge", "core", "inspect"]
  }
})
const settings = { customer_agents: [agent.name] }
const policy = Policy.make({
  rules: [
    { pattern: "refund", permission: "allow", roles: ["operator"] },
    { pattern: "refund", permission: "deny", unless_roles: ["operator"] }
  ]
})

const asked = [call("lookup", { n: 1 }), call("bash", { n: 2 }), call("refund", { n: 3 })]

// oxlint-disable-next-line typescript/no-explicit-any -- what a foreign client sees has no type
type Answer = any

const ask = Effect.fnUntraced(function* (
  as: string,
  path: string,
  json?: unknown
): Effect.fn.Return<Answer, never, HttpServer.HttpServer> {
  const { address } = yield* HttpServer.HttpServer
  return yield* Effect.promise(async () => {
    const response = await fetch(`${HttpServer.formatAddress(address)}${path}`, {
      method: json === undefined ? "GET" : "POST",
      headers: {
        authorization: `Bearer token-of-${as}`,
        ...(json === undefined ? undefined : { "content-type": "application/json" })
      },
      ...(json === undefined ? undefined : { body: JSON.stringify(json) })
    })
    return await response.json()
  })
})

/** The run of a message, when it has ended. */
const ran = Effect.fnUntraced(function* (as: string) {
  const { conversation_id: conversation, task_id } = yield* ask(as, "/v1/messages", {
    agent: "spectral",
    text: "go"
  })
  yield* H.until((event) => event._tag === "RunEnded", conversation)
  const run = yield* ask("adam", `/v1/runs/${task_id}`)
  const { items } = yield* ask("adam", `/v1/runs/${task_id}/events?limit=500`)
  const outcomes: Record<string, string> = {}
  for (const { event } of items) {
    if (event._tag !== "CallSettled") continue
    const { name } = asked[Number(event.call.split(".")[1])]!.calls![0]!
    outcomes[name] =
      event.outcome._tag === "Failed" ? event.outcome.error.reason : event.outcome._tag
  }
  return { run, accepted: items[0].event, outcomes }
})

it.live("SM-83 the tools of a run are those of the roles of its message's token", () => {
  const done: Array<string> = []
  const did = (name: string) => () => Effect.sync(() => done.push(name))
  const tools = H.toolsOf({
    lookup: H.reads(did("lookup"), { group: "knowledge" }),
    bash: H.reads(did("bash"), { group: "inspect" }),
    refund: H.asks(did("refund"), { group: "core" })
  })
  const model = scripted(({ step }) => (step === 1 ? calls(asked) : text("done")))
  const layer = Server.layer({ listen: { port: 0 }, credentials, settings }).pipe(
    Layer.provideMerge(Runtime.layer({ agents: [agent], tools: [tools], policy })),
    Layer.provideMerge(model),
    Layer.provideMerge(Stores.ephemeral)
  )
  return Effect.gen(function* () {
    const theirs = yield* ran("carl")
    assert.deepStrictEqual(theirs.outcomes, {
      lookup: "Value",
      bash: "ROLE_DENIED",
      refund: "PERMISSION_DENIED"
    })
    assert.deepInclude(theirs.run, { by: "carl", roles: ["customer"] })
    assert.deepStrictEqual(theirs.accepted.roles, ["customer"])
    assert.deepStrictEqual(done, ["lookup"])

    const ours = yield* ran("olga")
    assert.deepStrictEqual(ours.outcomes, { lookup: "Value", bash: "Value", refund: "Value" })
    assert.deepInclude(ours.run, { by: "olga", roles: ["operator"] })

    const admins = yield* ran("adam")
    assert.deepStrictEqual(admins.outcomes, ours.outcomes)
    assert.strictEqual(done.length, 7)

    const shown = (yield* H.requests)
      .filter(({ step }) => step === 1)
      .map(({ tools: each }) => each.map(({ name }) => name).join())
    assert.deepStrictEqual(shown, ["lookup,refund", "lookup,bash,refund", "lookup,bash,refund"])
  }).pipe(Effect.provide(layer))
})

it.live("a customer cannot read the roles of other senders in the conversation", () => {
  const layer = Server.layer({ listen: { port: 0 }, credentials, settings }).pipe(
    Layer.provideMerge(
      Runtime.layer({
        agents: [AgentSpec.make({ name: agent.name, instructions: "Help." })],
        tools: []
      })
    ),
    Layer.provideMerge(scripted([text("hello")])),
    Layer.provideMerge(Stores.ephemeral)
  )
  return Effect.gen(function* () {
    const { conversation_id: conversation } = yield* ask("carl", "/v1/messages", {
      agent: "spectral",
      text: "go"
    })
    yield* H.until((event) => event._tag === "RunEnded", conversation)
    const { address } = yield* HttpServer.HttpServer
    const first = (as: string) =>
      Effect.promise(async () => {
        const url = `${HttpServer.formatAddress(address)}/v1/conversations/${conversation}/events`
        const abort = new AbortController()
        const response = await fetch(url, {
          headers: { authorization: `Bearer token-of-${as}` },
          signal: abort.signal
        })
        const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
        let read = ""
        while (!/^data: .*\n\n/m.test(read)) read += (await reader.read()).value
        abort.abort()
        return JSON.parse(/^data: (.*)$/m.exec(read)![1]!).event
      })
    assert.notProperty(yield* first("carl"), "roles")
    assert.deepStrictEqual((yield* first("olga")).roles, ["customer"])
  }).pipe(Effect.provide(layer))
})

it.effect("a server does not start where the agent of its customers does not exist", () =>
  Effect.gen(function* () {
    const layer = Server.layer({
      listen: { port: 0 },
      credentials,
      settings: { customer_agents: [agent.name, AgentName.make("spectrl")] }
    }).pipe(
      Layer.provide(
        Runtime.layer({
          agents: [AgentSpec.make({ name: agent.name, instructions: "Help." })],
          tools: []
        })
      ),
      Layer.provide(scripted([])),
      Layer.provide(Stores.ephemeral)
    )
    const error = yield* Effect.flip(Effect.scoped(Layer.build(layer)))
    assert.deepInclude(error, {
      _tag: "InvalidInput",
      field: "settings.customer_agents.1",
      reason: 'there is no agent "spectrl". There is: spectral.'
    })
  })
)
