/** What the doors share behind which agents look like models: the list of them, messages, and errors in the field's form. */
import { Clock, Effect, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import type { Message } from "../../../services/AgentRuntime.ts"
import { makeProblem } from "../../../src/operation/Problem.ts"
import type { Problem } from "../../../src/operation/Problem.ts"
import { canonical } from "../../../src/value/Canonical.ts"
import { AgentName } from "../../../src/value/Ids.ts"
import { defined } from "../../../src/value/PlainObject.ts"
import { agentsFor, conversationOf, keyOf, sendTo } from "../../service/WireEffects.ts"
import { Limits } from "../boundary/Limits.ts"
import { anyProblemOf } from "../boundary/Problems.ts"
import type { WireCall } from "./WireRequest.ts"

const types: Readonly<Record<number, string>> = {
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  429: "rate_limit_error"
}

/** A refusal as clients of models read it. */
export const refused = (problem: Problem): HttpServerResponse.HttpServerResponse => {
  const { detail, status, type } = problem
  const [issue] = "errors" in problem && Array.isArray(problem.errors) ? problem.errors : []
  const param = issue === undefined ? null : issue.path.slice(1).join(".")
  const error = {
    message: issue === undefined ? detail : `${param}: ${issue.message}`,
    type: types[status] ?? (status < 500 ? "invalid_request_error" : "server_error"),
    param,
    code: type.slice(type.lastIndexOf(":") + 1)
  }
  const response = HttpServerResponse.jsonUnsafe({ error }, { status })
  // Clients send a refused request again by themselves, a conflict too, unless they are told not to.
  return status < 500 && status !== 429
    ? HttpServerResponse.setHeader(response, "x-should-retry", "false")
    : response
}

/** What fails behind the acceptance of a message: the client is told not to send it again by itself. */
export const afterAcceptance = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.catch(effect, (error) => {
    const problem = anyProblemOf(error)
    return problem === undefined
      ? Effect.fail(error)
      : Effect.succeed(HttpServerResponse.setHeader(refused(problem), "x-should-retry", "false"))
  })

const noModel = (model: string) =>
  makeProblem(
    404,
    "model-not-found",
    "There is no such model",
    `There is no agent ${JSON.stringify(model.slice(0, 200))} that the caller may talk to. GET models lists them.`
  )

export const agentNamed = (model: string) =>
  Effect.mapError(Schema.decodeUnknownEffect(AgentName)(model), () => noModel(model))

const minutes_ms = 600_000

/** How often the client has sent this request before, as it says itself. */
const retries = Effect.map(
  HttpServerRequest.HttpServerRequest,
  ({ headers }) => Number(headers["x-stainless-retry-count"] ?? 0) || 0
)

/**
 * Sends a message. Without a key of its own the same message from the same sender is a retry if the client says so, within ten minutes of
 * the clock; otherwise it is another one.
 */
export const said = Effect.fnUntraced(function* (
  call: WireCall,
  {
    chat,
    key,
    wire
  }: { readonly wire: string; readonly chat: string | undefined; readonly key: string | undefined },
  message: Message
) {
  const { by } = call
  yield* Limits.use((limits) => limits.message(by))
  const { agent } = message
  const conversation =
    chat === undefined
      ? message.conversation
      : yield* conversationOf(by, { wire, agent, name: chat })
  const sent = (idempotency_key: string) =>
    sendTo(by, { ...message, ...defined({ conversation }), idempotency_key })
  if (key !== undefined) return (yield* sent(key)).task
  const now = yield* Clock.currentTimeMillis
  const { parts, text } = message
  const of = canonical([agent, chat ?? null, text, parts ?? null])
  const first = yield* keyOf(by, { wire, of, time: String(Math.floor(now / minutes_ms)) })
  const found = yield* sent(first)
  if (found.created || (yield* retries) > 0) return found.task
  const other = yield* SecureRandom.SecureRandom.use((random) => random.uuidV7())
  return (yield* sent(`wire-${other}`)).task
})

const modelOf = (id: string) => ({ id, object: "model", created: 0, owned_by: "troupe" })

const list = ({ by }: WireCall) =>
  Effect.map(agentsFor(by), (agents) =>
    HttpServerResponse.jsonUnsafe({ object: "list", data: agents.map(modelOf) })
  )

const one = ({ by, params }: WireCall) =>
  Effect.flatMap(agentsFor(by), (agents) => {
    const found = agents.find((name) => name === params["model"])
    return found === undefined
      ? Effect.fail(noModel(params["model"] ?? ""))
      : Effect.succeed(HttpServerResponse.jsonUnsafe(modelOf(found)))
  })

export const modelRoutes = [
  { method: "GET", path: "/wires/v1/models", right: "send", answer: list, refused },
  { method: "GET", path: "/wires/v1/models/:model", right: "send", answer: one, refused }
] as const
