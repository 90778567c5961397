/**
 * Asks the agents of worlds that run in another process, over its HTTP API. A question becomes a message there, durable and
 * journaled like any other, and the caller waits for the end of its run. If the caller is interrupted, the run is cancelled. The
 * other process decides by the caller's token what the caller may do.
 */
import { randomUUID } from "node:crypto"
import { Context, Effect, Layer, Option, Redacted, Result, Schedule, Schema, Stream } from "effect"
import * as Sse from "effect/encoding/Sse"
import { FetchHttpClient, HttpClient, HttpClientRequest } from "effect/http"
import type { HttpClientError, HttpClientResponse } from "effect/http"
import { InvalidInput } from "../../../src/schema/InvalidInput.ts"
import { ConversationId, RunId } from "../../../src/value/Ids.ts"
import type { Principal } from "../../../src/principal/Principal.ts"
import type { WorldAgentError } from "../../../src/spectral/worlds/contracts/WorldAnswer.ts"
import { WorldRefused, WorldUnknown } from "../../../src/spectral/worlds/contracts/WorldAnswer.ts"
import { question_context } from "../../../src/spectral/worlds/WorldAgent.ts"
import type { WorldId } from "../../../src/spectral/worlds/contracts/WorldId.ts"
import { worldAgentName } from "../../../src/spectral/worlds/contracts/WorldId.ts"
import { WorldAgentRunner } from "../../../services/spectral/worlds/contracts/WorldAgentRunner.ts"
import { answerText } from "../../network/HttpAnswers.ts"
import type { Settled } from "./WorldQuestions.ts"
import { answered, runnerOf, unavailable } from "./WorldQuestions.ts"

export interface RemoteWorlds {
  /** The URL at which the other process serves its API, such as `https://worlds.internal:8080`. */
  readonly url: string
  /** Gives the caller's token for the other process. Undefined = it has none, and is refused. */
  readonly token: (by: Principal) => Redacted.Redacted | undefined
}

/** The longest answer that is not a stream, in bytes. */
const answer_bytes_max = 1_000_000
/** The longest event, in UTF-16 units. The event of a run's end contains the text of its answer. */
const event_units_max = 4 * 2 ** 20
/** How long accepting a message or cancelling a run may take, in ms. */
const request_ms_max = 10_000
/** How often a request whose outcome is not known is repeated, with the same key. */
const repeats_max = 2
/** The wait before a broken stream is opened again, in ms. */
const pause_ms = 500

const Accepted = Schema.Struct({
  run_id: RunId,
  conversation_id: ConversationId,
  ordinal: Schema.Int
})
const Problem = Schema.Struct({ detail: Schema.String })
const Asked = Schema.Struct({ run_id: RunId })
const Ended = Schema.Struct({
  run_id: RunId,
  event: Schema.Struct({
    status: Schema.String,
    text: Schema.String,
    reason: Schema.String,
    finish: Schema.optionalKey(Schema.String)
  })
})
const decodeAccepted = Schema.decodeUnknownOption(Schema.fromJsonString(Accepted))
const decodeProblem = Schema.decodeUnknownOption(Schema.fromJsonString(Problem))
const decodeAsked = Schema.decodeUnknownOption(Schema.fromJsonString(Asked))
const decodeEnded = Schema.decodeUnknownOption(Schema.fromJsonString(Ended))

/** The statuses with which a stream is refused for good. */
const refusals: ReadonlySet<number> = new Set([401, 403, 404, 410])

interface Message {
  readonly text: string
  readonly context?: typeof question_context
}

type Response = HttpClientResponse.HttpClientResponse

const away = unavailable("the process of the worlds cannot be reached")
const notShown = new WorldRefused({ message: "the end of the question's run may not be read" })
const strange = unavailable("what answers for the worlds is not their process")

/** The accepted message, or the error that the local runner would give for this answer. */
const acceptedOf = (
  world: WorldId,
  { status }: Response,
  text: string
): Effect.Effect<typeof Accepted.Type, WorldAgentError> => {
  if (status === 202) {
    return Effect.mapError(Effect.fromOption(decodeAccepted(text)), () => strange)
  }
  if (status === 404) return Effect.fail(new WorldUnknown({ world }))
  if (status === 429 || status >= 500) {
    return Effect.fail(unavailable(`the agent of the world ${world} takes no question now`))
  }
  const problem = Option.map(decodeProblem(text), ({ detail }) => detail.slice(0, 1_000))
  return status >= 400
    ? Effect.fail(
        new WorldRefused({ message: Option.getOrElse(problem, () => `it was refused: ${status}`) })
      )
    : Effect.fail(strange)
}

/** Finds the event that settles the question. */
const settling =
  (run: RunId) =>
  (event: Sse.Event): Result.Result<Settled, undefined> => {
    switch (event.event) {
      case "run_ended": {
        const ended = Option.filter(decodeEnded(event.data), ({ run_id }) => run_id === run)
        return Option.isSome(ended) ? Result.succeed(ended.value.event) : Result.fail(undefined)
      }
      case "approval_requested":
      case "client_requested": {
        const asked = Option.filter(decodeAsked(event.data), ({ run_id }) => run_id === run)
        return Option.isSome(asked) ? Result.succeed("asked") : Result.fail(undefined)
      }
      default:
        return Result.fail(undefined)
    }
  }

/** The events in a text that arrives in parts. The server's `retry` is ignored, because `pause_ms` is used. */
const eventsOf = <E>(texts: Stream.Stream<string, E>) =>
  Stream.suspend(() => {
    let events: Array<Sse.Event> = []
    const parser = Sse.makeParser(
      (event) => {
        if (event._tag === "Event") events.push(event)
      },
      { maxEventSize: event_units_max }
    )
    const read = (text: string) => {
      const tooLarge = parser.feed(text)
      if (tooLarge !== undefined) return Effect.fail(tooLarge)
      const complete = events
      events = []
      return Effect.succeed(complete)
    }
    return Stream.flatMap(Stream.mapEffect(texts, read), Stream.fromIterable)
  })

const conversationPath = (id: ConversationId): string =>
  `/v1/conversations/${encodeURIComponent(id)}`

/** Requests of one caller. */
class Caller {
  readonly #client: HttpClient.HttpClient
  readonly #url: string
  readonly #token: Redacted.Redacted

  constructor(client: HttpClient.HttpClient, url: string, token: Redacted.Redacted) {
    this.#client = client
    this.#url = url
    this.#token = token
  }

  #execute(
    request: HttpClientRequest.HttpClientRequest
  ): Effect.Effect<Response, HttpClientError.HttpClientError> {
    return this.#client.execute(
      HttpClientRequest.bearerToken(request, Redacted.value(this.#token)).pipe(
        HttpClientRequest.prependUrl(this.#url)
      )
    )
  }

  /**
   * Sends a message. It is repeated if nobody knows whether it was accepted, because otherwise its run might go on with nobody
   * waiting for it.
   */
  send(world: WorldId, path: string, message: Message) {
    const request = HttpClientRequest.post(path).pipe(
      HttpClientRequest.setHeader("idempotency-key", randomUUID()),
      HttpClientRequest.bodyJsonUnsafe({ agent: worldAgentName(world), ...message })
    )
    return this.#execute(request).pipe(
      Effect.mapError(() => away),
      Effect.flatMap((response) =>
        Effect.flatMap(
          answerText(response, answer_bytes_max, { broken: away, tooLarge: strange }),
          (body) => acceptedOf(world, response, body)
        )
      ),
      Effect.timeoutOrElse({ duration: request_ms_max, orElse: () => Effect.fail(away) }),
      Effect.retry({ times: repeats_max, while: (error) => error === away })
    )
  }

  /**
   * Follows the conversation from the beginning of the run. A broken stream is opened again, unless the caller may no longer read
   * it.
   */
  settled({ conversation_id, ordinal, run_id }: typeof Accepted.Type) {
    const request = HttpClientRequest.get(`${conversationPath(conversation_id)}/events`).pipe(
      HttpClientRequest.setHeader("last-event-id", `${ordinal}.0`)
    )
    const once = Stream.unwrap(
      Effect.flatMap(this.#execute(request), (response) =>
        response.status === 200
          ? Effect.succeed(response.stream)
          : Effect.fail(refusals.has(response.status) ? notShown : away)
      )
    ).pipe(
      Stream.decodeText(),
      eventsOf,
      Stream.filterMap(settling(run_id)),
      Stream.runHead,
      Effect.flatMap(Effect.fromOption)
    )
    return once.pipe(
      Effect.retry({ schedule: Schedule.spaced(pause_ms), while: (error) => error !== notShown }),
      Effect.mapError((error) => (error === notShown ? notShown : away))
    )
  }

  cancel({ run_id }: typeof Accepted.Type) {
    return this.#execute(
      HttpClientRequest.post(`/v1/runs/${run_id}/cancel`).pipe(
        HttpClientRequest.bodyJsonUnsafe({ reason: "whoever asked waits no more" })
      )
    ).pipe(Effect.timeout(request_ms_max), Effect.ignore)
  }
}

const urlOf = (url: unknown): Effect.Effect<string, InvalidInput> => {
  const parsed = typeof url === "string" && URL.canParse(url) ? new URL(url) : undefined
  return parsed !== undefined &&
    /^https?:$/.test(parsed.protocol) &&
    parsed.username + parsed.password + parsed.search + parsed.hash === ""
    ? Effect.succeed(parsed.href.replace(/\/+$/, ""))
    : Effect.fail(
        new InvalidInput({
          field: "url",
          reason: "it is no address such as https://worlds.internal"
        })
      )
}

const make = Effect.fnUntraced(function* ({ token, url }: RemoteWorlds) {
  const at = yield* urlOf(url)
  const context = yield* Layer.build(FetchHttpClient.layer)
  const client = Context.get(context, HttpClient.HttpClient)
  const callerOf = (by: Principal) =>
    Effect.suspend(() => {
      const own = token(by)
      return own === undefined
        ? Effect.fail(new WorldRefused({ message: "the caller has no token for the worlds" }))
        : Effect.succeed(new Caller(client, at, own))
    })
  return runnerOf(({ by, conversation, question: text, world }) =>
    Effect.flatMap(callerOf(by), (caller) => {
      const accepted =
        conversation === undefined
          ? caller.send(world, "/v1/messages", { text, context: question_context })
          : caller.send(world, `${conversationPath(conversation)}/messages`, { text })
      return answered(
        world,
        Effect.map(accepted, (task) => ({
          run: task.run_id,
          settled: caller.settled(task),
          cancel: caller.cancel(task)
        }))
      )
    }).pipe(
      // The token is meant for this address only, so redirects are not followed.
      Effect.provideService(FetchHttpClient.RequestInit, { redirect: "error" })
    )
  )
})

/** Fails with `InvalidInput` if `url` is not an http or https URL, or has a user, a query or a fragment. */
export const layer = (worlds: RemoteWorlds): Layer.Layer<WorldAgentRunner, InvalidInput> =>
  Layer.effect(WorldAgentRunner, make(worlds))
