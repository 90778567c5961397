/** The streams that pages follow. They tell that there is news, and the page asks for it: what it may see is looked at there. */
import { Effect, Schema, Stream } from "effect"
import type { Pull } from "effect"
import { encoder } from "effect/encoding/Sse"
import { HttpServerResponse } from "effect/http"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import type { FeedItem, OpenFeed, WatchError } from "../../services/AgentRuntime.ts"
import { After } from "../../src/operation/Page.ts"
import { Counts } from "../../src/value/Counts.ts"
import { RunId } from "../../src/value/Ids.ts"
import { newestFollowed } from "../service/MessageEffects.ts"
import { operations } from "../service/ServiceOperations.ts"
import { htmxScript } from "./Following.ts"
import * as Sessions from "./Sessions.ts"
import type { Asked, Page, Surface } from "./SignedPages.ts"
import { decoded, nothingHere, perform, queryOf, signedPage } from "./SignedPages.ts"

/** A page is told at most twice a second: it is fetched as a whole. */
const pause_ms = 500
/** How long a stream that cannot go on stays open, so that its page does not ask again and again. */
const failed_ms = 5_000
/** A browser opens six connections to a host by HTTP/1.1, and two of them have to be left for pages. Hidden pages have none. */
const streams_session_max = 4

const news = (id: string | undefined): string =>
  encoder.write({ _tag: "Event", event: "news", id, data: "" })

type Feed = OpenFeed<WatchError>

/** Says that the run has new events, and which is the last. */
const newsOf = (run: RunId, { pull }: Feed): Pull.Pull<readonly [string], WatchError> => {
  const isOfRun = (item: FeedItem) => item._tag === "Event" && item.run === run
  let pause: Effect.Effect<void> = Effect.void
  return Effect.gen(function* () {
    yield* pause
    pause = Effect.sleep(pause_ms)
    while (true) {
      const last = (yield* pull).findLast(isOfRun)
      if (last?._tag === "Event") return [news(String(last.entry.seq))] as const
    }
  })
}

const RunCursor = Schema.Struct({
  run: RunId,
  after: Schema.FiniteFromString.pipe(Schema.decodeTo(After))
})

const runNews = Effect.fnUntraced(function* (asked: Asked, given: unknown) {
  const { after, run } = yield* decoded(RunCursor, given, nothingHere)
  const { principal } = asked.view
  const { conversation, ordinal } = yield* perform(operations.run, { id: run }, asked)
  yield* newestFollowed(conversation, ordinal, principal)
  const runtime = yield* AgentRuntime
  const feed = runtime.openFeed(conversation, { ordinal, seq: after }, principal)
  return Stream.scoped(Stream.fromPull(Effect.map(feed, (opened) => newsOf(run, opened)))).pipe(
    Stream.catch(() =>
      Stream.concat(
        Stream.succeed(news(undefined)),
        Stream.drain(Stream.fromEffect(Effect.sleep(failed_ms)))
      )
    )
  )
})

const tooMany = {
  problem: {
    status: 429,
    title: "Too many pages follow",
    detail: `At most ${streams_session_max} pages of a session follow at the same time. Close one.`
  }
}

/** One place of a session's, until the request's scope closes. */
const place = (open: Counts, session: string) =>
  Effect.acquireRelease(
    Effect.suspend(() => {
      if (open.of(session) >= streams_session_max) return Effect.fail(tooMany)
      return Effect.sync(() => open.add(session, 1))
    }),
    () => Effect.sync(() => open.add(session, -1))
  )

const follow = (surface: Surface) => {
  const open = new Counts()
  return signedPage(
    Effect.fnUntraced(function* (asked: Asked) {
      const { request, session, view } = asked
      const given = queryOf(asked, ["run", "after"])
      const last = request.headers["last-event-id"]
      const texts = yield* runNews(asked, last === undefined ? given : { ...given, after: last })
      yield* place(open, session)
      // While the store does not answer, nobody knows better.
      const isSignedIn = Sessions.signedIn(request).pipe(
        Effect.map((found) => found !== undefined),
        Effect.orElseSucceed(() => true),
        Effect.provideContext(
          yield* Effect.context<Effect.Services<ReturnType<typeof Sessions.signedIn>>>()
        )
      )
      return yield* surface.stream(view.principal, texts, isSignedIn)
    })
  )(surface)
}

/** The script that pages follow with. A service without it has pages that stay as they are. */
const script = () => {
  let text: string | undefined
  return Effect.gen(function* () {
    text ??= yield* htmxScript
    return HttpServerResponse.text(text, {
      contentType: "text/javascript; charset=utf-8",
      headers: { "cache-control": "max-age=300" }
    })
  }).pipe(Effect.catch(() => Effect.succeed(HttpServerResponse.empty({ status: 404 }))))
}

/** The routes of what pages follow. */
export const following: ReadonlyArray<Page> = [
  { method: "GET", path: "/console/htmx.js", answer: script },
  { method: "GET", path: "/console/live", answer: follow }
]
