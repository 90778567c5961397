/** Rules of a policy about URLs, with a real fetch behind the gate of a real runtime. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as HttpRequestTool from "../../layers/calls/HttpRequestTool.ts"
import * as Runtime from "../../layers/compose/assembly/Runtime.ts"
import * as Stores from "../../layers/compose/assembly/StoreLayers.ts"
import { call, layer as scripted, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { RunReader } from "../../services/RunReader.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { AgentName, ConversationId, Tenant } from "../../src/value/Ids.ts"
import { Policy } from "../../src/permission/Policy.ts"
import { Principal } from "../../src/principal/Principal.ts"
import { eventually } from "../contracts/Contract.ts"
import { names, web } from "./Web.ts"

const olga = new Principal({ id: "olga", tenant: Tenant.make("acme"), roles: ["admin"] })
const agent = AgentSpec.make({
  name: AgentName.make("reader"),
  instructions: "Read.",
  tools: ["http_request"],
  capabilities: ["net.fetch"]
})

/** The outcome of one call of `http_request`. */
const outcomeOf = Effect.fnUntraced(function* (policy: Policy, port: number, url: string) {
  const { resolve } = names({ "good.example": ["127.0.0.1"], "evil.example": ["127.0.0.1"] })
  const options = { ports: [port], allow_ranges: ["127.0.0.1/32"], resolve }
  const layer = Runtime.layer({
    agents: [agent],
    tools: [HttpRequestTool.tools(options)],
    policy
  }).pipe(
    Layer.provide(scripted([call("http_request", { url }), text("done")])),
    Layer.provideMerge(Stores.ephemeral)
  )
  return yield* Effect.gen(function* () {
    const conversation = ConversationId.make("c")
    const { task } = yield* AgentRuntime.use((agents) =>
      agents.send({ agent: agent.name, conversation, text: "go" }, olga)
    )
    const settled = yield* eventually(
      Effect.map(
        RunReader.use((reader) => reader.read(task.id, 0, 1_000)),
        (entries) => entries.find(({ event }) => event._tag === "CallSettled")?.event
      ),
      (event) => event !== undefined
    )
    const outcome = settled?._tag === "CallSettled" ? settled.outcome : undefined
    if (outcome?._tag === "Failed") return { refused: outcome.error.reason }
    return outcome?._tag === "Value"
      ? (JSON.parse(outcome.json) as Readonly<Record<string, unknown>>)
      : {}
  }).pipe(Effect.provide(layer))
})

describe("rules about http_request", () => {
  it.live("AG-59 apply to the target of a redirect, which is returned and not followed", () =>
    Effect.gen(function* () {
      const server = yield* web(({ headers, url }, response) => {
        if (url === "/moved") {
          response.writeHead(302, { location: `http://EVIL.example:${server.port}/x` }).end("moved")
        } else if (url === "/own") response.writeHead(302, { location: "/here" }).end()
        else response.end(String(headers["host"]))
      })
      const policy = Policy.make({
        mode: "allow",
        rules: [{ pattern: "http_request(https://evil.example:*)", permission: "deny" }]
      })
      const good = `http://good.example:${server.port}`
      const hosts = () => server.seen.map(({ headers }) => String(headers["host"]))
      const direct = yield* outcomeOf(policy, server.port, `HTTP://evil.example:${server.port}/x`)
      assert.deepStrictEqual(direct, { refused: "PERMISSION_DENIED" })
      const moved = yield* outcomeOf(policy, server.port, `${good}/moved`)
      assert.deepInclude(moved, { status: 302, url: `${good}/moved` })
      assert.deepStrictEqual(hosts(), [`good.example:${server.port}`])
      const followed = yield* outcomeOf(policy, server.port, `${good}/own`)
      assert.deepInclude(followed, { status: 200, url: `${good}/here` })
      const open = yield* outcomeOf(Policy.make({ mode: "allow" }), server.port, `${good}/moved`)
      assert.deepInclude(open, { status: 200, body: `evil.example:${server.port}` })
    }).pipe(Effect.scoped)
  )
})
