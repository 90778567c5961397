/** What the routes of the console share: a page for whoever is signed in, what was asked, and the operation that answers. */
import { Buffer } from "node:buffer"
import { ByteSize, Clock, Effect, Schema } from "effect"
import type { Scope, Stream } from "effect"
import { SecureRandom } from "effect/crypto"
import { Hex } from "effect/encoding"
import { HttpIncomingMessage, HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import type { InputOf, Operation, OutputOf } from "../../src/operation/Operation.ts"
import * as RunOperations from "../../src/operation/RunOperations.ts"
import type { Principal } from "../../src/principal/Principal.ts"
import { rightRefusal } from "../../src/principal/Rights.ts"
import type { Html } from "./Html.ts"
import { documentOf, markupOf } from "./Html.ts"
import type { IdentityProvider } from "./IdentityProvider.ts"
import * as Sessions from "./Sessions.ts"
import type { Part, RecordLink, Rejected, View } from "./Shell.ts"
import type { Trouble } from "./SignInPages.ts"
import { problemPage } from "./SignInPages.ts"

/** What the server around the console gives it. */
export interface Surface {
  /** Counts a request of the principal, and fails where it has sent too many. */
  readonly admit: (
    principal: Principal
  ) => Effect.Effect<void, unknown, HttpServerRequest.HttpServerRequest>
  /** Counts a try to sign in, by the address from which it comes, and fails where there were too many. */
  readonly signIn: Effect.Effect<void, unknown, HttpServerRequest.HttpServerRequest>
  /** Counts a message of the principal to an agent, and fails where it has sent too many. */
  readonly message: (
    principal: Principal
  ) => Effect.Effect<void, unknown, HttpServerRequest.HttpServerRequest>
  /** Answers the principal while few others are, so that pages take no more memory than there is. */
  readonly share: <A, E, R>(
    principal: Principal,
    answer: Effect.Effect<A, E, R>
  ) => Effect.Effect<A, unknown, R>
  /** Answers the principal with events while `goesOn`, and fails where too many streams are open. */
  readonly stream: (
    principal: Principal,
    texts: Stream.Stream<string | ReadonlyArray<Uint8Array>>,
    goesOn: Effect.Effect<boolean>
  ) => Effect.Effect<
    HttpServerResponse.HttpServerResponse,
    unknown,
    HttpServerRequest.HttpServerRequest | Scope.Scope
  >
  /** What people are told of an error; undefined = nobody declared it. */
  readonly problemOf: (error: unknown) => Trouble | undefined
  /** Tells the log what people are not told, of a store that failed. */
  readonly log: (trouble: Trouble) => Effect.Effect<void>
  /** The console's own path, such as `/console`. */
  readonly path: string
  /** The lists of records that features bring. Absent = none. */
  readonly records?: ReadonlyArray<RecordLink>
  /** Who signs people in besides tokens. Absent = nobody. */
  readonly provider?: IdentityProvider | undefined
  /** The path under which the service is mounted, as the client sees it; empty for the root. */
  readonly baseOf: (request: HttpServerRequest.HttpServerRequest) => string
  /** The largest body of a form, in bytes. */
  readonly body_bytes_max: number
}

/** A route of the console, at its usual path. What it needs is what a service has. */
export interface Page {
  readonly method: "GET" | "POST"
  readonly path: `/console${string}`
  readonly answer: (
    surface: Surface
  ) => Effect.Effect<HttpServerResponse.HttpServerResponse, unknown, unknown>
}

/** Nothing but the own stylesheet and scripts is loaded, and forms go nowhere else. */
const policyWith = (scripts: string, more: string): string =>
  `default-src 'none'; script-src ${scripts}; style-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'${more}`

const policy = policyWith("'self'", "")

/** The same for whoever is signed in: its pages may fetch from their own service, and htmx alone makes markup of a text. */
const signedPolicy = (nonce: string): string =>
  policyWith(
    `'self' 'nonce-${nonce}'`,
    "; connect-src 'self'; require-trusted-types-for 'script'; trusted-types htmx"
  )

// Browsers send the origin of a form only with a referrer.
const page_headers = { "content-security-policy": policy, "referrer-policy": "same-origin" }

const page_options = { contentType: "text/html; charset=utf-8", headers: page_headers }

export const html = (page: Html, status = 200): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.text(documentOf(page), { status, ...page_options })

export const to = (path: string) => HttpServerResponse.redirect(path, { status: 303 })

/** An error of the console's own. */
class Told {
  readonly problem: Trouble
  constructor(problem: Trouble) {
    this.problem = problem
  }
}

const badForm: Trouble = {
  status: 403,
  title: "Not sent from here",
  detail:
    "The form was not sent by a page of your session. Go back, load the page again, and send it once more."
}

const tooLarge = (bytes_max: number): Trouble => ({
  status: 413,
  title: "Too much for a form",
  detail: `A form takes at most ${bytes_max.toLocaleString("en")} bytes. Nothing was changed.`
})

/** What a form has sent, at most once each. */
type Fields = Readonly<Record<string, string>>

/** The fields of a form, which is refused unless a page of this service sent it. */
export const fieldsOf = Effect.fnUntraced(function* (bytes_max: number) {
  const request = yield* HttpServerRequest.HttpServerRequest
  if (!Sessions.isOwnPage(request)) return yield* Effect.fail(new Told(badForm))
  const sent = yield* Effect.mapError(
    Effect.provideService(
      request.urlParamsBody,
      HttpIncomingMessage.MaxBodySize,
      ByteSize.bytes(bytes_max)
    ),
    ({ reason }) =>
      new Told(
        reason._tag === "RequestParseError" && reason.reason === "BodyTooLarge"
          ? tooLarge(bytes_max)
          : badForm
      )
  )
  const fields: Record<string, string> = {}
  for (const [name, value] of sent) {
    if (typeof value === "string") fields[name] ??= value
  }
  return fields satisfies Fields
})

/** A session's request. */
export interface Asked {
  readonly view: View
  readonly request: HttpServerRequest.HttpServerRequest
  readonly params: Readonly<Record<string, string | undefined>>
  readonly fields: Fields
  readonly session: string
  /** Whether an identity provider has signed it in. */
  readonly isProvided: boolean
  /** The path of the API, as the client sees it; empty for the root. */
  readonly base: string
}

export const pathOf = (surface: Surface, request: HttpServerRequest.HttpServerRequest) =>
  surface.baseOf(request) + surface.path

/** An error as a page; one that nobody declared is for the log. */
export const shown = Effect.fnUntraced(function* (surface: Surface, error: unknown) {
  const trouble = surface.problemOf(error)
  if (trouble === undefined) return yield* Effect.die(error)
  yield* surface.log(trouble)
  const path = pathOf(surface, yield* HttpServerRequest.HttpServerRequest)
  return html(problemPage(path, trouble), trouble.status)
})

const newNonce = SecureRandom.SecureRandom.use((random) =>
  Effect.map(random.randomBytes(16), Hex.encode)
)

const page_units_max = 500

/** The address of the page of this console that was asked for before the sign-in, or of the console where that is none. */
export const pageAt = (path: string, page: string | undefined): string => {
  if (page === undefined || page.length > page_units_max || !/^[/?][!-~]*$/.test(page)) return path
  const { pathname, search } = new URL(path + page, "http://console")
  return pathname === path || pathname.startsWith(`${path}/`) ? pathname + search : path
}

/** Where somebody signs in who asked for this page. */
const signInAt = (
  surface: Surface,
  { method, url }: HttpServerRequest.HttpServerRequest,
  path: string
) => {
  const { pathname, search } = new URL(url, "http://console")
  const page = pathname.slice(surface.path.length) + search
  return method === "GET" && page !== "" && page.length <= page_units_max
    ? `${path}/sign-in?${new URLSearchParams({ to: page })}`
    : `${path}/sign-in`
}

/** Whether a page that is shown already asks for itself again. */
export const isFollowed = ({ request }: Pick<Asked, "request">): boolean =>
  request.headers["hx-request"] !== undefined

/** What follows a page must not find the form to sign in in its place. */
const signedOut = (surface: Surface, request: HttpServerRequest.HttpServerRequest, path: string) =>
  isFollowed({ request })
    ? HttpServerResponse.empty({ status: 401 })
    : to(signInAt(surface, request, path))

/** How long a page that others may ask for as well waits for them before it is read. */
const gather_ms = 20

/**
 * Makes something once for all who ask for it by the same key before it begins, so that everybody gets what is there after they
 * asked.
 */
const makeGathered = () => {
  const gathering = new Map<string, Effect.Effect<unknown, unknown>>()
  return Effect.fnUntraced(function* <A, E, R>(key: string, make: Effect.Effect<A, E, R>) {
    const known = gathering.get(key)
    if (known !== undefined) return yield* known as Effect.Effect<A, E>
    const begun = Effect.andThen(
      Effect.sleep(gather_ms),
      Effect.sync(() => gathering.delete(key))
    )
    // Who goes away ends it for nobody else.
    const once = yield* Effect.cached(
      Effect.uninterruptible(
        Effect.provideContext(Effect.andThen(begun, make), yield* Effect.context<R>())
      )
    )
    gathering.set(key, once)
    return yield* once
  })
}

/** What a session has of its own on a page. */
type Own = Pick<View, "form_key" | "nonce">

/** The bytes of a text with what a session has of its own between them. */
type SharedText = (own: Own) => ReadonlyArray<Uint8Array>

/** `standIn`: what nobody else knows, before `f` for the key of forms and `n` for the nonce. */
const sharedText = (text: string, standIn: string): SharedText => {
  const [first = "", ...rest] = text.split(standIn)
  const parts = rest.map((part) => [part[0] === "f", Buffer.from(part.slice(1))] as const)
  const begin = Buffer.from(first)
  return ({ form_key, nonce }) => {
    const own = [Buffer.from(nonce), Buffer.from(form_key)] as const
    return [begin, ...parts.flatMap(([isKey, part]) => [own[isKey ? 1 : 0], part])]
  }
}

/** On what depends that is shared: who may do the same in the same workspace sees the same. */
const sharedKey = ({ base, request, view: { path, principal } }: Asked, what: string): string =>
  JSON.stringify([
    principal.tenant,
    principal.roles,
    principal.via,
    Sessions.originOf(request),
    base,
    path,
    what
  ])

/** What `makeShared` makes of a page: its text, and what else is known of it. */
export interface Made<A> {
  readonly text: string
  readonly more: A
}

/**
 * Makes the content of a page once for all who follow it and ask for `what` at the same time. Undefined = it could not be made:
 * whatever goes wrong with it is for each alone.
 */
export const makeShared = (surface: Surface) => {
  const gathered = makeGathered()
  return <A, E, R>(
    asked: Asked,
    what: string,
    part: Part,
    make: (asked: Asked) => Effect.Effect<Made<A>, E, R>
  ) => {
    const { principal } = asked.view
    const made = Effect.gen(function* () {
      const standIn = yield* Sessions.newId
      const now = yield* Clock.currentTimeMillis
      const own = { form_key: `${standIn}f`, nonce: `${standIn}n`, now, part }
      const { more, text } = yield* make({ ...asked, view: { ...asked.view, ...own }, session: "" })
      return { more, textOf: sharedText(text, standIn) }
    })
    return Effect.orElseSucceed(
      gathered(sharedKey(asked, what), surface.share(principal, made)),
      () => undefined
    )
  }
}

/** `sharedOf`: gives the content where it was made for several sessions; undefined = the page is made for this one. */
const signed =
  <A extends Html | HttpServerResponse.HttpServerResponse, E, R>(
    answer: (asked: Asked) => Effect.Effect<A, E, R>,
    sharedOf: (
      surface: Surface
    ) => (asked: Asked) => Effect.Effect<SharedText | undefined, never, R>
  ) =>
  (surface: Surface) => {
    const shared = sharedOf(surface)
    return Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const path = pathOf(surface, request)
      return yield* Effect.gen(function* () {
        const found = yield* Sessions.signedIn(request, surface.provider?.issuer)
        if (found === undefined) return signedOut(surface, request, path)
        const { digest: session, form_key, isProvided, principal } = found
        yield* surface.admit(principal)
        const refusal = rightRefusal(principal, "inspect")
        if (refusal !== undefined) return yield* Effect.fail(refusal)
        const nonce = yield* newNonce
        const params = yield* HttpRouter.params
        const base = surface.baseOf(request)
        const { records = [] } = surface
        const now = yield* Clock.currentTimeMillis
        const view = { path, principal, form_key, nonce, now, records }
        const asked = { view, request, params, fields: {}, session, isProvided, base }
        const common = yield* shared(asked)
        return yield* surface.share(
          principal,
          Effect.gen(function* () {
            const posts = request.method === "POST"
            const fields = posts ? yield* fieldsOf(surface.body_bytes_max) : {}
            if (posts && !Sessions.isSame(fields["form_key"] ?? "", form_key)) {
              return yield* Effect.fail(new Told(badForm))
            }
            const now = yield* Clock.currentTimeMillis
            const given =
              common === undefined
                ? yield* answer({ ...asked, view: { ...view, now }, fields })
                : HttpServerResponse.uint8Array(Buffer.concat(common(view)), page_options)
            const response = HttpServerResponse.isHttpServerResponse(given) ? given : html(given)
            return HttpServerResponse.setHeader(
              response,
              "content-security-policy",
              signedPolicy(nonce)
            )
          })
        )
      }).pipe(Effect.catch((error: unknown) => shown(surface, error)))
    })
  }

/** A page for somebody who is signed in; whoever is not is sent to where one does. */
export const signedPage = <E, R>(
  answer: (asked: Asked) => Effect.Effect<Html | HttpServerResponse.HttpServerResponse, E, R>
) => signed(answer, () => () => Effect.undefined)

/**
 * The same of a page that is followed: many ask for it again when it has changed, and those who may do the same get it made once.
 * It shows nothing of the principal but its rights.
 */
export const followedPage = <E, R>(answer: (asked: Asked) => Effect.Effect<Html, E, R>) =>
  signed(answer, (surface) => {
    const shared = makeShared(surface)
    const content = (asked: Asked) =>
      Effect.map(answer(asked), (page) => ({ text: markupOf(page), more: undefined }))
    return (asked) =>
      isFollowed(asked)
        ? Effect.map(
            shared(asked, asked.request.url, { known: -1 }, content),
            (made) => made?.textOf
          )
        : Effect.undefined
  })

/** Performs an operation as the one who is signed in. */
export const perform = <O extends Operation, E, R>(
  served: {
    readonly operation: O
    readonly perform: (
      input: Effect.Effect<InputOf<O>>,
      by: Principal
    ) => Effect.Effect<OutputOf<O>, E, R>
  },
  input: InputOf<O>,
  { view }: Pick<Asked, "view">
) => served.perform(Effect.succeed(input), view.principal)

/** What is in a part of a request, decoded as the operation has it. */
export const decoded = <A, I>(schema: Schema.Codec<A, I>, given: unknown, missing: Trouble) =>
  Effect.mapError(Schema.decodeUnknownEffect(schema)(given), () => new Told(missing))

/** What a form asks for. Where it is refused, `again` is the page with why, and with what was typed. */
export const doneOr = <A, B, E, E2, R, R2>(
  surface: Surface,
  act: Effect.Effect<A, E, R>,
  again: (message: string, status: number, error: E) => Effect.Effect<B, E2, R2>
): Effect.Effect<A | B, E | E2, R | R2> =>
  Effect.catch(act, (error): Effect.Effect<B, E | E2, R2> => {
    const trouble = surface.problemOf(error)
    return trouble === undefined || trouble.status === 404
      ? Effect.fail(error)
      : again(trouble.detail, trouble.status, error)
  })

export const nothingHere: Trouble = {
  status: 404,
  title: "There is nothing here",
  detail: "The address names nothing that this console has."
}

export const queryOf = (
  { request }: Asked,
  names: ReadonlyArray<string>
): Record<string, string> => {
  const query = new URL(request.url, "http://console").searchParams
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = query.get(name)
      return value === null || value === "" ? [] : [[name, value]]
    })
  )
}

/** The rows of a page of a list. */
export const page_max = 50

/** A page of a list as the address of a page of the console asks for it. */
export const pageQuery = <A extends object, I>(asked: Asked, query: Schema.Codec<A, I>) =>
  Effect.map(decoded(query, queryOf(asked, ["after"]), nothingHere), (given) => ({
    ...given,
    limit: page_max
  }))

/** Shows a page again: with why its form was not done, and with what was typed. */
export const againWith =
  <E, R>(asked: Asked, show: (rejected: Rejected) => Effect.Effect<Html, E, R>) =>
  (message: string, status: number) =>
    Effect.map(show({ message, typed: asked.fields }), (page) => html(page, status))

/** The run that an address names. */
export const runId = ({ params }: Asked) =>
  Effect.map(decoded(RunOperations.get.params, params, nothingHere), ({ id }) => id)
