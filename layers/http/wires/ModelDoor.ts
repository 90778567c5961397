/** What the doors share behind which agents look like models: the list of them, messages, and errors in the field's form. */
import { Clock, Effect, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import type { Message } from "../../../services/AgentRuntime.ts"
import { makeProblem } from "../../../src/operation/Problem.ts"
import type { Problem } from "../../../src/operation/Problem.ts"
import type { Principal } from "../../../src/principal/Principal.ts"
import { AgentName } from "../../../src/value/Ids.ts"
import { listNames } from "../../../src/value/Nearest.ts"
import { followable } from "../../service/CustomerRules.ts"
import {
  agentsFor,
  conversationOf,
  keyOf,
  postedBefore,
  sendTo
} from "../../service/WireEffects.ts"
import { Limits } from "../boundary/Limits.ts"
import { anyProblemOf } from "../boundary/Problems.ts"
import type { WireCall } from "./WireRequest.ts"

const types: Readonly<Record<number, string>> = {
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  429: "rate_limit_error"
}

/** A problem as clients of models read it. */
export const modelError = ({ available = [], detail, errors = [], status, type }: Problem) => {
  const [issue] = errors
  const param = issue === undefined ? null : issue.path.slice(1).join(".")
  const code = type.slice(type.lastIndexOf(":") + 1).replaceAll("-", "_")
  return {
    message: issue === undefined ? detail + listNames(available) : `${param}: ${issue.message}`,
    type: types[status] ?? (status < 500 ? "invalid_request_error" : "server_error"),
    param,
    code: code === "agent_not_found" ? "model_not_found" : code
  }
}

/** The answer to a request that is refused. */
export const refused = (problem: Problem): HttpServerResponse.HttpServerResponse => {
  const { status } = problem
  const error = modelError(problem)
  const response = HttpServerResponse.jsonUnsafe({ error }, { status })
  // Clients send a refused request again by themselves, a conflict too, unless they are told not to: only what is at work ends soon.
  return status < 500 && status !== 429 && error.code !== busy_code
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

const busy_code = "agent_busy"

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

/** The conversation that a client names, if it names one. */
export const namedBy = (by: Principal, wire: string, agent: AgentName, name: string | undefined) =>
  name === undefined ? Effect.undefined : conversationOf(by, { wire, agent, name })

interface Posted {
  /** What was posted (`postedOf`). */
  readonly posted: string
  /** The same again is the same request, whenever it comes. Absent = it is another one, unless the client says that it is sent again. */
  readonly isOnce?: boolean
}

/** Sends a message, or finds the one that the client sends again, within ten minutes if it says so. */
export const said = Effect.fnUntraced(function* (
  { by }: WireCall,
  { isOnce = false, posted }: Posted,
  message: Message
) {
  yield* Limits.use((limits) => limits.message(by))
  const now = yield* Clock.currentTimeMillis
  const isRetry = isOnce || (yield* retries) > 0
  const look = Effect.map(postedBefore(by, posted, 1), ([last]) => {
    const isSame = isOnce || (isRetry && now - (last?.created_at ?? 0) < minutes_ms)
    return { last: last?.id, same: isSame ? last : undefined }
  })
  const { last = "", same } = yield* look
  if (same !== undefined) return yield* followable(same, by)
  const found = Effect.gen(function* () {
    const { same } = yield* look
    return same && (yield* followable(same, by))
  })
  const send = (idempotency_key: string) => sendTo(by, { ...message, posted, idempotency_key })
  // The key names the conversation that begins here: never one of before, of which this message was removed.
  const time = message.conversation === undefined ? String(Math.floor(now / minutes_ms)) : ""
  // Of the same at the same moment one takes the key.
  const sent = yield* send(yield* keyOf(by, { posted, last, time })).pipe(
    Effect.map(({ created, task }) => (created || isRetry ? task : undefined)),
    Effect.catchTags({
      IdempotencyConflict: () => found,
      AgentBusy: (busy) =>
        Effect.flatMap(found, (task) => (task ? Effect.succeed(task) : Effect.fail(busy)))
    })
  )
  if (sent !== undefined) return sent
  const other = yield* SecureRandom.SecureRandom.use((random) => random.uuidV7())
  return (yield* send(`wire-${other}`)).task
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
