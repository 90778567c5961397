/** The routes of forks. */
import { Effect, Result, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import type { InputOf } from "../../src/operation/Operation.ts"
import * as RunOperations from "../../src/operation/RunOperations.ts"
import { ForkOptions } from "../../src/replay/ForkOptions.ts"
import { InvalidInput } from "../../src/schema/InvalidInput.ts"
import { readJson } from "../../src/value/BoundedJson.ts"
import { defined } from "../../src/value/PlainObject.ts"
import { operations } from "../service/ServiceOperations.ts"
import { knownEvents } from "./KnownEvents.ts"
import { apiLine } from "./ApiLine.ts"
import { comparisonPage, forkPage } from "./ForkPages.ts"
import type { Rejected } from "./Shell.ts"
import type { Asked, Page, Surface } from "./SignedPages.ts"
import {
  againWith,
  decoded,
  doneOr,
  nothingHere,
  perform,
  queryOf,
  runId,
  signedPage,
  to
} from "./SignedPages.ts"

type Id = InputOf<typeof RunOperations.get>["id"]

const formWith = Effect.fnUntraced(function* (asked: Asked, id: Id, rejected?: Rejected) {
  const { step = "0/1" } = yield* decoded(
    Schema.Struct({ step: ForkOptions.fields.step }),
    queryOf(asked, ["step"]),
    nothingHere
  )
  const run = yield* perform(operations.run, { id }, asked)
  const key =
    rejected?.typed["idempotency_key"] ??
    (yield* SecureRandom.SecureRandom.use((random) => random.uuidV4()))
  const { entries } = yield* knownEvents(asked, id)
  return forkPage(asked.view, run, entries, { key, step }, rejected)
})

const forkForm = signedPage((asked) => Effect.flatMap(runId(asked), (id) => formWith(asked, id)))

/** What a form changes. Whatever it leaves empty, or as it was, is not changed. */
const optionsOf = Effect.fnUntraced(function* ({ fields }: Asked, message: string) {
  const given = (name: string) => fields[name]?.trim() || undefined
  const policy = given("policy")
  const json = policy === undefined ? undefined : readJson(policy)
  if (json !== undefined && Result.isFailure(json)) {
    const reason = `Expected JSON that can be read: ${json.failure.message}`
    return yield* new InvalidInput({ field: "policy", reason })
  }
  // Browsers send line ends as two characters.
  const typed = fields["message"]?.replaceAll("\r\n", "\n")
  const isOther = typed !== undefined && typed !== message.replaceAll("\r\n", "\n")
  return yield* Effect.mapError(
    Schema.decodeUnknownEffect(ForkOptions)(
      defined({
        step: given("step"),
        message: isOther ? typed : undefined,
        model: given("model"),
        policy: json?.success,
        idempotency_key: given("idempotency_key")
      })
    ),
    ({ message: reason }) => new InvalidInput({ field: "form", reason })
  )
})

const fork = (surface: Surface) =>
  signedPage(
    Effect.fnUntraced(function* (asked: Asked) {
      const { view } = asked
      const id = yield* runId(asked)
      const { message } = yield* perform(operations.run, { id }, asked)
      const forked = Effect.flatMap(optionsOf(asked, message), (options) =>
        perform(operations.fork, { id, ...options }, asked)
      )
      return yield* doneOr(
        surface,
        Effect.map(forked, (made) => to(`${view.path}/runs/${made.id}/comparison`)),
        againWith(asked, (rejected) => formWith(asked, id, rejected))
      )
    })
  )(surface)

const comparison = signedPage(
  Effect.fnUntraced(function* (asked: Asked) {
    const id = yield* runId(asked)
    const query = yield* decoded(
      RunOperations.comparison.query,
      queryOf(asked, ["of"]),
      nothingHere
    )
    const input = { id, ...query }
    const run = yield* perform(operations.run, { id }, asked)
    const compared = yield* perform(operations.comparison, input, asked)
    return comparisonPage(asked.view, {
      run,
      compared,
      before: yield* knownEvents(asked, compared.of, "first"),
      after: yield* knownEvents(asked, id, "first"),
      line: apiLine(asked, RunOperations.comparison, input)
    })
  })
)

/** What the console has of forks. */
export const forking: ReadonlyArray<Page> = [
  { method: "GET", path: "/console/runs/:id/fork", answer: forkForm },
  { method: "POST", path: "/console/runs/:id/fork", answer: fork },
  { method: "GET", path: "/console/runs/:id/comparison", answer: comparison }
]
