/** The routes of what a policy says of past calls. */
import { Effect, Result, Schema } from "effect"
import type { Json } from "effect/Schema"
import * as ToolOperations from "../../src/operation/ToolOperations.ts"
import type { InputOf } from "../../src/operation/Operation.ts"
import { InvalidInput } from "../../src/schema/InvalidInput.ts"
import { readJson } from "../../src/value/BoundedJson.ts"
import { operations } from "../service/ServiceOperations.ts"
import { apiLine } from "./ApiLine.ts"
import { coverage_days, coveragePage } from "./CoveragePages.ts"
import { jsonText } from "./Html.ts"
import type { Rejected } from "./Shell.ts"
import type { Asked, Page, Surface } from "./SignedPages.ts"
import {
  againWith,
  decoded,
  doneOr,
  html,
  nothingHere,
  perform,
  queryOf,
  signedPage
} from "./SignedPages.ts"

const day_ms = 86_400_000
/** The runs of one page. */
const runs_max = 500

const Days = Schema.Struct({
  days: Schema.optionalKey(
    Schema.FiniteFromString.pipe(Schema.decodeTo(Schema.Literals(coverage_days)))
  )
})

type Tried = Pick<InputOf<typeof ToolOperations.tryPolicy>, "policy">

const coverageWith = Effect.fnUntraced(function* (
  asked: Asked,
  given: unknown,
  tried: Tried & { readonly typed?: string },
  rejected?: Rejected
) {
  const { days = 7 } = yield* decoded(Days, given, nothingHere)
  const { policy, typed } = tried
  const created_from = asked.view.now - days * day_ms
  const input = { limit: runs_max, created_from, ...(policy === undefined ? {} : { policy }) }
  const trial = yield* perform(operations.tryPolicy, input, asked)
  const inForce = yield* perform(operations.policy, {}, asked)
  const line = apiLine(asked, ToolOperations.tryPolicy, {})
  const coverage = { trial, days, line, ...(typed === undefined ? {} : { policy: typed }) }
  return coveragePage(asked.view, coverage, jsonText(inForce.policy), rejected)
})

const coverage = signedPage((asked) => coverageWith(asked, queryOf(asked, ["days"]), {}))

/** The policy that was typed. */
const policyOf = (typed: string) =>
  Result.match(readJson(typed), {
    onFailure: ({ message }) =>
      Effect.fail(
        new InvalidInput({
          field: "policy",
          reason: `Expected JSON that can be read: ${message}`
        })
      ),
    onSuccess: (json: Json) =>
      Effect.mapError(
        Schema.decodeUnknownEffect(ToolOperations.tryPolicy.payload.fields.policy.schema)(json),
        ({ message: reason }) => new InvalidInput({ field: "policy", reason })
      )
  })

const trial = (surface: Surface) =>
  signedPage(
    Effect.fnUntraced(function* (asked: Asked) {
      const { fields } = asked
      const { days = "7", policy: typed = "" } = fields
      const tried = Effect.flatMap(policyOf(typed), (policy) =>
        coverageWith(asked, { days }, { policy, typed })
      )
      const again = againWith(asked, (rejected) => coverageWith(asked, { days }, {}, rejected))
      return yield* doneOr(surface, Effect.map(tried, html), again)
    })
  )(surface)

/** What a policy says of past calls. */
export const covering: ReadonlyArray<Page> = [
  { method: "GET", path: "/console/coverage", answer: coverage },
  { method: "POST", path: "/console/coverage", answer: trial }
]
