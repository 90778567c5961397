/**
 * Serves a provider's turn from a server on loopback, and calls the provider there, selected as a service does.
 */
import { Effect, Option } from "effect"
import type { ServerResponse } from "node:http"
import type { TurnPolicy } from "../../layers/model/AiSdkModelGateway.ts"
import * as ModelFromEnv from "../../layers/model/ModelFromEnv.ts"
import { ModelGateway } from "../../services/ModelGateway.ts"
import type { ModelDelta, ModelError, ModelRequest } from "../../services/ModelGateway.ts"
import { CallId } from "../../src/Ids.ts"
import type { TranscriptEntry } from "../../src/conversation/Transcript.ts"
import type { Turn } from "../../src/run/RunDecider.ts"
import type { Answer } from "./ChatServer.ts"
import { environment, key, request } from "./Gateway.ts"
import type { Said } from "./Gateway.ts"
import type { Wire } from "./WireTurns.ts"

const turnOfTheLoop = () => new Promise<void>((resolve) => setImmediate(resolve))

/** The events as the wire has them, an `event:` line before those that have a type. */
export const body = (wire: Wire, events: ReadonlyArray<object> = wire.streamed): string =>
  events
    .map((event) => {
      const name = "type" in event ? `event: ${String(event.type)}\n` : ""
      return `${name}data: ${JSON.stringify(event)}\n\n`
    })
    .join("") + (wire.path.endsWith("/chat/completions") ? "data: [DONE]\n\n" : "")

const begin = (reply: ServerResponse) => {
  reply.writeHead(200, { "content-type": "text/event-stream" })
  reply.socket?.setNoDelay(true)
}

/** A streamed body in pieces of the given sizes, again and again; `cut`: the socket is destroyed after so many bytes. */
export const pieces =
  (text: string, sizes: ReadonlyArray<number>, cut?: number): Answer =>
  async (reply) => {
    begin(reply)
    const bytes = Buffer.from(text).subarray(0, cut)
    for (let from = 0, n = 0; from < bytes.length && !reply.destroyed; n++) {
      const to = from + sizes[n % sizes.length]!
      reply.write(bytes.subarray(from, to))
      from = to
      await turnOfTheLoop()
    }
    if (cut === undefined) reply.end()
    else reply.destroy()
  }

/** Calls answered, so that the next request holds the turn. */
export const answered = (turn: Turn): ReadonlyArray<TranscriptEntry> => {
  const { calls, origin, parts, reasoning, text } = turn
  return [
    { role: "user", text: "what is stuck?" },
    {
      role: "assistant",
      text,
      calls,
      ...(reasoning === undefined ? {} : { reasoning }),
      ...(parts === undefined ? {} : { parts }),
      ...(origin === undefined ? {} : { origin })
    },
    ...calls.map((call, index): TranscriptEntry => ({
      role: "tool",
      call: CallId.make(`0/1.${index}`),
      model_id: call.model_id,
      name: call.name,
      outcome: { _tag: "Value", json: '"ok"' }
    }))
  ]
}

export interface Asking {
  readonly over?: Partial<ModelRequest>
  readonly policy?: Partial<TurnPolicy>
  readonly env?: Readonly<Record<string, string>>
}

/** Calls the provider at the server once. */
export const askAt = (
  wire: Wire,
  server: { readonly base_url: string },
  { env, over, policy }: Asking = {}
): Effect.Effect<Said, ModelError> =>
  Effect.gen(function* () {
    const chosen = yield* ModelFromEnv.choose({
      attempts_max: 1,
      backoff_initial_ms: 1,
      retry_after_ms_max: 5,
      ...policy
    })
    const deltas: Array<ModelDelta> = []
    const { layer } = Option.getOrThrow(chosen)
    const turn = yield* ModelGateway.use((gateway) =>
      gateway.turn(request(over), (delta) => deltas.push(delta))
    ).pipe(Effect.provide(layer))
    return { turn, deltas }
  }).pipe(
    Effect.provide(
      environment({
        TROUPE_MODEL_PROVIDER: wire.provider,
        TROUPE_MODEL_BASE_URL: new URL(wire.base, server.base_url).href,
        TROUPE_MODEL: "wire-model",
        TROUPE_MODEL_API_KEY: key,
        ...env
      })
    )
  )

/** Begins an answer and then sends nothing more. */
export const stalled =
  (text: string): Answer =>
  (reply) => {
    begin(reply)
    reply.write(text)
  }
