/**
 * The pages of the console, over the operations of the service: it can do nothing that the API cannot, and what a principal may not
 * do there is refused here too. Every page reads and every form posts without a script.
 */
import { Effect, Redacted, Result } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { rightRefusal } from "../../src/principal/Rights.ts"
import { administration } from "./AdminRoutes.ts"
import { covering } from "./CoverageRoutes.ts"
import { files } from "./ListFiles.ts"
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
import { running } from "./RunRoutes.ts"
import { governing } from "./GovernRoutes.ts"
import { repairs } from "./RepairRoutes.ts"
import * as Sessions from "./Sessions.ts"
import type { Asked, Page, Surface } from "./SignedPages.ts"
import {
  fieldsOf,
  followedPage,
  html,
  pageAt,
  pathOf,
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

/** Anybody may send one: it takes a token and no more. */
const sign_in_bytes_max = 16_384

const used_link = "This link was used before, or is too old. Sign in with a token."

/** A program may look at a link before its owner does: what is asked here uses none. */
const signInForm = (surface: Surface) =>
  Effect.gen(function* () {
    const request = yield* HttpServerRequest.HttpServerRequest
    const path = pathOf(surface, request)
    const { searchParams } = new URL(request.url, "http://console")
    const provider = surface.provider?.name
    const code = searchParams.get("code")
    if (code === null) {
      return html(signInPage(path, { page: searchParams.get("to") ?? "", provider }))
    }
    yield* surface.signIn
    return (yield* Sessions.isLink(code))
      ? html(linkPage(path, code))
      : html(signInPage(path, { page: "", problem: used_link, provider }), 401)
  }).pipe(Effect.catch((error: unknown) => shown(surface, error)))

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
    if (by === undefined) return refused(used_link)
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
  ...running,
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
