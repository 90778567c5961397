/**
 * A reference host platform on loopback, in memory: the endpoints that the catalogue of platform operations names, and the
 * gateway's `/api/tools/call`. Who calls it needs its authorization; it keeps a bounded log of its requests, so that calls
 * are counted by somebody else than who makes them.
 */
import { randomBytes } from "node:crypto"
import type { IncomingMessage } from "node:http"
import { Effect, Schema } from "effect"
import type { Scope } from "effect"
import { readJson } from "../../../src/value/BoundedJson.ts"
import { serve } from "../../../scripts/start/LoopbackServer.ts"
import type { Asked, Route } from "./Route.ts"
import { route, routesAt } from "./Route.ts"
import { handlers } from "./Handlers.ts"
import * as Services from "./Services.ts"
import type { Span } from "./Spans.ts"
import { spanRoute } from "./Spans.ts"
import * as Triggers from "./Triggers.ts"
import type { Reply } from "./Wire.ts"
import { body_bytes_max, bodyOf, isSameSecret, ok, problem, send, sha256 } from "./Wire.ts"
import * as Workflows from "./Workflows.ts"

export interface Logged {
  /** Its number among all requests, from 1. */
  readonly n: number
  readonly at: string
  readonly method: string
  readonly path: string
  readonly status: number
  /** The answer of an earlier request with this key, given again. */
  readonly repeated: boolean
  readonly idempotency_key: string | null
  readonly traceparent: string | null
  /** Of a request with the authorization: at most its first 4,000 UTF-16 units. */
  readonly body: string
}

export interface HostPlatform {
  readonly url: string
  /** Of the gateway, which is what a callback is given. */
  readonly endpoint: string
  readonly port: number
  /** How many requests have arrived, whatever became of them; those for the log are left out. */
  readonly total: () => number
  /** The newest 200 requests, oldest first. */
  readonly requests: () => ReadonlyArray<Logged>
  readonly latest: Workflows.Workflows["latest"]
  readonly reference: Workflows.Workflows["reference"]
}

export interface Options {
  /** The value of the Authorization header that is let in. */
  readonly authorization: string
  readonly workflows: ReadonlyArray<Workflows.Seed>
  /** The port that it had before, which it has again if it is free. Absent = a free one. */
  readonly port?: number | undefined
}

const log_max = 200
const logged_units_max = 4_000
/** Answers that are kept by their Idempotency-Key. */
const answers_max = 1_000
const log_path = "/api/requests"

const headerOf = (request: IncomingMessage, name: string): string | null => {
  const value = request.headers[name]
  return typeof value === "string" ? value.slice(0, 500) : null
}

const traceOf = (request: IncomingMessage): string =>
  /^00-([0-9a-f]{32})-/.exec(headerOf(request, "traceparent") ?? "")?.[1] ??
  randomBytes(16).toString("hex")

/** The answer of the routes to a request that was let in. */
const routed = async (
  routes: ReadonlyArray<Route>,
  request: IncomingMessage,
  body: string
): Promise<Reply> => {
  const url = URL.parse(request.url ?? "", "http://platform")
  const found = url === null ? [] : routesAt(routes, url.pathname)
  if (url === null || found.length === 0) return problem(404, "there is no such endpoint")
  const { method } = request
  const one = found.find(({ route }) => route.method === method)
  if (one === undefined) {
    const allow = found.map(({ route }) => route.method).join(", ")
    return problem(405, `this endpoint takes ${allow}`, { allow })
  }
  const read = readJson(body === "" ? "{}" : body)
  if (read._tag === "Failure") return problem(400, "the body is no JSON")
  const asked: Asked = {
    params: one.params,
    query: url.searchParams,
    trace_id: traceOf(request),
    baggage: request.headers["baggage"]?.toString()
  }
  try {
    return await one.route.answer(read.success, asked)
  } catch {
    return problem(500, "the platform failed")
  }
}

/** The span of a request that carried a trace. */
const spanOf = ({ at, method, path, status, traceparent }: Logged): ReadonlyArray<Span> => {
  const [, trace_id, span_id] = /^00-([0-9a-f]{32})-([0-9a-f]{16})-/.exec(traceparent ?? "") ?? []
  if (trace_id === undefined || span_id === undefined) return []
  const status_code = status < 400 ? "STATUS_CODE_OK" : "STATUS_CODE_ERROR"
  return [{ trace_id, span_id, span_name: `${method} ${path}`, status_code, start_time: at }]
}

interface Answered {
  readonly reply: Reply
  readonly repeated: boolean
}

/** Gives the first answer again where a request comes again with its key; the newest answers are kept. */
const onceByKey = (routes: ReadonlyArray<Route>) => {
  const known = new Map<string, { readonly digest: string; readonly reply: Promise<Reply> }>()
  return async (request: IncomingMessage, body: string): Promise<Answered> => {
    const key = request.method === "GET" ? null : headerOf(request, "idempotency-key")
    if (key === null) return { reply: await routed(routes, request, body), repeated: false }
    const digest = sha256(`${request.method} ${request.url}\n${body}`).toString("hex")
    const before = known.get(key)
    if (before !== undefined) {
      return before.digest === digest
        ? { reply: await before.reply, repeated: true }
        : { reply: problem(422, "another request had this Idempotency-Key"), repeated: false }
    }
    const reply = routed(routes, request, body)
    const [oldest] = known.keys()
    if (known.size >= answers_max && oldest !== undefined) known.delete(oldest)
    known.set(key, { digest, reply })
    return { reply: await reply, repeated: false }
  }
}

const makeLog = () => {
  const log: Array<Logged> = []
  let total = 0
  return {
    log,
    total: () => total,
    count: () => ++total,
    add: (n: number, request: IncomingMessage, body: string, answered: Answered): void => {
      const { reply, repeated } = answered
      log.push({
        n,
        at: new Date().toISOString(),
        method: request.method ?? "",
        path: (request.url ?? "").slice(0, 500),
        status: reply.status,
        repeated,
        idempotency_key: headerOf(request, "idempotency-key"),
        traceparent: headerOf(request, "traceparent"),
        body: body.slice(0, logged_units_max)
      })
      if (log.length > log_max) log.shift()
    }
  }
}

/** Listens until the scope closes. */
export const start = ({
  authorization,
  port: wished,
  workflows: seeds
}: Options): Effect.Effect<HostPlatform, never, Scope.Scope> =>
  Effect.gen(function* () {
    const workflows = Workflows.make(seeds)
    const { add, count, log, total } = makeLog()
    const answerTo = onceByKey([
      ...workflows.routes,
      ...Services.routes(handlers(workflows)),
      ...Triggers.routes(),
      spanRoute(() => log.flatMap(spanOf)),
      route("GET", log_path, Schema.Unknown, () =>
        ok({ total: total(), items: log.map((each) => ({ ...each })) })
      )
    ])
    const refused = (reply: Reply): Answered => ({ reply, repeated: false })
    const port = yield* serve((request, response) => {
      // Counted when it arrives: also one that breaks off.
      const n = request.url === log_path ? undefined : count()
      const isKnown = isSameSecret(request.headers.authorization ?? "", authorization)
      const answer = async (body: string | undefined) => {
        const answered = !isKnown
          ? refused(
              problem(401, "the authorization is missing or wrong", {
                "www-authenticate": "ApiKey"
              })
            )
          : body === undefined
            ? refused(problem(413, `a body has at most ${body_bytes_max} bytes`))
            : await answerTo(request, body)
        if (n !== undefined) add(n, request, isKnown ? (body ?? "") : "", answered)
        send(response, answered.reply)
      }
      bodyOf(request, isKnown, (body) => void answer(body))
    }, wished)
    const url = `http://127.0.0.1:${port}`
    return {
      url,
      endpoint: `${url}/api/tools/call`,
      port,
      total,
      requests: () => [...log],
      latest: workflows.latest,
      reference: workflows.reference
    }
  })
