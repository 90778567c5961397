/** A host of MCP 2026-07-28 that knows tasks: the official client of the extension over the official client, and plain requests. */
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { createTaskSessionFromClient } from "@modelcontextprotocol/ext-tasks/client"
import type { WithTasksOptions } from "@modelcontextprotocol/ext-tasks/client"
import type { Shop, Who } from "./WireScene.ts"
import { tokens } from "./WireScene.ts"

const version = "2026-07-28"
const prefix = "io.modelcontextprotocol/"
const named = { "tools/call": "name" } as Readonly<Record<string, string>>

/** What a host declares that it can. */
export type Abilities = Readonly<Record<string, object>>
export const with_tasks = { extensions: { [`${prefix}tasks`]: {} } }

/** Posts one request. `headers`: in place of its own. */
export const posted = async (
  at: Shop,
  who: Who,
  {
    method,
    params
  }: { readonly method: string; readonly params: Readonly<Record<string, unknown>> },
  headers: Readonly<Record<string, string>> = {}
) => {
  const name = params[named[method] ?? "taskId"]
  const response = await fetch(`${at.url}/wires/mcp`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${tokens[who]}`,
      "content-type": "application/json",
      "mcp-protocol-version": version,
      "mcp-method": method,
      ...(typeof name === "string" && { "mcp-name": name }),
      ...headers
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 7, method, params })
  })
  const { error, id, result } = JSON.parse(await response.text())
  return { status: response.status, error, id, result }
}

/** The parameters of a request with what its host declares. */
export const declaring = (params: Readonly<Record<string, unknown>>, abilities: Abilities) => ({
  ...params,
  _meta: {
    [`${prefix}protocolVersion`]: version,
    [`${prefix}clientInfo`]: { name: "host", version: "1" },
    [`${prefix}clientCapabilities`]: abilities
  }
})

/** A session of the official client for tasks. */
export const taskSession = async (
  at: Shop,
  who: Who,
  { abilities = {}, ...options }: WithTasksOptions & { readonly abilities?: Abilities } = {}
) => {
  const clientInfo = { name: "host", version: "1" }
  const client = new Client(clientInfo, { versionNegotiation: { mode: { pin: version } } })
  const requestInit = { headers: { authorization: `Bearer ${tokens[who]}` } }
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${at.url}/wires/mcp`), { requestInit })
  )
  const session = createTaskSessionFromClient(client, {
    ...options,
    endpointId: "shop",
    v2RequestFraming: {
      protocolVersion: version,
      clientInfo,
      clientCapabilities: abilities as never
    },
    rawDispatch: async (request) => {
      const { error, result } = await posted(at, who, request as never)
      return error === undefined ? { kind: "result", result } : { kind: "error", error }
    }
  })
  return {
    session,
    [Symbol.asyncDispose]: async () => {
      await session.close()
      await client.close()
    }
  }
}
