/**
 * The fetch for one MCP server over HTTP. It sends requests only to the server's origin, follows no redirects, adds the
 * credentials, which no other code sees, and bounds each message of the response before it is parsed.
 */
import { Redacted } from "effect"
import type { DialAllowance } from "../../src/call/Dialling.ts"
import type { McpHttpServer } from "../../src/tool/McpServer.ts"
import { judgedFetch } from "../dialling/JudgedFetch.ts"
import { judgedBody, judgedEvents } from "./MessageText.ts"

const headersOf = (server: McpHttpServer): ReadonlyArray<readonly [string, string]> => [
  ...Object.entries(server.headers ?? {}).map(
    ([name, value]) => [name, Redacted.isRedacted(value) ? Redacted.value(value) : value] as const
  ),
  ...(server.token === undefined
    ? []
    : [["authorization", `Bearer ${Redacted.value(server.token)}`] as const])
]

/** Fails the body if one message is too large: the whole body or, in a stream of events, one event. */
const bounded = (
  body: ReadableStream<Uint8Array>,
  isStream: boolean,
  message_bytes_max: number
): ReadableStream<Uint8Array> => {
  let size = 0
  let isLineEmpty = true
  const count = (chunk: Uint8Array): void => {
    if (!isStream) {
      size += chunk.length
      return
    }
    for (const byte of chunk) {
      size++
      if (byte === 10) {
        if (isLineEmpty) size = 0
        isLineEmpty = true
      } else if (byte !== 13) isLineEmpty = false
      if (size > message_bytes_max) return
    }
  }
  return body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform: (chunk, controller) => {
        count(chunk)
        if (size > message_bytes_max) {
          controller.error(new Error(`a message of more than ${message_bytes_max} bytes`))
        } else controller.enqueue(chunk)
      }
    })
  )
}

/** Makes the fetch for the official client. */
export const originFetch = (
  server: McpHttpServer,
  message_bytes_max: number,
  allowance: DialAllowance
) => {
  const fetch = judgedFetch(allowance)
  const { origin } = new URL(server.url)
  const own = headersOf(server)
  return async (input: string | URL, init?: RequestInit): Promise<Response> => {
    const url = new URL(input)
    if (url.origin !== origin) throw new Error("another origin than the server's")
    const headers = new Headers(init?.headers)
    for (const [name, value] of own) headers.set(name, value)
    const response = await fetch(url, { ...init, headers, redirect: "error" })
    if (response.body === null) return response
    const isStream = /^\s*text\/event-stream\b/i.test(response.headers.get("content-type") ?? "")
    const body = bounded(response.body, isStream, message_bytes_max)
    return new Response(body.pipeThrough(isStream ? judgedEvents() : judgedBody()), {
      status: response.status,
      statusText: response.statusText,
      headers: response.headers
    })
  }
}
