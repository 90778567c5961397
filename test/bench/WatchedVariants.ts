/**
 * The variants of the row of wires. The service and its runs are in the variant's process, whose CPU is measured; the clients are in a
 * process of their own, and read bytes alone.
 */
import { createHash } from "node:crypto"
import { request } from "node:http"
import { text } from "node:stream/consumers"
import type { IncomingMessage } from "node:http"
import { setTimeout as sleep } from "node:timers/promises"
import { Effect } from "effect"
import { Principal, Tenant } from "troupe"
import { Troupe } from "troupe/layers"
import { agent, lookup, model } from "./Reader.ts"
import type { Sample } from "./Row.ts"
import { served } from "./Row.ts"
import { compileSchemas, sized } from "./Work.ts"

const runs_count = sized(4, 1_000)
/** A turn and its call every two seconds: some 1,500 events a second over all. */
const turn_ms = 2_000
const warm_ms = sized(500, 6_000)
const window_ms = sized(500, 15_000)
/** Longer than all of it. */
const steps = sized(20, 100)
const token = `token-${"x".repeat(32)}`
const tenant = Tenant.make("default")
const olga = new Principal({ id: "olga", tenant, roles: ["operator"] })
const plenty = 1_000_000

type Kind = "streams" | "ui-messages" | "responses"

const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" }

const asked = (url: string, body?: object): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const method = body === undefined ? "GET" : "POST"
    request(url, { method, agent: false, headers }, (response) => {
      if ((response.statusCode ?? 500) < 300) return resolve(response)
      reject(new Error(`${url}: ${response.statusCode}`))
    })
      .once("error", reject)
      .end(body && JSON.stringify(body))
  })

const begins: Record<Kind, (url: string, n: number) => Promise<IncomingMessage>> = {
  streams: async (url) => {
    const sent = await asked(`${url}/v1/messages`, { agent: agent.name, text: "read" })
    const { conversation_id } = JSON.parse(await text(sent)) as { readonly conversation_id: string }
    return asked(`${url}/v1/conversations/${conversation_id}/events`)
  },
  "ui-messages": (url, n) => {
    const message = { id: `m-${n}`, role: "user", parts: [{ type: "text", text: "read" }] }
    return asked(`${url}/wires/ui-messages/${agent.name}`, { id: `c-${n}`, messages: [message] })
  },
  responses: (url, n) =>
    asked(`${url}/wires/v1/responses`, { model: agent.name, input: `read ${n}`, stream: true })
}

/** The clients, until their parent is gone. */
export const follow = async (kind: Kind, url: string) => {
  for (let n = 0; n < runs_count; n++) (await begins[kind](url, n)).resume()
  console.log("ready")
  return new Promise<never>(() => {})
}

export const ours = async (kind: Kind): Promise<Sample> => {
  await compileSchemas()
  const app = Troupe.layer({
    agents: [agent],
    tools: [lookup],
    model: model({ steps, turn_ms }),
    store: "ephemeral",
    http: {
      port: 0,
      tokens: [{ sha256: createHash("sha256").update(token).digest("hex"), principal: olga }],
      settings: {
        wires: ["ui-messages", "responses"],
        messages_principal_per_minute: plenty,
        messages_tenant_per_minute: plenty,
        requests_principal_per_minute: plenty,
        requests_tenant_per_minute: plenty,
        streams_max: plenty,
        streams_tenant_max: plenty,
        streams_principal_max: plenty
      }
    }
  })
  const measured = Troupe.use((troupe) =>
    Effect.promise(async () => {
      const others = await served("wires", "follow", [kind, troupe.url ?? ""])
      await sleep(warm_ms)
      const cpu = process.cpuUsage()
      const from = performance.now()
      await sleep(window_ms)
      const seconds = (performance.now() - from) / 1_000
      const used = process.cpuUsage(cpu)
      await others.stop()
      return { cpu_ms: (used.user + used.system) / 1_000 / seconds }
    })
  )
  return Effect.runPromise(Effect.provide(measured, app))
}
