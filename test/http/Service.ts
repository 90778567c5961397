/**
 * The whole HTTP server on a real socket, with a principal for each role, and a client that uses plain fetch.
 */
import * as NodeCrypto from "@effect/platform-node/NodeCrypto"
import { createHash } from "node:crypto"
import { Effect, Layer } from "effect"
import type { Scope } from "effect"
import { HttpServer } from "effect/http"
import * as Runtime from "../../layers/compose/assembly/Runtime.ts"
import * as Spectral from "../../layers/compose/entries/Spectral.ts"
import * as Stores from "../../layers/compose/assembly/StoreLayers.ts"
import type { Credential } from "../../layers/runtime/directory/TokenCredentials.ts"
import * as TokenCredentials from "../../layers/runtime/directory/TokenCredentials.ts"
import * as HttpService from "../../layers/http/server/HttpService.ts"
import * as HttpSettings from "../../layers/http/boundary/HttpSettings.ts"
import * as NodeServer from "../../layers/http/server/NodeServer.ts"
import { defaults, RuntimeConfig } from "../../layers/runtime/actor/RuntimeConfig.ts"
import { TaskStore } from "../../services/TaskStore.ts"
import { AgentName, Tenant } from "../../src/value/Ids.ts"
import type { Role } from "../../src/principal/Principal.ts"
import { Principal } from "../../src/principal/Principal.ts"
import * as Script from "./Script.ts"

export const tokenOf = (id: string): string => `token-of-${id}`

const credential = (id: string, tenant: string, roles: ReadonlyArray<Role>): Credential => ({
  sha256: createHash("sha256").update(tokenOf(id)).digest("hex"),
  principal: new Principal({ id, tenant: Tenant.make(tenant), roles })
})

export const credentials = [
  credential("vera", "acme", ["viewer"]),
  credential("ada", "acme", ["approver"]),
  credential("olga", "acme", ["operator"]),
  credential("admin", "acme", ["admin"]),
  credential("carl", "acme", ["customer"]),
  credential("cora", "acme", ["customer"]),
  credential("pia", "acme", ["publisher"]),
  credential("nemo", "acme", []),
  credential("otto", "other", ["operator"]),
  credential("stranger", "other", ["admin"])
]
export type Who =
  | "vera"
  | "ada"
  | "olga"
  | "admin"
  | "carl"
  | "cora"
  | "pia"
  | "nemo"
  | "otto"
  | "stranger"

/** The real runtime over ephemeral stores; a stop does not wait for models that have no turn yet. */
const ports = Layer.mergeAll(
  Runtime.layer({ agents: Script.agents, tools: Script.tools }),
  TokenCredentials.layer(credentials)
).pipe(
  Layer.provideMerge(Layer.mergeAll(Script.layer, Stores.ephemeral, NodeCrypto.layer)),
  Layer.provide(Layer.succeed(RuntimeConfig, { ...defaults, drain_ms: 1, sweep_ms: 50 })),
  Layer.orDie
)

const servedOn = <A>(
  over: Layer.Layer<A | Layer.Success<typeof ports>>,
  settings: Partial<HttpSettings.HttpSettings>,
  listen: Partial<NodeServer.Listen>
) =>
  HttpService.layer.pipe(
    Layer.provideMerge(over),
    Layer.provideMerge(Layer.orDie(NodeServer.layer({ port: 0, ...listen }))),
    Layer.provide(
      Layer.succeed(HttpSettings.HttpSettings, {
        ...HttpSettings.defaults,
        customer_agents: [AgentName.make("spectral")],
        ...settings
      })
    )
  )

/** The server with the given settings; its ports stay visible, so that a test can look behind the API. */
export const layerWith = (
  settings: Partial<HttpSettings.HttpSettings>,
  listen: Partial<NodeServer.Listen> = {}
) => servedOn(ports, settings, listen)

export const layer = layerWith({})

/** The same with the operations and the stores of the reference application. */
export const layerOfSpectral = servedOn(
  Spectral.layer.pipe(Layer.provideMerge(ports), Layer.orDie),
  {},
  {}
)

/** The same, with the given implementation of reading a task. */
export const layerReading = (get: TaskStore["Service"]["get"]) =>
  HttpService.layer.pipe(
    Layer.provide(
      Layer.effect(
        TaskStore,
        Effect.map(TaskStore, (tasks) => TaskStore.of({ ...tasks, get, read: (_, id) => get(id) }))
      )
    ),
    Layer.provideMerge(ports),
    Layer.provideMerge(Layer.orDie(NodeServer.layer({ port: 0 })))
  )

export const baseUrl: Effect.Effect<string, never, HttpServer.HttpServer> = Effect.map(
  HttpServer.HttpServer,
  ({ address }) => HttpServer.formatAddress(address)
)

export interface Ask {
  readonly as?: Who | undefined
  readonly method?: string
  readonly json?: unknown
  readonly body?: string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>
  readonly headers?: Record<string, string>
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** Null if the text is not JSON. */
  // oxlint-disable-next-line typescript/no-explicit-any -- what a foreign client sees has no type
  readonly json: any
}

const init = ({ as, body, headers, json, method }: Ask): RequestInit & { duplex?: "half" } => ({
  ...(body instanceof ReadableStream ? { duplex: "half" } : undefined),
  method: method ?? (json === undefined && body === undefined ? "GET" : "POST"),
  headers: {
    ...(as === undefined ? undefined : { authorization: `Bearer ${tokenOf(as)}` }),
    ...(json === undefined && body === undefined
      ? undefined
      : { "content-type": "application/json" }),
    ...headers
  },
  ...(json === undefined
    ? body === undefined
      ? undefined
      : { body }
    : { body: JSON.stringify(json) })
})

export const ask = Effect.fnUntraced(function* (path: string, options: Ask = {}) {
  const url = yield* baseUrl
  return yield* Effect.promise(async (signal): Promise<Answer> => {
    const response = await fetch(url + path, { ...init(options), signal })
    const text = await response.text()
    let json: unknown = null
    try {
      json = JSON.parse(text)
    } catch {
      json = null
    }
    return { status: response.status, headers: response.headers, text, json }
  })
})

export interface SseEvent {
  readonly id: string | undefined
  readonly event: string
  // oxlint-disable-next-line typescript/no-explicit-any -- what a foreign client sees has no type
  readonly data: any
}

/** An open event stream. `next` waits for one event; comments are skipped. */
export interface Listening {
  readonly response: Response
  readonly next: Effect.Effect<SseEvent>
  readonly take: (count: number) => Effect.Effect<ReadonlyArray<SseEvent>>
  /** The next `n` comments; events are skipped. */
  readonly comments: (count: number) => Effect.Effect<ReadonlyArray<string>>
  /** Everything until the server ends the stream. */
  readonly rest: Effect.Effect<string>
  readonly close: Effect.Effect<void>
}

const parse = (block: string): SseEvent | undefined => {
  let id: string | undefined
  let event = "message"
  let data: string | undefined
  for (const line of block.split("\n")) {
    if (line.startsWith("id: ")) id = line.slice(4)
    else if (line.startsWith("event: ")) event = line.slice(7)
    else if (line.startsWith("data: ")) data = line.slice(6)
  }
  return data === undefined ? undefined : { id, event, data: JSON.parse(data) }
}

export const listen = (
  path: string,
  options: Ask = {}
): Effect.Effect<Listening, never, HttpServer.HttpServer | Scope.Scope> =>
  Effect.gen(function* () {
    const url = yield* baseUrl
    const abort = new AbortController()
    const response = yield* Effect.promise(() =>
      fetch(url + path, { ...init(options), signal: abort.signal })
    )
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
    let buffer = ""
    const block = Effect.promise(async (): Promise<string> => {
      // What was searched is not searched again: an event may be of megabytes, and come in small parts.
      for (let searched = 0; ;) {
        const at = buffer.indexOf("\n\n", searched)
        if (at >= 0) {
          const found = buffer.slice(0, at)
          buffer = buffer.slice(at + 2)
          return found
        }
        searched = Math.max(0, buffer.length - 1)
        const { done, value } = await reader.read()
        if (done) throw new Error("the stream ended")
        buffer += value
      }
    })
    const next: Effect.Effect<SseEvent> = Effect.flatMap(block, (text) => {
      const event = parse(text)
      return event === undefined ? next : Effect.succeed(event)
    })
    const comment: Effect.Effect<string> = Effect.flatMap(block, (text) =>
      text.startsWith(":") ? Effect.succeed(text) : comment
    )
    const close = Effect.sync(() => abort.abort())
    yield* Effect.addFinalizer(() => close)
    return {
      response,
      next,
      take: (count) => Effect.all(Array.from({ length: count }, () => next)),
      rest: Effect.promise(async () => {
        for (;;) {
          const { done, value } = await reader.read()
          if (done) return buffer
          buffer += value
        }
      }),
      comments: (count) => Effect.all(Array.from({ length: count }, () => comment)),
      close
    }
  })
