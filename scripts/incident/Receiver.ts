/**
 * A webhook receiver on loopback, outside the runtime: it refuses every delivery with 503 until it is repaired, and keeps
 * what it accepted in a file of its own, so that effects are counted by somebody else than who caused them.
 */
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  writeSync
} from "node:fs"
import type { IncomingMessage, ServerResponse } from "node:http"
import { join } from "node:path"
import { Effect, Schema } from "effect"
import type { Scope } from "effect"
import { serve } from "../start/LoopbackServer.ts"

/** The greatest envelope, in bytes. */
const body_bytes_max = 1_000_000

const Envelope = Schema.decodeUnknownOption(
  Schema.fromJsonString(
    Schema.Struct({
      specversion: Schema.Literal("1.0"),
      id: Schema.String.check(Schema.isPattern(/^[\w-]{1,100}$/)),
      type: Schema.String
    })
  )
)

export interface Receiver {
  /** Where deliveries go; another port at every start. */
  readonly url: string
  /** From now on, and after a restart, deliveries are accepted. */
  readonly repair: () => void
  readonly repaired: () => boolean
  /** Ids in the order in which they were accepted, each once, also from earlier starts. */
  readonly accepted: () => ReadonlyArray<string>
  /** Ids that came again after they were accepted: recognised, and left out. */
  readonly duplicates: () => ReadonlyArray<string>
}

/** Appends a line that a crash does not lose. */
const append = (file: string, line: string): void => {
  const fd = openSync(file, "a")
  try {
    writeSync(fd, line + "\n")
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

const linesOf = (file: string, kind: string): ReadonlyArray<string> =>
  existsSync(file)
    ? readFileSync(file, "utf8")
        .split("\n")
        .filter((line) => line.startsWith(`${kind} `))
        .map((line) => line.slice(kind.length + 1))
    : []

const bodyOf = (request: IncomingMessage, done: (body: string | undefined) => void): void => {
  const chunks: Array<Buffer> = []
  let size = 0
  request.on("data", (chunk: Buffer) => {
    size += chunk.length
    if (size <= body_bytes_max) chunks.push(chunk)
  })
  request.on("end", () =>
    done(size > body_bytes_max ? undefined : Buffer.concat(chunks).toString("utf8"))
  )
}

/** Listens until the scope closes. `directory` holds what outlives it; it is made if it is missing. */
export const start = (directory: string): Effect.Effect<Receiver, never, Scope.Scope> =>
  Effect.gen(function* () {
    mkdirSync(directory, { recursive: true })
    const marker = join(directory, "repaired")
    const received = join(directory, "received.log")
    let repaired = existsSync(marker)

    const answer = (request: IncomingMessage, response: ServerResponse): void => {
      bodyOf(request, (body) => {
        const end = (status: number) => response.writeHead(status).end()
        if (request.method !== "POST") return end(405)
        if (!repaired) return end(503)
        if (body === undefined) return end(413)
        const envelope = Envelope(body)
        if (envelope._tag === "None") return end(400)
        const { id } = envelope.value
        const known = linesOf(received, "accepted").includes(id)
        append(received, `${known ? "duplicate" : "accepted"} ${id}`)
        return end(200)
      })
    }

    const port = yield* serve(answer)
    return {
      url: `http://127.0.0.1:${port}/orders`,
      repair: () => {
        if (!existsSync(marker)) append(marker, "repaired")
        repaired = true
      },
      repaired: () => repaired,
      accepted: () => linesOf(received, "accepted"),
      duplicates: () => linesOf(received, "duplicate")
    }
  })
