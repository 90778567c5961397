/**
 * The service as functions for a server that an application has already: one for `node:http` and frameworks that use it (Express,
 * Fastify), one for Web requests (Hono, route handlers of Next.js, Bun, Deno). A server of this service may listen as well.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Context, Effect, Layer, Option } from "effect"
import type { Scope } from "effect"
import { HttpEffect, HttpServer } from "effect/http"
import type { HttpServerRequest } from "effect/http"
import { NetAddress } from "effect/net"
import { endsWithServer } from "../stream/ClosingServers.ts"
import { makeProblem, problem_content_type } from "../../../src/operation/Problem.ts"

/** A request of `node:http`, by what tells it from others: this package's types need none of Node, which not everybody has installed. */
export interface NodeRequest {
  /** The names and values of its headers in turn, as they came. */
  readonly rawHeaders: ReadonlyArray<string>
  /** Whether its body was read already, in part too. */
  readonly readableDidRead: boolean
  /** The connection. */
  readonly socket: object
}
/** The response to it, by the same. */
export interface NodeResponse {
  /** Whether its status and headers were sent already. */
  readonly headersSent: boolean
  /** Whether its connection may serve a further request; HTTP/2, which is not served, has no such thing. */
  readonly shouldKeepAlive: boolean
  /** The connection; null = it was taken away. */
  readonly socket: object | null
}
export type NodeListener = (request: NodeRequest, response: NodeResponse) => void
export type WebHandler = (request: Request) => Promise<Response>

/** The functions that an application mounts. Both answer 503 once the service has stopped. */
export class Mounted extends Context.Service<
  Mounted,
  { readonly node: NodeListener; readonly web: WebHandler }
>()("troupe/http/Mounted") {}

/**
 * The address of the application's server is not known, so loopback is assumed: requests for hosts that the setting `hosts` does
 * not name are refused, so that no page of another host reaches a service on this machine.
 */
const unknown_address = NetAddress.socketAddressFromInputUnsafe({ address: "127.0.0.1", port: 0 })

/** A refusal that is sent without asking the API. */
interface Refusal {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

const refusal = (...[status, slug, title, detail]: Parameters<typeof makeProblem>): Refusal => ({
  status,
  headers: {
    "content-type": problem_content_type,
    ...(status === 503 ? { "retry-after": "1" } : undefined)
  },
  body: JSON.stringify(makeProblem(status, slug, title, detail))
})

const stopped = () => refusal(503, "stopped", "The service has stopped", "Ask again later.")

/**
 * The refusal of a request whose body was read already. The body would seem empty, and the client would be told that it sent
 * none.
 */
const bodyRead = () =>
  refusal(
    500,
    "body-already-read",
    "Something before the API has read the body",
    "Mount the API before what parses bodies, as the README of the HTTP layer shows."
  )

const answerNode = (response: ServerResponse, { body, headers, status }: Refusal): void => {
  response.writeHead(status, headers)
  response.end(body)
}

const webAnswer = ({ body, headers, status }: Refusal): Promise<Response> =>
  Promise.resolve(new Response(body, { status, headers }))

/** What answers now, which is the service or that it has stopped. */
interface Answering {
  readonly node: (request: IncomingMessage, response: ServerResponse) => void
  readonly web: WebHandler
}

const gone: Answering = {
  node: (_, response) => answerNode(response, stopped()),
  web: () => webAnswer(stopped())
}

/** The services that a handler gets with each request. */
type OfRequest = HttpServerRequest.HttpServerRequest | Scope.Scope

/** A server that gets its requests through the functions and, if there is one, from the server below it. */
const make = Effect.gen(function* () {
  const below = yield* Effect.serviceOption(HttpServer.HttpServer)
  let current = gone
  const server = HttpServer.make({
    address: Option.match(below, {
      onNone: () => unknown_address,
      onSome: ({ address }) => address
    }),
    serve: Effect.fnUntraced(function* (app, middleware) {
      const scope = yield* Effect.scope
      const context = yield* Effect.context<never>()
      const applied = middleware === undefined ? undefined : { middleware }
      const node = yield* NodeHttpServer.makeHandler<OfRequest, unknown>(app, { scope, ...applied })
      const web = HttpEffect.toWebHandlerWith<never, OfRequest>(context)(app, middleware)
      yield* Effect.acquireRelease(
        Effect.sync(() => (current = { node, web: (request) => web(request) })),
        () => Effect.sync(() => (current = gone))
      )
      if (Option.isNone(below)) return
      const { serve } = below.value
      yield* middleware === undefined ? serve(app) : serve(app, middleware)
    })
  })
  const mounted = Mounted.of({
    node: (given, to) => {
      const [request, response] = [given as IncomingMessage, to as ServerResponse]
      endsWithServer(request, response)
      if (request.readableDidRead) answerNode(response, bodyRead())
      else current.node(request, response)
    },
    web: (request) => (request.bodyUsed ? webAnswer(bodyRead()) : current.web(request))
  })
  return Context.make(HttpServer.HttpServer, server).pipe(Context.add(Mounted, mounted))
})

/** To be put above the Layer of a server that listens, or used alone. */
export const layer: Layer.Layer<HttpServer.HttpServer | Mounted> = Layer.effectContext(make)

/** The platform services that the surface needs if no server of this service listens. */
export const services = NodeHttpServer.layerHttpServices
