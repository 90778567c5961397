/**
 * The streams that pages follow. That of a list tells that there is news, and the page asks for it. That of a run has what its page
 * shows, without what stays as it is there.
 */
import { Effect, Schema, Stream } from "effect"
import type { Pull } from "effect"
import { encoder } from "effect/encoding/Sse"
import { HttpServerResponse } from "effect/http"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import type { OpenFeed, WatchError } from "../../services/AgentRuntime.ts"
import type { FeedItem } from "../../src/run/FeedItem.ts"
import { After } from "../../src/operation/Page.ts"
import { Counts } from "../../src/value/Counts.ts"
import { RunId } from "../../src/value/Ids.ts"
import { newestFollowed } from "../service/MessageEffects.ts"
import { operations } from "../service/ServiceOperations.ts"
import { lists, markOf } from "./FollowedLists.ts"
import { htmxScript } from "./Following.ts"
import { markupOf } from "./Html.ts"
import { pageWith } from "./KnownEvents.ts"
import { onePage } from "./RunRoutes.ts"
import * as Sessions from "./Sessions.ts"
import type { Asked, Page, Surface } from "./SignedPages.ts"
import { decoded, makeShared, nothingHere, perform, queryOf, signedPage } from "./SignedPages.ts"

/** In ms. They are few, so that those who know of different events are told at the same moments. */
const pauses = [500, 1_000, 2_000]
const pause_ms_max = 4_000
/**
 * A page is told at most twice a second, and less often of a long run or beside many other pages: all events of a run are read for
 * its page, each in about 0.02 ms. So one page takes about one hundredth of a processor, all pages together are told fifty times a
 * second, and each is at most five seconds late.
 */
const pauseAfter = (seq: number, pages: number): number =>
  pauses.find((each) => each >= Math.max(4 * seq, 20 * pages)) ?? pause_ms_max

/**
 * Waits so long, and the first time less or a tenth more: those who follow the same are told at the same moment, so that the page is
 * made once for them. `of`: what they follow, by which the moments of others are different.
 */
const pausing = (pause_ms: number, of: string, pages: number) =>
  Effect.clockWith((clock) => {
    if (pages < 2) return Effect.sleep(pause_ms)
    const shift = Number.parseInt(of.replaceAll(/[^0-9a-f]/g, "").slice(-6) || "0", 16)
    const left = pause_ms - ((clock.currentTimeMillisUnsafe() + shift) % pause_ms)
    return Effect.sleep(left < pause_ms / 10 ? left + pause_ms : left)
  })
/** What has happened meanwhile comes in so many parts at most, each so soon, before the page is told. */
const parts_max = 100
const part_ms = 50
/** The page of a list is told about every two seconds at most. */
const list_pause_ms = 1_800
/** How long a stream that cannot go on stays open, so that its page does not ask again and again. */
const failed_ms = 5_000
/**
 * A stream ends after so many heartbeats, five minutes, and its page begins another: whose network is gone without a word takes its
 * place no longer, since what is sent to it goes nowhere and fails after a quarter of an hour.
 */
const beats_max = 20
/** A browser opens six connections to a host by HTTP/1.1, and two of them have to be left for pages. Hidden pages have none. */
const streams_session_max = 4

const news = (id: string | undefined): string =>
  encoder.write({ _tag: "Event", event: "news", id, data: "" })

/** What htmx puts in its place. */
const content = (id: string, data: string): string =>
  encoder.write({ _tag: "Event", event: "message", id, data })

/** Looks at something once in a while, for all who ask for it by the same key. */
const makeLooks = () => {
  const looks = new Map<string, { readonly until: number; readonly look: Effect.Effect<unknown> }>()
  return Effect.fnUntraced(function* <A, R>(
    key: string,
    every_ms: number,
    look: Effect.Effect<A, never, R>
  ) {
    const now = yield* Effect.clockWith((clock) => clock.currentTimeMillis)
    for (const [old, { until }] of looks) if (until <= now) looks.delete(old)
    const known = looks.get(key)
    if (known !== undefined) return yield* known.look as Effect.Effect<A>
    // Who goes away ends it for nobody else.
    const once = yield* Effect.cached(
      Effect.uninterruptible(Effect.provideContext(look, yield* Effect.context<R>()))
    )
    looks.set(key, { until: now + every_ms, look: once })
    return yield* once
  })
}

type Look = ReturnType<typeof makeLooks>

/** Says that the list is another one, and its mark. While the store does not answer, it says nothing. */
const listNews = Effect.fnUntraced(function* (
  {
    looks,
    open,
    surface
  }: { readonly looks: Look; readonly open: Counts; readonly surface: Surface },
  asked: Asked,
  given: unknown
) {
  const { after, of, status } = yield* decoded(ListCursor, given, nothingHere)
  const { principal } = asked.view
  const list = lists[of] as (typeof lists)["runs"]
  const found = Effect.flatMap(list.find(asked, status), (found) => markOf(list, found))
  const mark = Effect.orElseSucceed(surface.share(principal, found), () => undefined)
  const services = yield* Effect.context<Effect.Services<typeof mark>>()
  const key = `${of} ${status ?? ""} ${principal.tenant}`
  const look = looks(key, list.every_ms, Effect.provideContext(mark, services))
  let last = after
  let pause: Effect.Effect<void> = Effect.void
  const next = Effect.gen(function* () {
    yield* pause
    pause = pausing(list_pause_ms, principal.tenant, open.total)
    while (true) {
      const mark = yield* look
      if (mark !== undefined && mark !== last) {
        last = mark
        return news(mark)
      }
      yield* Effect.sleep(list.every_ms)
    }
  })
  return Stream.fromEffectRepeat(next)
})

type Feed = OpenFeed<WatchError>
type Text = string | ReadonlyArray<Uint8Array>

/** The place of the last event of the run that there is, once there is one. */
const lastOf = Effect.fnUntraced(function* (run: RunId, feed: Feed) {
  const soon = Effect.timeoutOrElse(feed.pull, {
    duration: part_ms,
    orElse: () => Effect.succeed<ReadonlyArray<FeedItem>>([])
  })
  let last: number | undefined
  for (let part = 0; last === undefined || part < parts_max; part++) {
    const available = last === undefined ? "pull" : feed.takeAvailable()
    if (available === "wait") break
    const items = available !== "pull" ? available : yield* last === undefined ? feed.pull : soon
    if (items.length === 0) break
    for (const item of items) {
      if (item._tag === "Event" && item.run === run) last = item.entry.seq
    }
  }
  return last ?? 0
})

/** Gives the page of a run once it has new events. */
const newsOf = <R>(
  run: RunId,
  feed: Feed,
  open: Counts,
  pageOf: (seq: number) => Effect.Effect<Text, never, R>
): Pull.Pull<readonly [Text], WatchError, void, R> => {
  let pause: Effect.Effect<void> = Effect.void
  return Effect.gen(function* () {
    yield* pause
    const seq = yield* lastOf(run, feed)
    pause = pausing(pauseAfter(seq, open.total), run, open.total)
    return [yield* pageOf(seq)] as const
  })
}

const ListCursor = Schema.Struct({
  of: Schema.Literals(Object.keys(lists) as ReadonlyArray<keyof typeof lists>),
  status: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(40))),
  after: Schema.optionalKey(Schema.String)
})

const Seq = Schema.FiniteFromString.pipe(Schema.decodeTo(After))

/** `from`: it is the run's own page, which begins behind this event. Absent = another page, which is told that there is news. */
const RunCursor = Schema.Struct({ run: RunId, from: Schema.optionalKey(Seq), after: Seq })

type Shared = ReturnType<typeof makeShared>

const known_step = 25

/** The page of a run for one who has it up to `known`. */
const pages = (shared: Shared, asked: Asked, run: RunId, from: number, known: number) => {
  let has = known
  return Effect.fnUntraced(function* (seq: number) {
    const after = Math.max(from, pageWith(seq))
    // Those who follow it from different events have the same, but for the newest ones.
    const known = has - ((has + 1) % known_step)
    const made = yield* shared(asked, `${run} ${after} ${known}`, { known }, (asked) =>
      Effect.map(onePage(asked, run, after), ([page, last]) => ({
        text: content(String(last), markupOf(page)),
        more: last
      }))
    )
    // The page asks for itself, and is told there what is wrong.
    if (made === undefined) return news(String(seq))
    has = made.more
    return made.textOf(asked.view)
  })
}

const runNews = Effect.fnUntraced(function* (
  { open, shared }: { readonly open: Counts; readonly shared: Shared },
  asked: Asked,
  given: unknown
) {
  const { after, from, run } = yield* decoded(RunCursor, given, nothingHere)
  const { principal } = asked.view
  const { conversation, length, ordinal } = yield* perform(operations.run, { id: run }, asked)
  yield* newestFollowed(conversation, ordinal, principal)
  const runtime = yield* AgentRuntime
  // What is there already is told at once, and not read.
  const last = length - 1
  const feed = runtime.openFeed(conversation, { ordinal, seq: last }, principal)
  const page =
    from === undefined
      ? (seq: number) => Effect.succeed<Text>(news(String(seq)))
      : pages(shared, asked, run, from, after)
  const told = after < last ? Stream.fromEffect(page(last)) : Stream.empty
  const more = Stream.scoped(
    Stream.fromPull(Effect.map(feed, (opened) => newsOf(run, opened, open, page)))
  )
  const failed = Stream.concat(
    Stream.succeed(news(undefined)),
    Stream.drain(Stream.fromEffect(Effect.sleep(failed_ms)))
  )
  const all = Stream.concat(
    told,
    Stream.catch(more, () => failed)
  )
  return Stream.provideContext(
    all,
    yield* Effect.context<Effect.Services<ReturnType<typeof page>>>()
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
  const looks = makeLooks()
  const shared = makeShared(surface)
  return signedPage(
    Effect.fnUntraced(function* (asked: Asked) {
      const { request, session, view } = asked
      yield* place(open, session)
      const query = queryOf(asked, ["run", "from", "of", "status", "after"])
      const last = request.headers["last-event-id"]
      const given = last === undefined ? query : { ...query, after: last }
      const texts = yield* "run" in given
        ? runNews({ open, shared }, asked, given)
        : listNews({ looks, open, surface }, asked, given)
      let beats = 0
      // While the store does not answer, nobody knows better.
      const isSignedIn = Sessions.signedIn(request, surface.provider?.issuer).pipe(
        Effect.map((found) => found !== undefined),
        Effect.orElseSucceed(() => true),
        Effect.provideContext(
          yield* Effect.context<Effect.Services<ReturnType<typeof Sessions.signedIn>>>()
        )
      )
      const goesOn = Effect.suspend(() =>
        ++beats < beats_max ? isSignedIn : Effect.succeed(false)
      )
      return yield* surface.stream(view.principal, texts, goesOn)
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
