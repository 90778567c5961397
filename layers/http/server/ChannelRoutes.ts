/**
 * Requests from the servers of channels. They carry no token of this service: the handler of each channel checks that a request
 * comes from it.
 */
import { isUtf8 } from "node:buffer"
import { ByteSize, Effect } from "effect"
import type { Layer } from "effect"
import { HttpIncomingMessage, HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { ChannelIngress } from "../../../services/ChannelIngress.ts"
import { makeProblem } from "../../../src/operation/Problem.ts"
import { respond } from "../boundary/Problems.ts"
import { isSmallBody } from "../boundary/RequestAdmission.ts"
import { channels_path } from "../boundary/Routes.ts"
import { Shares } from "../boundary/Shares.ts"
import type { ShareBounds } from "../boundary/Shares.ts"

const body_max = 1_000_000
/** Bounds of large bodies that are read at the same time, for one channel and for all; their sender is not yet known. */
const large: ShareBounds = { principal: 8, tenant: 16, all: 16, wait_ms: 10_000 }

const noChannel = makeProblem(
  404,
  "no-such-channel",
  "There is no such channel",
  "No channel of this name takes requests here."
)
const tooLarge = makeProblem(
  413,
  "body-too-large",
  "The body is too large",
  `A body has at most ${body_max} bytes.`
)
const brokenText = makeProblem(400, "broken-utf8", "Broken UTF-8", "The body is not valid UTF-8.")

const decoder = new TextDecoder()

export const layer: Layer.Layer<never, never, HttpRouter.HttpRouter> = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const handlers = yield* ChannelIngress
    const shares = new Shares(large)
    const handle = Effect.gen(function* () {
      const { params } = yield* HttpRouter.RouteContext
      const name = params["name"] ?? ""
      const handler = handlers.get(name)
      if (handler === undefined) return respond(noChannel)
      const request = yield* HttpServerRequest.HttpServerRequest
      if (Number(request.headers["content-length"] ?? 0) > body_max) return respond(tooLarge)
      const whole = request.arrayBuffer
      const keys = { principal: `channel ${name}`, tenant: "channels" }
      const bytes = new Uint8Array(yield* isSmallBody(request) ? whole : shares.hold(keys, whole))
      if (!isUtf8(bytes)) return respond(brokenText)
      const { body, retry_after_s, status, type } = yield* handler({
        headers: request.headers,
        body: decoder.decode(bytes)
      })
      return HttpServerResponse.text(body, {
        status,
        contentType: type ?? "text/plain; charset=utf-8",
        ...(retry_after_s === undefined
          ? undefined
          : { headers: { "retry-after": String(retry_after_s) } })
      })
    }).pipe(
      Effect.provideService(HttpIncomingMessage.MaxBodySize, ByteSize.bytes(body_max)),
      // The request waited too long for a share; or the body was larger than declared, or ended early.
      Effect.catch((error) => Effect.succeed(respond("status" in error ? error : tooLarge)))
    )
    yield* router.add("POST", channels_path, handle)
  })
)
