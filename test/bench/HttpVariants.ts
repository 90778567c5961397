/**
 * The variants of the HTTP row. The service runs in a process of its own, its clients in the variant's.
 */
import { createHash } from "node:crypto"
import { Effect } from "effect"
import { Principal, Tenant } from "troupe"
import { Troupe } from "troupe/layers"
import * as BareHttp from "./BareHttp.ts"
import * as BareLog from "./BareLog.ts"
import * as BareReader from "./BareReader.ts"
import { inWindow } from "./Clients.ts"
import type { Took } from "./HttpClient.ts"
import { Client, token } from "./HttpClient.ts"
import { newDatabase } from "./NewDatabase.ts"
import { agent, lookup, model } from "./Reader.ts"
import type { Sample } from "./Row.ts"
import { median, served } from "./Row.ts"
import { compileSchemas, sized, sliced } from "./Work.ts"

/** One call and an answer. */
const script = { steps: 1 }
const clients = sized(4, 64)
const window_ms = sized(50, 1_000)

/** A service answers until its parent is gone. */
const untilAlone = (url: string): Promise<never> => {
  console.log(url)
  return new Promise(() => {})
}

export const serveBare = async (on: string): Promise<never> => {
  await compileSchemas()
  const { query } = await BareLog.connect(await newDatabase(on))
  await BareLog.prepare(query)
  return untilAlone(
    await BareHttp.serve({ model: BareReader.model(script), log: BareLog.make(query) }, token)
  )
}

const principal = new Principal({
  id: "bench",
  tenant: Tenant.make("default"),
  roles: ["operator"]
})
const sha256 = createHash("sha256").update(token).digest("hex")

/** Clients of one token, in one minute. */
const plenty = 1_000_000
const settings = {
  messages_principal_per_minute: plenty,
  messages_tenant_per_minute: plenty,
  requests_principal_per_minute: plenty,
  requests_tenant_per_minute: plenty,
  streams_principal_max: 100
}

/** As the README of `layers/http` composes it, with schemas compiled. */
export const serve = async (on: string): Promise<never> => {
  await compileSchemas()
  const store = await newDatabase(on)
  const app = Troupe.layer({
    agents: [agent],
    tools: [lookup],
    model: model(script),
    store,
    http: { port: 0, tokens: [{ sha256, principal }], settings }
  })
  const served = Troupe.use(({ url = "" }) => Effect.promise(() => untilAlone(url)))
  return Effect.runPromise(Effect.provide(served, app))
}

const measured = async (variant: "serve" | "serveBare", on: string): Promise<Sample> => {
  const { stop, url } = await served("http", variant, [on])
  const total = { messages: 0, ms: 0 }
  const took: Array<Took> = []
  // A conversation goes on for the whole round, as its stream does.
  const all = Array.from({ length: clients }, () => new Client(url))
  const slice = async () => {
    let began: number | undefined
    await inWindow(
      {
        clients,
        window_ms,
        begin: () => void (began = performance.now()),
        end: () => {
          total.ms += performance.now() - began!
          began = undefined
        }
      },
      async (client) => {
        const each = await all[client]!.message()
        if (began === undefined) return
        total.messages++
        took.push(each)
      }
    )
  }
  const sample = await sliced(
    {
      warm: async () => {
        await slice()
        Object.assign(total, { messages: 0, ms: 0 })
        took.length = 0
      },
      slice,
      sample: () => ({
        messages_s: (total.messages * 1_000) / total.ms,
        first_ms: median(took.map(({ first_ms }) => first_ms)),
        end_ms: median(took.map(({ end_ms }) => end_ms))
      })
    },
    1
  )
  await stop()
  return sample
}

export const bare = (on: string) => measured("serveBare", on)
export const ours = (on: string) => measured("serve", on)
