/**
 * `troupe mcp serve`: the wire `mcp` of a service, for hosts that begin their servers as processes: one JSON-RPC message in each line
 * of stdin is posted there, and what is answered is a line of stdout. The token stays with this process.
 */
import { createInterface } from "node:readline"
import { Effect, Schema } from "effect"
import { Command } from "effect/cli"
import { ApiError, resolveEndpoint } from "../chat/ApiClient.ts"
import type { Endpoint } from "../chat/ApiClient.ts"
import { optionalText } from "../command/CommandLine.ts"
import { Refused } from "../command/Refused.ts"
import { endWith } from "./Stored.ts"
import { described } from "./WorkCommands.ts"

const Message = Schema.Struct({
  id: Schema.optionalKey(Schema.Union([Schema.String, Schema.Finite])),
  method: Schema.optionalKey(Schema.String),
  params: Schema.optionalKey(
    Schema.Struct({
      name: Schema.optionalKey(Schema.String),
      taskId: Schema.optionalKey(Schema.String),
      _meta: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown))
    })
  )
})
const decode = Schema.decodeUnknownOption(Schema.fromJsonString(Message))
const decodeJson = Schema.decodeUnknownOption(
  Schema.fromJsonString(Schema.Record(Schema.String, Schema.Unknown))
)

/** What revision 2026-07-28 wants to have in headers too. */
const headersOf = ({ method, params }: typeof Message.Type): Record<string, string> => {
  const version = params?._meta?.["io.modelcontextprotocol/protocolVersion"]
  if (typeof version !== "string" || method === undefined) return {}
  const name = method.startsWith("tasks/") ? params?.taskId : params?.name
  const encoded =
    name === undefined || /^[\w.-]*$/.test(name)
      ? name
      : `=?base64?${Buffer.from(name).toString("base64")}?=`
  return {
    "mcp-protocol-version": version,
    "mcp-method": method,
    ...(encoded !== undefined && { "mcp-name": encoded })
  }
}

const internal_code = -32_603

/** The line that answers a message; undefined = it needs none. */
const answerTo = async (line: string, { token, url }: Endpoint): Promise<string | undefined> => {
  const read = decode(line)
  const message = read._tag === "Some" ? read.value : {}
  const failed = (text: string) =>
    JSON.stringify({
      jsonrpc: "2.0",
      id: message.id ?? null,
      error: { code: internal_code, message: text }
    })
  try {
    const response = await fetch(`${url}/wires/mcp`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
        ...headersOf(message)
      },
      body: line
    })
    const text = await response.text()
    if (response.status === 202) return undefined
    const body = decodeJson(text)
    if (body._tag === "None") return failed(`The service answered with ${response.status}.`)
    const { jsonrpc, ...rest } = body.value
    if (jsonrpc !== "2.0") return failed(String(rest["detail"] ?? response.status))
    // What is refused before it is read has no id.
    return JSON.stringify({ jsonrpc, ...rest, id: rest["id"] ?? message.id ?? null })
  } catch {
    return failed("The service cannot be reached.")
  }
}

/** How many messages are on their way at once; further ones wait in stdin. */
const posts_max = 16

const pipe = async (endpoint: Endpoint): Promise<number> => {
  const open = new Set<Promise<void>>()
  for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
    if (line.trim() === "") continue
    const answered = answerTo(line, endpoint).then((answer) => {
      if (answer !== undefined) process.stdout.write(`${answer}\n`)
      open.delete(answered)
    })
    open.add(answered)
    if (open.size >= posts_max) await Promise.race(open)
  }
  await Promise.all(open)
  return 0
}

export const serve = Command.make(
  "serve",
  {
    url: optionalText(
      "url",
      "URL",
      "where the service is (TROUPE_URL); its settings name the wire mcp"
    ),
    token: optionalText("token", "TOKEN", "whose rights it has (TROUPE_TOKEN)")
  },
  (flags) =>
    endWith(
      Effect.flatMap(
        Effect.try({
          try: () => resolveEndpoint(flags),
          catch: (error) =>
            new Refused({ message: error instanceof ApiError ? error.message : String(error) })
        }),
        (endpoint) => Effect.promise(() => pipe(endpoint))
      ),
      "not served"
    )
).pipe(described("Serves the agents of a service as an MCP server over stdio."))
