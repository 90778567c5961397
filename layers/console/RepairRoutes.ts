/** The routes of what operators repair. */
import { Effect, Result, Schema } from "effect"
import type { InputOf } from "../../src/operation/Operation.ts"
import * as DeadLetterOperations from "../../src/operation/DeadLetterOperations.ts"
import { Reason } from "../../src/operation/Page.ts"
import * as RunOperations from "../../src/operation/RunOperations.ts"
import type { Settlement } from "../../src/run/UnknownCall.ts"
import { bounds_result, readJson } from "../../src/value/BoundedJson.ts"
import type { MessageId } from "../../src/value/Ids.ts"
import { CallId } from "../../src/value/Ids.ts"
import { defined } from "../../src/value/PlainObject.ts"
import { operations } from "../service/ServiceOperations.ts"
import { knownEvents } from "./KnownEvents.ts"
import { followingList, lists } from "./FollowedLists.ts"
import { letterPage, lettersPage } from "./LetterPages.ts"
import type { Rejected } from "./Shell.ts"
import type { Asked, Page, Surface } from "./SignedPages.ts"
import {
  againWith,
  decoded,
  doneOr,
  followedPage,
  nothingHere,
  page_max,
  perform,
  queryOf,
  runId,
  signedPage,
  to
} from "./SignedPages.ts"
import { unknownOfRunPage, unknownPage } from "./UnknownPages.ts"

const unknownCalls = (asked: Asked) =>
  Effect.map(perform(operations.unknown, {}, asked), ({ items }) => items)

const unknown = followedPage(
  Effect.fnUntraced(function* (asked: Asked) {
    const found = yield* perform(operations.unknown, {}, asked)
    const follows = yield* followingList(asked, lists.unknown, found, { page: "/unknown" })
    return unknownPage(asked.view, found.items, follows)
  })
)

const unknownWith = Effect.fnUntraced(function* (
  asked: Asked,
  id: InputOf<typeof RunOperations.get>["id"],
  rejected?: Rejected
) {
  const run = yield* perform(operations.run, { id }, asked)
  const calls = yield* unknownCalls(asked)
  const { entries } = yield* knownEvents(asked, id)
  return unknownOfRunPage(asked.view, calls, run, entries, rejected)
})

const unknownOfRun = signedPage((asked) =>
  Effect.flatMap(runId(asked), (id) => unknownWith(asked, id))
)

const isReason = Schema.is(Reason)

/** What a form says became of a call; a text = why it says nothing. */
const settlementOf = ({ fields }: Asked): Result.Result<Settlement, string> => {
  const { decision, message = "", result = "" } = fields
  switch (decision) {
    case "succeeded":
      return Result.mapBoth(readJson(result, bounds_result), {
        onSuccess: () => ({ _tag: "Succeeded", json: result }),
        onFailure: (error) => `The result is not JSON that can be read: ${error.message}.`
      })
    case "failed":
      return isReason(message)
        ? Result.succeed({ _tag: "Failed", message })
        : Result.fail("Say what went wrong, in 1 to 4,000 characters.")
    case "run_again":
      return Result.succeed({ _tag: "RunAgain" })
    default:
      return Result.fail("Say whether it succeeded, failed, or is to run again.")
  }
}

const settle = (surface: Surface) =>
  signedPage(
    Effect.fnUntraced(function* (asked: Asked) {
      const { fields, view } = asked
      const id = yield* runId(asked)
      const again = againWith(asked, (rejected) => unknownWith(asked, id, rejected))
      const outcome = settlementOf(asked)
      if (Result.isFailure(outcome)) return yield* again(outcome.failure, 422)
      const call = CallId.make(fields["call"] ?? "")
      return yield* doneOr(
        surface,
        Effect.as(
          perform(operations.settle, { id, call, outcome: outcome.success }, asked),
          to(`${view.path}/unknown/${id}`)
        ),
        again
      )
    })
  )(surface)

const letters = followedPage(
  Effect.fnUntraced(function* (asked: Asked) {
    const { after, status } = yield* decoded(
      Schema.Struct({
        after: DeadLetterOperations.list.query.fields.after,
        status: DeadLetterOperations.list.query.fields.status
      }),
      queryOf(asked, ["after", "status"]),
      nothingHere
    )
    // One more tells whether there is a next page.
    const found = yield* perform(
      operations.deadLetters,
      { ...defined({ after, status }), limit: page_max + 1 },
      asked
    )
    const { items } = found
    const shown = items.slice(0, page_max)
    const page = { page: "/dead-letters", status }
    return lettersPage(asked.view, {
      items: shown,
      follows:
        after === undefined ? yield* followingList(asked, lists.letters, found, page) : undefined,
      status: status ?? "dead",
      next_after: items.length > page_max ? shown.at(-1)?.event_id : undefined
    })
  })
)

const letterId = ({ params }: Asked) =>
  Effect.map(
    decoded(DeadLetterOperations.get.params, { event_id: params["id"] }, nothingHere),
    ({ event_id }) => event_id
  )

const letterWith = Effect.fnUntraced(function* (
  asked: Asked,
  event_id: MessageId,
  rejected?: Rejected
) {
  return letterPage(
    asked.view,
    yield* perform(operations.deadLetter, { event_id }, asked),
    rejected
  )
})

const letter = signedPage((asked) => Effect.flatMap(letterId(asked), (id) => letterWith(asked, id)))

const resolve = (surface: Surface) =>
  signedPage(
    Effect.fnUntraced(function* (asked: Asked) {
      const { decision, why: reason = "" } = asked.fields
      const event_id = yield* letterId(asked)
      const again = againWith(asked, (rejected) => letterWith(asked, event_id, rejected))
      if (!isReason(reason)) return yield* again("Say why, in 1 to 4,000 characters.", 422)
      if (decision !== "replay" && decision !== "discard") {
        return yield* again("Say whether it is sent again or given up.", 422)
      }
      const input = { event_id, reason }
      return yield* doneOr(
        surface,
        Effect.as(
          decision === "replay"
            ? perform(operations.replayDeadLetter, input, asked)
            : perform(operations.discardDeadLetter, input, asked),
          to(`${asked.view.path}/dead-letters/${event_id}`)
        ),
        again
      )
    })
  )(surface)

/** The routes of repairs. */
export const repairs: ReadonlyArray<Page> = [
  { method: "GET", path: "/console/unknown", answer: unknown },
  { method: "GET", path: "/console/unknown/:id", answer: unknownOfRun },
  { method: "POST", path: "/console/unknown/:id", answer: settle },
  { method: "GET", path: "/console/dead-letters", answer: letters },
  { method: "GET", path: "/console/dead-letters/:id", answer: letter },
  { method: "POST", path: "/console/dead-letters/:id", answer: resolve }
]
