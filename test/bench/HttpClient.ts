/**
 * The client of the HTTP row, the same for both services: it holds the event stream of one conversation, posts a message,
 * and waits for its run to end before it posts the next.
 */
import { Agent, get, request } from "node:http"
import type { IncomingMessage } from "node:http"
import { text } from "node:stream/consumers"
import { Schema } from "effect"

export const token = "a-token-for-the-bench"

/** A connection that was idle for longer is not used again: the service closes it after 5 s, while others have their turn. */
const agent = new Agent({ keepAlive: true, timeout: 2_000 })
const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" }
const body = JSON.stringify({ agent: "reader", text: "read" })

const Accepted = Schema.fromJsonString(
  Schema.Struct({ run_id: Schema.String, conversation_id: Schema.String })
)
const decodeAccepted = Schema.decodeUnknownSync(Accepted)

const post = async (url: string): Promise<typeof Accepted.Type> => {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request(url, { method: "POST", agent, headers }, resolve).once("error", reject).end(body)
  })
  const answer = await text(response)
  if (response.statusCode !== 202) throw new Error(`${response.statusCode}: ${answer}`)
  return decodeAccepted(answer)
}

/** When the first and the last event of a run came. */
interface Seen {
  first: number | undefined
  ended: number | undefined
  wake: (() => void) | undefined
}

/** How long the first event and the last of a message took, in ms. */
export interface Took {
  readonly first_ms: number
  readonly end_ms: number
}

const run_of = /"run_id":"([^"]+)"/

export class Client {
  readonly #url: string
  #conversation: string | undefined
  readonly #runs = new Map<string, Seen>()
  #failed: ((error: Error) => void) | undefined

  constructor(url: string) {
    this.#url = url
  }

  #seen(run: string): Seen {
    let seen = this.#runs.get(run)
    if (seen === undefined) {
      seen = { first: undefined, ended: undefined, wake: undefined }
      this.#runs.set(run, seen)
    }
    return seen
  }

  #frame(frame: string): void {
    const run = run_of.exec(frame)?.[1]
    if (run === undefined) return
    const seen = this.#seen(run)
    seen.first ??= performance.now()
    if (!frame.includes("event: run_ended")) return
    seen.ended = performance.now()
    seen.wake?.()
  }

  #follow(conversation: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const url = `${this.#url}/v1/conversations/${conversation}/events`
      get(url, { agent: false, headers }, (response) => {
        if (response.statusCode !== 200) return reject(new Error(`${response.statusCode}`))
        let rest = ""
        response.setEncoding("utf8")
        response.on("data", (chunk: string) => {
          const frames = (rest + chunk).split("\n\n")
          rest = frames.pop()!
          for (const frame of frames) this.#frame(frame)
        })
        response.once("close", () => this.#failed?.(new Error("the event stream ended")))
        resolve()
      }).once("error", reject)
    })
  }

  /** One message to its end. */
  async message(): Promise<Took> {
    const began = performance.now()
    const known = this.#conversation
    const accepted = await post(
      `${this.#url}/v1/${known === undefined ? "" : `conversations/${known}/`}messages`
    )
    if (known === undefined) {
      this.#conversation = accepted.conversation_id
      await this.#follow(accepted.conversation_id)
    }
    const run = accepted.run_id
    const seen = this.#seen(run)
    if (seen.ended === undefined) {
      await new Promise<void>((resolve, reject) => {
        this.#failed = reject
        seen.wake = resolve
      })
    }
    this.#runs.delete(run)
    return { first_ms: seen.first! - began, end_ms: seen.ended! - began }
  }
}
