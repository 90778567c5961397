/**
 * What a client of the Model Context Protocol (MCP) asks for, over its Streamable HTTP transport without sessions: one JSON-RPC message
 * in each request, in revision 2026-07-28, which says everything with each request, or in 2025-11-25 and 2025-06-18.
 */
import { Result, Schema } from "effect"
import { defined } from "../value/PlainObject.ts"
import type { RpcId, RpcRefusal } from "./JsonRpc.ts"
import { rpc_codes, rpcIdOf, RpcRequest } from "./JsonRpc.ts"

/** The newest revision: what is asked for stands in headers too, and each result says what it is. */
const newest = "2026-07-28"
const older = ["2025-11-25", "2025-06-18"] as const

/** The revisions that are spoken, newest first. */
const mcp_versions = [newest, ...older] as const

/** The extension for tasks, which is spoken in the newest revision. */
const tasks_extension = "io.modelcontextprotocol/tasks"

/** What a client declares with a request of the newest revision. Older ones say it once, in a session, which nobody keeps here. */
export interface McpClient {
  /** It takes the handle of a task for the result of a call. */
  readonly hasTasks: boolean
  /** It opens pages for its user. */
  readonly opensUrls: boolean
}

/** A message of a client. A notification, and an answer to a question that nobody asked, needs none. */
export type McpMessage =
  | { readonly _tag: "Unanswered" }
  | {
      readonly _tag: "Request"
      readonly id: RpcId
      readonly method: string
      readonly params: Readonly<Record<string, unknown>>
      readonly isNewest: boolean
      readonly client: McpClient
    }

/** A message that is answered. */
export type McpRequest = Extract<McpMessage, { readonly _tag: "Request" }>

/** The codes of errors: those of JSON-RPC, and of MCP 2026-07-28, basic. */
export const mcp_codes = {
  ...rpc_codes,
  header: -32_020,
  capability: -32_021,
  version: -32_022
} as const

/** The refusal of what a client does not declare that it can. */
export const undeclared_tasks: Omit<RpcRefusal, "id"> = {
  status: 400,
  code: mcp_codes.capability,
  message: "The client does not declare the extension for tasks.",
  data: { requiredCapabilities: { extensions: { [tasks_extension]: {} } } }
}

const isRequest = Schema.is(RpcRequest)
const isNotification = Schema.is(
  Schema.Struct({ ...RpcRequest.fields, id: Schema.optionalKey(Schema.Undefined) })
)
const isAnswer = Schema.is(
  Schema.Struct({ jsonrpc: Schema.Literal("2.0"), id: Schema.NullOr(RpcRequest.fields.id) })
)
const isObject = Schema.is(Schema.Record(Schema.String, Schema.Unknown))

type Headers = Readonly<Record<string, string | undefined>>

const prefix = "io.modelcontextprotocol/"

/** A value of a header, which may be UTF-8 in base64 (MCP 2026-07-28, transports). Undefined = it is broken. */
const headerText = (value: string | undefined): string | undefined => {
  const encoded = /^=\?base64\?(.*)\?=$/i.exec(value ?? "")?.[1]
  if (encoded === undefined) return value
  return Result.getOrUndefined(
    Result.try(() =>
      new TextDecoder("utf-8", { fatal: true }).decode(
        Uint8Array.from(atob(encoded), (unit) => unit.charCodeAt(0))
      )
    )
  )
}

const unsupported = (requested: string) => ({
  status: 400,
  code: mcp_codes.version,
  message: "This revision of the protocol is not spoken here.",
  data: { supported: mcp_versions, requested: requested.slice(0, 100) }
})

const mismatch = (message: string) => ({ status: 400, code: mcp_codes.header, message })
const lacking = (message: string) => ({ status: 400, code: mcp_codes.params, message })

/** The parameter that a method's requests have in Mcp-Name, too. */
const named: ReadonlyMap<string, string> = new Map([
  ["tools/call", "name"],
  ["tasks/get", "taskId"],
  ["tasks/update", "taskId"],
  ["tasks/cancel", "taskId"]
])

/** What is wrong with a request of the newest revision, or undefined. */
const newestRefusal = (
  { method, params = {} }: typeof RpcRequest.Type,
  headers: Headers,
  meta: Readonly<Record<string, unknown>>
): Omit<RpcRefusal, "id"> | undefined => {
  const sent = headers["mcp-protocol-version"]
  const claimed = meta[`${prefix}protocolVersion`]
  if (sent === undefined) return mismatch("The header MCP-Protocol-Version is missing.")
  if (typeof claimed !== "string") {
    return lacking(`params._meta lacks ${prefix}protocolVersion.`)
  }
  if (claimed !== sent) return mismatch("MCP-Protocol-Version is not that of the message.")
  if (!isObject(meta[`${prefix}clientCapabilities`])) {
    return lacking(`params._meta lacks ${prefix}clientCapabilities.`)
  }
  if (sent !== newest) return unsupported(sent)
  if (headers["mcp-method"] !== method) {
    return mismatch("Mcp-Method is not the method of the message.")
  }
  const name = named.get(method)
  return name !== undefined && headerText(headers["mcp-name"]) !== params[name]
    ? mismatch(`Mcp-Name is not the ${name} in the message.`)
    : undefined
}

const memberOf = (value: unknown, name: string): unknown =>
  isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined

const clientOf = (meta: Readonly<Record<string, unknown>>, isNewest: boolean): McpClient => {
  const capabilities = isNewest ? meta[`${prefix}clientCapabilities`] : undefined
  return {
    hasTasks: isObject(memberOf(memberOf(capabilities, "extensions"), tasks_extension)),
    opensUrls: isObject(memberOf(memberOf(capabilities, "elicitation"), "url"))
  }
}

const isSpoken = Schema.is(Schema.Literals(mcp_versions))

/** Reads the JSON of a body. */
export const mcpMessageOf = (
  json: unknown,
  headers: Headers
): Result.Result<McpMessage, RpcRefusal> => {
  const id = rpcIdOf(json)
  const refused = (refusal: Omit<RpcRefusal, "id">) =>
    Result.fail({ ...refusal, ...defined({ id }) })
  if (!isRequest(json)) {
    if (isNotification(json) || (isAnswer(json) && !("method" in json))) {
      return Result.succeed({ _tag: "Unanswered" })
    }
    return refused({
      status: 400,
      code: mcp_codes.request,
      message: "The body is not one request or notification of JSON-RPC 2.0."
    })
  }
  const { method, params = {} } = json
  const meta = isObject(params["_meta"]) ? params["_meta"] : {}
  const sent = headers["mcp-protocol-version"]
  const isNewest = sent === newest || Object.hasOwn(meta, `${prefix}protocolVersion`)
  const wrong = isNewest
    ? newestRefusal(json, headers, meta)
    : sent === undefined || method === "initialize" || isSpoken(sent)
      ? undefined
      : unsupported(sent)
  return wrong === undefined
    ? Result.succeed({
        _tag: "Request",
        id: json.id,
        method,
        params,
        isNewest,
        client: clientOf(meta, isNewest)
      })
    : refused(wrong)
}

/** Who answers. */
const server = { name: "troupe", version: "1" }

/** The revision in which an older client is answered: its own, or the newest that knows `initialize`. */
const agreed = (asked: unknown) => older.find((version) => version === asked) ?? older[0]

const capabilities = { tools: {} }

/** The result of `initialize`. */
export const initialized = (
  params: Readonly<Record<string, unknown>>,
  instructions: string
): object => ({
  protocolVersion: agreed(params["protocolVersion"]),
  capabilities,
  serverInfo: server,
  instructions
})

/** What a client may keep: nothing, because what it may do can change. */
const uncached = { ttlMs: 0, cacheScope: "private" }

/** The result of `server/discover`. */
export const discovered = (instructions: string): object => ({
  ...uncached,
  supportedVersions: mcp_versions,
  capabilities: { ...capabilities, extensions: { [tasks_extension]: {} } },
  instructions
})

/** The result of `tools/list`. */
export const listed = (tools: ReadonlyArray<object>): object => ({ ...uncached, tools })

/** The response to a request. A result that does not say what it is is complete. */
export const mcpResponse = ({ id, isNewest }: McpRequest, result: object): object => ({
  jsonrpc: "2.0",
  id,
  result: isNewest
    ? { resultType: "complete", ...result, _meta: { [`${prefix}serverInfo`]: server } }
    : result
})
