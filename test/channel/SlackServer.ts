/**
 * A server on loopback that behaves like Slack's Web API, as far as messages go; and requests that are signed as Slack signs
 * them.
 */
import { createHmac } from "node:crypto"
import type { Server } from "node:http"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { Effect } from "effect"
import { HttpServer } from "effect/http"

export const secret = "8f742231b10e8888abcd99yyyzzz85a5"
export const token = "xoxb-1-abc"

export interface Posted {
  readonly method: string
  // oxlint-disable-next-line typescript/no-explicit-any -- what a foreign server sees has no type
  readonly body: any
}

interface Reply {
  readonly status?: number
  readonly headers?: Record<string, string>
  readonly json?: unknown
  /** Never answers. */
  readonly silent?: boolean
}

export interface SlackServer {
  readonly url: string
  readonly posted: ReadonlyArray<Posted>
  /** The answers to come, first first; after them it says ok. */
  readonly next: (...replies: ReadonlyArray<Reply>) => void
}

const listening = (server: Server) =>
  Effect.promise(
    () =>
      new Promise<number>((done) =>
        server.listen(0, "127.0.0.1", () => done((server.address() as AddressInfo).port))
      )
  )

export const slackServer = Effect.gen(function* () {
  const posted: Array<Posted> = []
  const replies: Array<Reply> = []
  let ts = 0
  const server = createServer((request, response) => {
    let text = ""
    request.setEncoding("utf8").on("data", (piece: string) => (text += piece))
    request.on("end", () => {
      const method = (request.url ?? "").replace("/api/", "")
      if (request.headers.authorization !== `Bearer ${token}`) {
        response.end(JSON.stringify({ ok: false, error: "invalid_auth" }))
        return
      }
      const body: unknown = JSON.parse(text)
      const reply = replies.shift()
      if (reply?.silent === true) return
      if (reply === undefined) posted.push({ method, body })
      const channel = Object(body).channel
      const json = reply?.json ?? {
        ok: true,
        ts: `1700000000.${String(++ts).padStart(6, "0")}`,
        // As Slack does, it gives the id of a channel that was named.
        channel: channel === "#ops" ? "C9" : channel
      }
      response.writeHead(reply?.status ?? 200, {
        "content-type": "application/json; charset=utf-8",
        ...reply?.headers
      })
      response.end(JSON.stringify(json))
    })
  })
  const port = yield* Effect.acquireRelease(listening(server), () =>
    Effect.sync(() => {
      server.closeAllConnections()
      server.close()
    })
  )
  const slack: SlackServer = {
    url: `http://127.0.0.1:${port}/api`,
    posted,
    next: (...more) => void replies.push(...more)
  }
  return slack
})

export const signature = (timestamp: string, body: string, key = secret): string =>
  `v0=${createHmac("sha256", key).update(`v0:${timestamp}:${body}`).digest("hex")}`

export interface Signed {
  /** Seconds; absent = now. */
  readonly at?: number
  readonly key?: string
  readonly headers?: Record<string, string>
  /** Sent in place of what was signed. */
  readonly sent?: string
}

/** A request of Slack's to the service. */
export const fromSlack = Effect.fnUntraced(function* (body: string, options: Signed = {}) {
  const { at = Math.floor(Date.now() / 1_000), headers, key, sent = body } = options
  const url = HttpServer.formatAddress((yield* HttpServer.HttpServer).address)
  return yield* Effect.promise(async () => {
    const response = await fetch(`${url}/v1/channels/slack`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "x-slack-request-timestamp": String(at),
        "x-slack-signature": signature(String(at), body, key),
        ...headers
      },
      body: sent
    })
    const retry_after = response.headers.get("retry-after")
    return {
      status: response.status,
      text: await response.text(),
      ...(retry_after === null ? undefined : { retry_after })
    }
  })
})

export const said = (text: string, given: Record<string, unknown> = {}, event_id = "Ev1") =>
  JSON.stringify({
    token: "old",
    team_id: "T1",
    type: "event_callback",
    event_id,
    event_time: 1,
    event: { type: "message", user: "U-OLGA", channel: "C1", ts: "2.1", text, ...given }
  })

export const form = { "content-type": "application/x-www-form-urlencoded" }

export const clicked = (
  action_id: string,
  value: string,
  user = "U-OLGA",
  given: Record<string, unknown> = {}
) =>
  new URLSearchParams({
    payload: JSON.stringify({
      type: "block_actions",
      team: { id: "T1", domain: "acme" },
      user: { id: user, name: "olga" },
      channel: { id: "C1", name: "ops" },
      message: { ts: "1700000000.000001", text: "A question" },
      actions: [{ type: "button", action_id, block_id: "b", value }],
      ...given
    })
  }).toString()

/** The form of a view, as a person fills it in. */
export const submitted = (
  view: { readonly callback_id: string; readonly private_metadata: string },
  reason: string | null,
  user = "U-OLGA",
  given: Record<string, unknown> = {}
) =>
  new URLSearchParams({
    payload: JSON.stringify({
      type: "view_submission",
      team: { id: "T1", domain: "acme" },
      user: { id: user, name: "olga" },
      view: {
        id: "V1",
        type: "modal",
        callback_id: view.callback_id,
        private_metadata: view.private_metadata,
        state: { values: { reason: { reason: { type: "plain_text_input", value: reason } } } }
      },
      ...given
    })
  }).toString()
