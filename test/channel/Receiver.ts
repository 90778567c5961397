/** A receiver of webhooks on loopback: what it saw, and how it answers. */
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { text } from "node:stream/consumers"
import { HTTP } from "cloudevents"
import type { CloudEvent } from "cloudevents"
import { Webhook, WebhookVerificationError } from "standardwebhooks"

/** A request. */
export interface Received {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** A status, with headers; or no answer at all. */
export type Reply = "never" | { readonly status: number; readonly headers?: Record<string, string> }

const delivered: Reply = { status: 204 }

export const receiver = async () => {
  const seen: Array<Received> = []
  const replies: Array<Reply> = []
  let standing: Reply = delivered
  let before: () => Promise<unknown> = async () => undefined
  const server = createServer(async (request, response) => {
    const body = await text(request)
    const headers = Object.fromEntries(
      Object.entries(request.headers).map(([name, value]) => [name, String(value)])
    )
    seen.push({ path: request.url ?? "", headers, body })
    await before()
    const reply = replies.shift() ?? standing
    if (reply === "never") return
    response.writeHead(reply.status, reply.headers)
    // A body that has no end: whoever reads it reads for ever.
    if (reply.status !== 204) response.write("x".repeat(1_000_000))
    else response.end()
  }).listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    seen,
    /** The next answers, one after the other. Then each is delivered, or what `always` says. */
    next: (...given: ReadonlyArray<Reply>) => void replies.push(...given),
    always: (reply: Reply) => void (standing = reply),
    /** Waits for this before each answer. */
    first: (wait: () => Promise<unknown>) => void (before = wait),
    close: () => {
      server.closeAllConnections()
      server.close()
    }
  }
}
export type Receiver = Awaited<ReturnType<typeof receiver>>

/** Whether the official client accepts a request with this secret. */
export const verifies = (secret: string, { body, headers }: Received): boolean => {
  try {
    new Webhook(secret).verify(body, headers)
    return true
  } catch (error) {
    if (error instanceof WebhookVerificationError) return false
    throw error
  }
}

/** The event in a request, as the official client reads it. */
export const eventIn = ({ body, headers }: Received): CloudEvent => {
  const event = HTTP.toEvent({ headers, body })
  if (Array.isArray(event)) throw new Error("it is a batch")
  return event as CloudEvent
}
