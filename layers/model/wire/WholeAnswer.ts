/**
 * A whole answer to a request for a stream, as some gateways and proxies give: the client reads it as the answer to a request
 * for a whole one, and the provider is not asked twice.
 */

/** Names a kept answer in the headers of the request that takes it; it never leaves the process. */
const header = "x-troupe-whole-answer"

/** Answers wait here for the moment between two calls of a client; beyond so many the oldest is lost. */
const waiting_max = 100

const waiting = new Map<string, Response>()
let counted = 0

/** Thrown through a client, because a client of streams can do nothing with it. */
export class WholeAnswer extends Error {
  override readonly name = "WholeAnswer"
  /** Send these with the request for a whole answer: it gets this one. */
  readonly headers: Readonly<Record<string, string>>

  constructor(answer: Response) {
    super("a whole answer to a request for a stream")
    const id = String(++counted)
    this.headers = { [header]: id }
    waiting.set(id, answer)
    if (waiting.size <= waiting_max) return
    for (const oldest of waiting.keys()) {
      waiting.delete(oldest)
      break
    }
  }
}

/** The stored answer that a request names in its header; undefined = the request must be sent. */
export const wholeAnswerFor = (init: RequestInit | undefined): Response | undefined => {
  const id = new Headers(init?.headers).get(header)
  if (id === null) return undefined
  const answer = waiting.get(id)
  waiting.delete(id)
  return answer
}
