/**
 * The fetch for one MCP server over HTTP. It sends requests only to the server's origin and, for OAuth, to where its issuer
 * is, follows no redirects, adds the credentials, which no other code sees, and bounds each message of the response before it is parsed.
 */
import type { McpHttpServer } from "../../src/mcp/McpServer.ts"
import { allowanceOf, oauthAllowanceOf } from "../../src/mcp/McpServer.ts"
import { judgedFetch } from "../network/JudgedFetch.ts"
import type { Place } from "./Place.ts"
import { judgedBody, judgedEvents } from "./MessageText.ts"

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
export const originFetch = (place: Place, message_bytes_max: number) => {
  const { allow, credentials } = place
  const server = place.server as McpHttpServer
  const fetch = judgedFetch(allowanceOf(server, allow))
  const { origin } = new URL(server.url)
  const ask = async (url: URL, init: RequestInit | undefined, refused: boolean) => {
    const headers = new Headers(init?.headers)
    for (const [name, value] of await credentials.headers(refused)) headers.set(name, value)
    return fetch(url, { ...init, headers, redirect: "error" })
  }
  const send = async (url: URL, init: RequestInit | undefined): Promise<Response> => {
    if (url.origin !== origin) {
      const allowance = server.oauth && oauthAllowanceOf(server.oauth, url, allow)
      if (allowance === undefined) throw new Error("another origin than the server's")
      return judgedFetch(allowance)(url, { ...init, redirect: "error" })
    }
    const response = await ask(url, init, false)
    if (response.status !== 401 || !credentials.canChange) return response
    await response.body?.cancel()
    return ask(url, init, true)
  }
  return async (input: string | URL, init?: RequestInit): Promise<Response> => {
    const response = await send(new URL(input), init)
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
