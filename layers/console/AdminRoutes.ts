/** The routes of what admins do: access tokens, and erasures. */
import { Effect, Schema } from "effect"
import { CallerToken } from "../../src/operation/Operation.ts"
import * as ErasureOperations from "../../src/operation/ErasureOperations.ts"
import * as TokenOperations from "../../src/operation/TokenOperations.ts"
import { DeclaredRoles, rolesWith } from "../../src/principal/Rights.ts"
import { defined } from "../../src/value/PlainObject.ts"
import { Unauthorized } from "../../services/Credentials.ts"
import { ConsoleSessions } from "../../services/ConsoleSessions.ts"
import { operations } from "../service/ServiceOperations.ts"
import { apiLine } from "./ApiLine.ts"
import { erasedPage, erasuresPage } from "./ErasurePages.ts"
import type { Rejected } from "./Shell.ts"
import type { Asked, Page, Surface } from "./SignedPages.ts"
import {
  againWith,
  decoded,
  doneOr,
  html,
  nothingHere,
  pageQuery,
  perform,
  signedPage,
  to
} from "./SignedPages.ts"
import { days, issuedPage, roleField, tokensPage } from "./TokenPages.ts"

const day_ms = 86_400_000

const allRoles = Effect.map(DeclaredRoles, rolesWith)

const tokensWith = Effect.fnUntraced(function* (asked: Asked, rejected?: Rejected) {
  const query = yield* pageQuery(asked, TokenOperations.list.query)
  const found = yield* perform(operations.tokens, query, asked)
  const line = apiLine(asked, TokenOperations.list, query)
  const roles = yield* allRoles
  const { isProvided, view } = asked
  return tokensPage(view, { ...found, isProvided, roles, line, ...defined({ rejected }) })
})

const tokens = signedPage((asked) => tokensWith(asked))

const Asking = Schema.Struct({
  name: TokenOperations.create.payload.fields.name,
  principal: TokenOperations.create.payload.fields.principal,
  roles: TokenOperations.create.payload.fields.roles,
  days: Schema.Literals(days.map(String))
})

/** With what somebody signed in: what is made with it holds no longer. Fails where the session has ended meanwhile. */
const callerOf = Effect.fnUntraced(function* ({ session }: Asked) {
  const found = yield* ConsoleSessions.use((sessions) => sessions.find(session, "session"))
  if (found === undefined) return yield* new Unauthorized()
  return found.provided === undefined
    ? { sha256: found.token_sha256 }
    : { session_ends_at: found.ends_at }
})

const create = (surface: Surface) =>
  signedPage(
    Effect.fnUntraced(function* (asked: Asked) {
      const { fields } = asked
      const again = againWith(asked, (rejected) => tokensWith(asked, rejected))
      const roles = (yield* allRoles).filter((role) => fields[roleField(role)] === "yes")
      const { days, name, principal } = fields
      const given = { name, roles, days, ...(principal ? { principal } : {}) }
      const read = yield* Effect.result(Schema.decodeUnknownEffect(Asking)(given))
      if (read._tag === "Failure") {
        return yield* again(
          "A token needs a name of 1 to 100 characters, and at least one role.",
          422
        )
      }
      const { days: chosen, ...request } = read.success
      const input = { ...request, holds_ms: Number(chosen) * day_ms }
      return yield* doneOr(
        surface,
        Effect.map(
          Effect.provideService(
            perform(operations.createToken, input, asked),
            CallerToken,
            yield* callerOf(asked)
          ),
          (issued) => html(issuedPage(asked.view, issued), 201)
        ),
        again
      )
    })
  )(surface)

const revoke = signedPage(
  Effect.fnUntraced(function* (asked: Asked) {
    const { id } = yield* decoded(TokenOperations.revoke.params, asked.params, nothingHere)
    yield* perform(operations.revokeToken, { id }, asked)
    return to(`${asked.view.path}/tokens`)
  })
)

const erasuresWith = Effect.fnUntraced(function* (asked: Asked, rejected?: Rejected) {
  const query = yield* pageQuery(asked, ErasureOperations.list.query)
  const found = yield* perform(operations.erasures, query, asked)
  const line = apiLine(asked, ErasureOperations.list, query)
  return erasuresPage(asked.view, { ...found, line, ...defined({ rejected }) })
})

const erasures = signedPage((asked) => erasuresWith(asked))

const erase = (surface: Surface) =>
  signedPage(
    Effect.fnUntraced(function* (asked: Asked) {
      const { again: repeated, subject } = asked.fields
      const again = againWith(asked, (rejected) => erasuresWith(asked, rejected))
      const read = yield* Effect.result(
        Schema.decodeUnknownEffect(ErasureOperations.erase.payload)({ subject })
      )
      if (read._tag === "Failure" || subject !== repeated) {
        return yield* again(
          "Write the same id twice, 1 to 200 characters. Nothing was erased.",
          422
        )
      }
      return yield* doneOr(
        surface,
        Effect.map(perform(operations.erase, read.success, asked), (report) =>
          html(erasedPage(asked.view, report))
        ),
        again
      )
    })
  )(surface)

/** Access tokens, and erasures. */
export const administration: ReadonlyArray<Page> = [
  { method: "GET", path: "/console/tokens", answer: tokens },
  { method: "POST", path: "/console/tokens", answer: create },
  { method: "POST", path: "/console/tokens/:id/revoke", answer: revoke },
  { method: "GET", path: "/console/erasures", answer: erasures },
  { method: "POST", path: "/console/erasures", answer: erase }
]
