/**
 * The service that `test/bench/readers.ts` measures, in a process of its own: it says its port and a conversation, and at
 * each line of its input what it holds.
 */
import { createHash } from "node:crypto"
import { createInterface } from "node:readline"
import { Effect, Layer } from "effect"
import { HttpServer } from "effect/http"
import * as NodeCrypto from "@effect/platform-node-shared/NodeCrypto"
import * as Runtime from "../../layers/compose/assembly/Runtime.ts"
import * as Server from "../../layers/compose/assembly/HttpSurface.ts"
import * as Stores from "../../layers/compose/assembly/StoreLayers.ts"
import * as ScriptedModelGateway from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { AgentName, ConversationId, Tenant } from "../../src/value/Ids.ts"
import { Principal } from "../../src/principal/Principal.ts"

const [, , token = "", readers = "2000", messages = "40", units = "50000", directory] = process.argv
const streams_max = Number(readers) + 10

const by = new Principal({ id: "olga", tenant: Tenant.make("acme"), roles: ["operator"] })
const agent = AgentSpec.make({ name: AgentName.make("operations"), instructions: "Talk." })
const sha256 = createHash("sha256").update(token).digest("hex")

const layer = Server.layer({
  listen: { port: 0, stall_ms: 600_000 },
  credentials: [{ sha256, principal: by }],
  settings: {
    streams_max,
    streams_tenant_max: streams_max,
    streams_principal_max: streams_max,
    requests_principal_per_minute: 1_000_000,
    requests_tenant_per_minute: 1_000_000
  }
}).pipe(
  Layer.provideMerge(Runtime.layer({ agents: [agent], tools: [] })),
  Layer.provide(
    ScriptedModelGateway.layer(() => ScriptedModelGateway.text("x".repeat(Number(units))))
  ),
  Layer.provideMerge(directory === undefined ? Stores.ephemeral : Stores.directory(directory)),
  Layer.provide(NodeCrypto.layer)
)

const held = (): string => {
  for (let i = 0; i < 4; i++) globalThis.gc?.()
  const { arrayBuffers, external, heapUsed, rss } = process.memoryUsage()
  return JSON.stringify({ rss, heapUsed, external, arrayBuffers })
}

const program = Effect.gen(function* () {
  const runtime = yield* AgentRuntime
  const { address } = yield* HttpServer.HttpServer
  const conversation = ConversationId.make("long")
  for (let i = 0; i < Number(messages); i++) {
    yield* runtime.send({ agent: agent.name, text: "go on", conversation }, by)
  }
  yield* Effect.sleep(Number(messages) * 50)
  yield* Effect.sync(() => {
    const port = "port" in address ? address.port : 0
    process.stdout.write(`${JSON.stringify({ port, conversation })}\n`)
    createInterface({ input: process.stdin }).on("line", () => process.stdout.write(`${held()}\n`))
  })
  return yield* Effect.never
})

Effect.runFork(Effect.provide(program, layer))
