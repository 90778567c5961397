/** What `Server.layer` is given from JavaScript: whatever is no option is named, and no server listens. */
import { createHash, generateKeyPairSync } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { HttpServer } from "effect/http"
import * as Runtime from "../../layers/compose/assembly/Runtime.ts"
import * as Server from "../../layers/compose/assembly/HttpSurface.ts"
import type { Options } from "../../layers/compose/options/ServerOptions.ts"
import * as Stores from "../../layers/compose/assembly/StoreLayers.ts"
import * as ScriptedModelGateway from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { AgentName, Tenant } from "../../src/value/Ids.ts"
import { Principal } from "../../src/principal/Principal.ts"

const shop = AgentSpec.make({ name: AgentName.make("shop"), instructions: "Help." })
const sha256 = "ab".repeat(32)
const principal = new Principal({ id: "olga", tenant: Tenant.make("acme"), roles: ["operator"] })
const credentials = [{ sha256, principal }]
const whole: Options = { listen: { port: 0 }, credentials }

/** A private key on this curve. */
const pemOf = (namedCurve: string) =>
  generateKeyPairSync("ec", { namedCurve }).privateKey.export({ type: "pkcs8", format: "pem" })

const runtime = Runtime.layer({ agents: [shop], tools: [] }).pipe(
  Layer.provideMerge(ScriptedModelGateway.layer([])),
  Layer.provideMerge(Stores.ephemeral)
)

const built = (options: unknown) =>
  Effect.scoped(Layer.build(Server.layer(options as Options).pipe(Layer.provide(runtime))))

const wrong: ReadonlyArray<readonly [field: string, given: Record<string, unknown>]> = [
  ["listen", { listen: undefined }],
  ["listen.port", { listen: {} }],
  ["listen.port", { listen: { port: "7717" } }],
  ["listen.port", { listen: { port: 65_536 } }],
  ["listen.host", { listen: { port: 0, host: "" } }],
  ["listen.request_ms", { listen: { port: 0, request_ms: 0 } }],
  ["listen.stall_ms", { listen: { port: 0, stall_ms: Number.NaN } }],
  ["listen.https", { listen: { port: 0, https: true } }],
  ["credentials", { credentials: undefined }],
  ["credentials", { credentials: "abc" }],
  ["credentials.0.sha256", { credentials: [{ sha256: "abcd", principal }] }],
  ["credentials.0.sha256", { credentials: [{ sha256: "z".repeat(64), principal }] }],
  ["credentials.0.token", { credentials: [{ sha256, principal, token: "x" }] }],
  ["credentials.0.principal", { credentials: [{ sha256, principal: "olga" }] }],
  [
    "credentials.0.principal.roles",
    { credentials: [{ sha256, principal: { id: "olga", tenant: "acme", roles: "admin" } }] }
  ],
  [
    "credentials.1.sha256",
    { credentials: [...credentials, { sha256: sha256.toUpperCase(), principal }] }
  ],
  ["settings", { settings: [] }],
  ["settings.metrics_open", { settings: { metrics_open: "false" } }],
  ["settings.hosts", { settings: { hosts: "shop.example.org" } }],
  ["settings.streams_max", { settings: { streams_max: "10" } }],
  ["settings.body_bytes_max", { settings: { body_bytes_max: Number.NaN } }],
  ["settings.requests_tenant_per_minute", { settings: { requests_tenant_per_minute: 0 } }],
  ["settings.public_url", { settings: { public_url: "https://shop.example/agents/" } }],
  ["settings.public_url", { settings: { public_url: "https://shop.example?x=1" } }],
  ["settings.authorization_servers.0", { settings: { authorization_servers: ["login"] } }],
  ["settings.card_key", { settings: { card_key: { kid: "1", pem: "no key" } } }],
  ["settings.card_key", { settings: { card_key: { kid: "1", pem: pemOf("P-384") } } }],
  ["settings.card_key", { settings: { card_key: { kid: "", pem: pemOf("P-256") } } }],
  ["settings.card_key", { settings: { card_key: { pem: pemOf("P-256") } } }],
  ["settings.customer_agents", { settings: { customer_agents: "shop" } }],
  ["settings.messages_per_minute", { settings: { messages_per_minute: 3 } }],
  ["port", { port: 7717 }]
]

describe("the options of a server", () => {
  for (const [field, given] of wrong) {
    it.effect(`name ${field} where it is ${JSON.stringify(given).slice(0, 90)}`, () =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(built({ ...whole, ...given }))
        assert.deepInclude(error, { _tag: "InvalidInput", field })
        assert.notInclude(String(error), "PRIVATE KEY")
      })
    )
  }

  it.effect("are an object", () =>
    Effect.gen(function* () {
      for (const given of [undefined, null, "x", []]) {
        assert.deepInclude(yield* Effect.flip(built(given)), { _tag: "InvalidInput" })
      }
    })
  )

  it.live("that are undefined count as absent, and a principal may be a plain object", () =>
    Effect.gen(function* () {
      const plain = { id: "olga", tenant: "acme", roles: ["viewer"] } as never
      const token = "the-token"
      const digest = createHash("sha256").update(token).digest("hex").toUpperCase()
      const layer = Server.layer({
        listen: { port: 0, host: undefined },
        credentials: [{ sha256: digest, principal: plain }],
        settings: { body_bytes_max: undefined } as never
      })
      const context = yield* Layer.build(layer.pipe(Layer.provide(runtime)))
      const url = HttpServer.formatAddress(Context.get(context, HttpServer.HttpServer).address)
      const headers = { authorization: `Bearer ${token}` }
      const { status } = yield* Effect.promise(() => fetch(`${url}/v1/runs`, { headers }))
      assert.strictEqual(status, 200)
    }).pipe(Effect.scoped)
  )
})
