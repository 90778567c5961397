/**
 * Serves a provider's turn from a server on loopback, and calls the provider there, selected as a service does.
 */
import { Effect, Layer, Option } from "effect"
import type { ServerResponse } from "node:http"
import { setTimeout } from "node:timers/promises"
import type { TurnPolicy } from "../../layers/model/providers/AiSdkModelGateway.ts"
import * as ChosenModels from "../../layers/model/providers/ChosenModels.ts"
import * as ModelFromEnv from "../../layers/model/providers/ModelFromEnv.ts"
import * as ResilientModelGateway from "../../layers/model/plan/ResilientModelGateway.ts"
import { ModelGateway } from "../../services/ModelGateway.ts"
import type { ModelDelta, ModelError, ModelRequest } from "../../services/ModelGateway.ts"
import { CallId } from "../../src/value/Ids.ts"
import type { TranscriptEntry } from "../../src/conversation/Transcript.ts"
import type { Turn } from "../../src/run/RunDecider.ts"
import type { Answer } from "./ChatServer.ts"
import { environment, key, request } from "./Gateway.ts"
import type { Said } from "./Gateway.ts"
import { frame } from "./AmazonFrames.ts"
import type { Wire } from "./WireTurns.ts"

const turnOfTheLoop = () => new Promise<void>((resolve) => setImmediate(resolve))

/** The same as `body`, as bytes, which may be frames. */
export const bytesOf = (wire: Wire, events: ReadonlyArray<object> = wire.streamed): Buffer =>
  wire.frames === true ? Buffer.concat(events.map(frame)) : Buffer.from(body(wire, events))

/** The events as the wire has them, an `event:` line before those that have a type. */
export const body = (wire: Wire, events: ReadonlyArray<object> = wire.streamed): string =>
  events
    .map((event) => {
      const name = "type" in event ? `event: ${String(event.type)}\n` : ""
      return `${name}data: ${JSON.stringify(event)}\n\n`
    })
    .join("") + (wire.path.endsWith("/chat/completions") ? "data: [DONE]\n\n" : "")

const begin = (reply: ServerResponse, { 0: first }: string | Buffer) => {
  const type = first === 0 ? "application/vnd.amazon.eventstream" : "text/event-stream"
  reply.writeHead(200, { "content-type": type })
  reply.socket?.setNoDelay(true)
}

/**
 * A streamed body in pieces of the given sizes, again and again; `cut`: the socket is destroyed after so many bytes; `pause_ms`: the
 * time between two pieces.
 */
export const pieces =
  (text: string | Buffer, sizes: ReadonlyArray<number>, cut?: number, pause_ms?: number): Answer =>
  async (reply) => {
    begin(reply, text)
    const bytes = Buffer.from(text).subarray(0, cut)
    for (let from = 0, n = 0; from < bytes.length && !reply.destroyed; n++) {
      const to = from + sizes[n % sizes.length]!
      reply.write(bytes.subarray(from, to))
      from = to
      await (pause_ms === undefined ? turnOfTheLoop() : setTimeout(pause_ms))
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

/** The plan for a wire, and the variables that it is made of. */
const planOf = (wire: Wire, base_url: string, policy: Partial<TurnPolicy>) => {
  const { named } = wire
  if (named === undefined) {
    const layer = Layer.unwrap(
      Effect.map(ModelFromEnv.choose(policy), (chosen) => Option.getOrThrow(chosen).layer)
    )
    const env = {
      TROUPE_MODEL_PROVIDER: wire.provider,
      TROUPE_MODEL_BASE_URL: new URL(wire.base, base_url).href,
      TROUPE_MODEL: "wire-model",
      TROUPE_MODEL_API_KEY: key
    }
    return { layer, env }
  }
  const { idle_ms, timeout_ms, ...retry } = policy
  const attempt_timeout_ms = idle_ms ?? timeout_ms
  const plan = Effect.map(ChosenModels.planOf([named.model]), ({ models }) => ({
    models,
    retry: { ...retry, ...(attempt_timeout_ms === undefined ? {} : { attempt_timeout_ms }) }
  }))
  return { layer: ResilientModelGateway.layer(plan), env: named.env(new URL(base_url).origin) }
}

/** Calls the provider at the server once. */
export const askAt = (
  wire: Wire,
  server: { readonly base_url: string },
  { env, over, policy }: Asking = {}
): Effect.Effect<Said, ModelError> =>
  Effect.suspend(() => {
    const bounds = { attempts_max: 1, backoff_initial_ms: 1, retry_after_ms_max: 5, ...policy }
    const plan = planOf(wire, server.base_url, bounds)
    const deltas: Array<ModelDelta> = []
    return ModelGateway.use((gateway) =>
      gateway.turn(request(over), (delta) => deltas.push(delta))
    ).pipe(
      Effect.map((turn) => ({ turn, deltas })),
      Effect.provide(Layer.provideMerge(plan.layer, environment({ ...plan.env, ...env })))
    )
  })

/** Begins an answer and then sends nothing more. */
export const stalled =
  (text: string | Buffer): Answer =>
  (reply) => {
    begin(reply, text)
    reply.write(text)
  }
