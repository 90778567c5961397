/**
 * The door for clients of the Model Context Protocol (MCP): each agent that the caller may talk to is a tool. Without sessions, so that
 * every request is its token's, and any process of a deployment answers it. The server of `effect/ai` keeps its sessions in one process,
 * for ever, and for whoever knows their id.
 */
import { Effect, Result, Schema } from "effect"
import { HttpServerResponse } from "effect/http"
import { AgentDirectory } from "../../../services/AgentDirectory.ts"
import type { Problem } from "../../../src/operation/Problem.ts"
import { rightRefusal } from "../../../src/principal/Rights.ts"
import type { Principal } from "../../../src/principal/Principal.ts"
import { schemaIssues } from "../../../src/schema/SchemaIssues.ts"
import type { AgentName } from "../../../src/value/Ids.ts"
import type { McpRequest } from "../../../src/wire/McpRequest.ts"
import {
  discovered,
  initialized,
  listed,
  mcp_codes,
  mcpMessageOf,
  mcpResponse
} from "../../../src/wire/McpRequest.ts"
import {
  agentOfTool,
  AskInput,
  askTool,
  mcp_instructions,
  result_tool,
  ResultInput,
  resultTool
} from "../../../src/wire/McpTools.ts"
import { agentsFor } from "../../service/WireEffects.ts"
import { HttpSettings } from "../boundary/HttpSettings.ts"
import { anyProblemOf } from "../boundary/Problems.ts"
import { ask, followed, task_methods, wire, withTask, wrong } from "./McpCalls.ts"
import { Refused, refuse, respondError, rpcBody } from "./RpcAnswer.ts"
import type { OpenRoute, WireCall } from "./WireRequest.ts"

const path = `/wires/${wire}` as const
const metadata_path = "/.well-known/oauth-protected-resource"

const refusalOf = ({ detail: message, status, type }: Problem) => ({
  status,
  code: status < 500 ? mcp_codes.request : mcp_codes.internal,
  message,
  data: { type }
})

/** Whether a problem is no answer to what was asked. */
const isOfService = ({ status }: Problem): boolean => status >= 500 || status === 401

/** The answer to a request that is refused before its message is read. */
const refused = (problem: Problem, here: string) => {
  const response = respondError(refusalOf(problem))
  // RFC 9728, section 5.1.
  return problem.status === 401
    ? HttpServerResponse.setHeader(
        response,
        "www-authenticate",
        `Bearer resource_metadata="${here}${metadata_path}${path}"`
      )
    : response
}

/** What hosts need to know before they have a token (RFC 9728). */
const tellMetadata: OpenRoute["tell"] = (here, { authorization_servers }) =>
  HttpServerResponse.jsonUnsafe({
    resource: here + path,
    ...(authorization_servers.length > 0 && { authorization_servers }),
    bearer_methods_supported: ["header"]
  })

/** For the path of the server, and for hosts that look at the root. */
export const mcp_metadata = [
  { method: "GET", path: `${metadata_path}${path}`, tell: tellMetadata },
  { method: "GET", path: metadata_path, tell: tellMetadata }
] as const satisfies ReadonlyArray<OpenRoute>

/** A tool's result that says why it did nothing. */
const failed = (text: string): object => ({ content: [{ type: "text", text }], isError: true })

/** What a call is refused for is its result, which a model reads; what the service fails for is not. */
const told = <E, R>(effect: Effect.Effect<object, E, R>) =>
  Effect.catch(effect, (error) => {
    const problem = anyProblemOf(error)
    if (problem === undefined || isOfService(problem)) return Effect.fail(error)
    const [issue] = problem.errors ?? []
    return Effect.succeed(failed(issue === undefined ? problem.detail : issue.message))
  })

const strictly = { onExcessProperty: "error" } as const

/** The arguments of a call, or the result that says what is wrong with them. */
const argumentsOf = <A, I>(schema: Schema.Codec<A, I>, { params }: McpRequest) => {
  const given = params["arguments"] ?? {}
  return Result.mapError(Schema.decodeUnknownResult(schema, strictly)(given), ({ issue }) => {
    const [first] = schemaIssues(issue, given)
    const place = first?.path.join(".")
    return failed(
      `${place ? `${place}: ` : ""}${(first?.message ?? "The arguments are wrong").replace(/\.*$/, ".")}`
    )
  })
}

/** The agents that the caller may send messages to. */
const askable = (by: Principal): Effect.Effect<ReadonlyArray<AgentName>, never, AgentDirectory> =>
  rightRefusal(by, "send") === undefined ? agentsFor(by) : Effect.succeed([])

const noTool = wrong("There is no such tool.")
const noInput = wrong("Nothing was asked of a call of this tool.")

const tools = Effect.fnUntraced(function* ({ by }: WireCall) {
  const { all } = yield* AgentDirectory
  const names = yield* askable(by)
  const asks = all.flatMap(({ spec: { description, name } }) =>
    names.includes(name) ? [askTool(name, description)] : []
  )
  return listed([...asks, resultTool()])
})

const called = Effect.fnUntraced(function* (call: WireCall, request: McpRequest) {
  const { inputResponses, name, requestState } = request.params
  if (name === result_tool) {
    if (requestState !== undefined || inputResponses !== undefined) return yield* refuse(noInput)
    const given = argumentsOf(ResultInput, request)
    return Result.isFailure(given) ? given.failure : yield* told(followed(call, given.success))
  }
  const agent = typeof name === "string" ? agentOfTool(name) : undefined
  const found = (yield* askable(call.by)).find((each) => each === agent)
  if (found === undefined) return yield* refuse(noTool)
  const given = argumentsOf(AskInput, request)
  if (Result.isFailure(given)) return given.failure
  return yield* told(ask(call, found, request, given.success))
})

/** The result of a request; undefined = there is no such method. */
const resultOf = (call: WireCall, request: McpRequest) => {
  const { isNewest, method, params } = request
  if (method === "tools/list") return tools(call)
  if (method === "tools/call") return called(call, request)
  if (isNewest) {
    if (task_methods.includes(method)) return withTask(call, request)
    return method === "server/discover" ? Effect.succeed(discovered(mcp_instructions)) : undefined
  }
  if (method === "ping") return Effect.succeed({})
  return method === "initialize" ? Effect.succeed(initialized(params, mcp_instructions)) : undefined
}

const post = Effect.fnUntraced(function* (call: WireCall) {
  const { body_bytes_max } = yield* HttpSettings
  const json = yield* rpcBody(call, body_bytes_max)
  if (Result.isFailure(json)) return respondError(json.failure)
  const read = mcpMessageOf(json.success, call.request.headers)
  if (Result.isFailure(read)) return respondError(read.failure)
  const message = read.success
  if (message._tag === "Unanswered") return HttpServerResponse.empty({ status: 202 })
  const { id, isNewest } = message
  const answer = resultOf(call, message)
  if (answer === undefined) {
    const status = isNewest ? 404 : 200
    return respondError({ status, id, code: mcp_codes.method, message: "There is no such method." })
  }
  const answered = Effect.map(answer, (result) =>
    HttpServerResponse.jsonUnsafe(mcpResponse(message, result))
  )
  return yield* Effect.catch(answered, (error) => {
    if (error instanceof Refused) return Effect.succeed(respondError({ ...error.refusal, id }))
    const problem = anyProblemOf(error)
    return problem === undefined || isOfService(problem)
      ? Effect.fail(error)
      : Effect.succeed(respondError({ ...refusalOf(problem), id }))
  })
})

export const mcpRoutes = [{ method: "POST", path, right: "follow", answer: post, refused }] as const
