/**
 * The pages of the console, over the operations of the service: it can do nothing that the API cannot, and what a principal may not
 * do there is refused here too. Every page reads and every form posts without a script.
 */
import { Effect, Redacted, Result, Schema } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import * as RunOperations from "../../src/operation/RunOperations.ts"
import { rightRefusal } from "../../src/principal/Rights.ts"
import { After } from "../../src/operation/Page.ts"
import { defined } from "../../src/value/PlainObject.ts"
import { operations } from "../service/ServiceOperations.ts"
import { eventsOf, pageWith } from "./KnownEvents.ts"
import { administration } from "./AdminRoutes.ts"
import { apiLine, jsonFile } from "./ApiLine.ts"
import { covering } from "./CoverageRoutes.ts"
import { files } from "./ListFiles.ts"
import { runQuery } from "./ListQueries.ts"
import { keyScript } from "./Keys.ts"
import { goOnScript } from "./BulkPages.ts"
import { bulks } from "./BulkRoutes.ts"
import { followScript } from "./Following.ts"
import { forking } from "./ForkRoutes.ts"
import { followingList, lists } from "./FollowedLists.ts"
import { following } from "./FollowRoutes.ts"
import { memories } from "./MemoryRoutes.ts"
import { nowPage } from "./NowPage.ts"
import { addressOf } from "./ProviderRoutes.ts"
import { questions } from "./QuestionRoutes.ts"
import { governing } from "./GovernRoutes.ts"
import { repairs } from "./RepairRoutes.ts"
import { isOver, runPage, runsPage } from "./RunPages.ts"
import * as Sessions from "./Sessions.ts"
import type { Asked, Page, Surface } from "./SignedPages.ts"
import {
  decoded,
  fieldsOf,
  followedPage,
  html,
  isFollowed,
  nothingHere,
  pageAt,
  pathOf,
  perform,
  queryOf,
  runId,
  shown,
  signedPage,
  to
} from "./SignedPages.ts"
import { standing } from "./StandingRoutes.ts"
import { conversations } from "./TalkRoutes.ts"
import { linkPage, signedOutPage, signInPage } from "./SignInPages.ts"
import { stylesheet } from "./Stylesheet.ts"

const now = followedPage(
  Effect.fnUntraced(function* (asked: Asked) {
    const waiting = yield* lists.now.find(asked, undefined)
    const follows = yield* followingList(asked, lists.now, waiting, { page: "" })
    return nowPage(asked.view, waiting, follows)
  })
)

const runs = followedPage(
  Effect.fnUntraced(function* (asked: Asked) {
    const { after, limit, status } = yield* runQuery(asked)
    const query = { limit, ...defined({ after, status }) }
    const found = yield* perform(operations.runs, query, asked)
    const follows =
      after === undefined
        ? yield* followingList(asked, lists.runs, found, { page: "/runs", status })
        : undefined
    const line = apiLine(asked, RunOperations.list, query)
    return runsPage(asked.view, { ...found, line, ...defined({ follows, status }) })
  })
)

const AfterEvent = Schema.Struct({
  after: Schema.optionalKey(Schema.FiniteFromString.pipe(Schema.decodeTo(After)))
})

const run = followedPage(
  Effect.fnUntraced(function* (asked: Asked) {
    const id = yield* runId(asked)
    const { after } = yield* decoded(AfterEvent, queryOf(asked, ["after"]), nothingHere)
    const run = yield* perform(operations.run, { id }, asked)
    const newest = pageWith(Math.max(0, run.length - 1))
    const first = after ?? (isOver(run) ? -1 : newest)
    let found = yield* eventsOf(asked, { id, after: first })
    // Who follows the newest events is given the next page of them when the one before is full.
    if (found.next_after !== undefined && first < newest && isFollowed(asked)) {
      found = yield* eventsOf(asked, { id, after: newest })
    }
    return runPage(asked.view, run, found.items, found.next_after !== undefined)
  })
)

const events = signedPage(
  Effect.fnUntraced(function* (asked: Asked) {
    const id = yield* runId(asked)
    const { after } = yield* decoded(AfterEvent, queryOf(asked, ["after"]), nothingHere)
    const found = yield* eventsOf(asked, { id, ...defined({ after }) })
    return yield* jsonFile(RunOperations.events.success, found, `run-${id}`)
  })
)

const cancel = signedPage(
  Effect.fnUntraced(function* (asked: Asked) {
    const id = yield* runId(asked)
    const trouble = {
      status: 422,
      title: "Say why",
      detail: "A run is cancelled with a reason of 1 to 4,000 characters."
    }
    const { reason } = yield* decoded(
      RunOperations.cancel.payload,
      { reason: asked.fields["reason"] },
      trouble
    )
    yield* perform(operations.cancel, { id, reason }, asked)
    return to(`${asked.view.path}/runs/${id}`)
  })
)

/** Anybody may send one: it takes a token and no more. */
const sign_in_bytes_max = 16_384

const signInForm = (surface: Surface) =>
  Effect.map(HttpServerRequest.HttpServerRequest, (request) => {
    const path = pathOf(surface, request)
    const { searchParams } = new URL(request.url, "http://console")
    const code = searchParams.get("code")
    if (code !== null) return html(linkPage(path, code))
    const page = searchParams.get("to") ?? ""
    return html(signInPage(path, { page, provider: surface.provider?.name }))
  })

const signIn = (surface: Surface) =>
  Effect.gen(function* () {
    const request = yield* HttpServerRequest.HttpServerRequest
    const path = pathOf(surface, request)
    const { code, to: page = "", token = "" } = yield* fieldsOf(sign_in_bytes_max)
    yield* surface.signIn
    const refused = (problem: string) =>
      html(signInPage(path, { page, problem, provider: surface.provider?.name }), 401)
    const found = yield* Effect.result(
      code === undefined ? Sessions.byToken(Redacted.make(token.trim())) : Sessions.byLink(code)
    )
    if (Result.isFailure(found)) {
      return found.failure._tag === "Unauthorized"
        ? refused("This token is none that the service knows, or is not in force any more.")
        : yield* shown(surface, found.failure)
    }
    const by = found.success
    if (by === undefined)
      return refused("This link was used before, or is too old. Sign in with a token.")
    yield* surface.admit(by.principal)
    if (rightRefusal(by.principal, "inspect") !== undefined) {
      return refused(
        "The owner of this token may not look into runs: the console is for those who answer for what agents do."
      )
    }
    return yield* Sessions.beginSession(to(pageAt(path, page)), request, path, by)
  }).pipe(Effect.catch((error: unknown) => shown(surface, error)))

const signOut = (surface: Surface) =>
  signedPage(
    Effect.fnUntraced(function* ({ isProvided, request, session, view: { path } }: Asked) {
      const { provider } = surface
      const hint = isProvided ? yield* Sessions.idTokenOf(request) : undefined
      const left = Effect.gen(function* () {
        if (provider !== undefined && isProvided) {
          const back = `${addressOf(provider, request, path)}/sign-in`
          const address = yield* provider.end(back, hint)
          if (address !== undefined) return html(signedOutPage(path, provider.name, address))
        }
        return to(`${path}/sign-in`)
      })
      return yield* Sessions.endSession(left, request, path, session)
    })
  )(surface)

const toConsole = (surface: Surface) =>
  Effect.map(HttpServerRequest.HttpServerRequest, (request) => to(pathOf(surface, request)))

/** What all pages share, the same for everybody. */
const shared = (content: string, contentType: string) => () =>
  Effect.succeed(
    HttpServerResponse.text(content, {
      contentType: `${contentType}; charset=utf-8`,
      headers: { "cache-control": "max-age=300" }
    })
  )

/** All routes of the console. */
export const pages: ReadonlyArray<Page> = [
  { method: "GET", path: "/console", answer: now },
  // People type it so.
  { method: "GET", path: "/console/", answer: toConsole },
  { method: "GET", path: "/console/style.css", answer: shared(stylesheet, "text/css") },
  {
    method: "GET",
    path: "/console/keys.js",
    answer: shared(keyScript + followScript + goOnScript, "text/javascript")
  },
  { method: "GET", path: "/console/sign-in", answer: signInForm },
  { method: "POST", path: "/console/sign-in", answer: signIn },
  { method: "POST", path: "/console/sign-out", answer: signOut },
  { method: "GET", path: "/console/runs", answer: runs },
  { method: "GET", path: "/console/runs/:id", answer: run },
  { method: "GET", path: "/console/runs/:id/events.json", answer: events },
  { method: "POST", path: "/console/runs/:id/cancel", answer: cancel },
  ...questions,
  ...files,
  ...bulks,
  ...following,
  ...forking,
  ...repairs,
  ...standing,
  ...conversations,
  ...covering,
  ...governing,
  ...memories,
  ...administration
]
