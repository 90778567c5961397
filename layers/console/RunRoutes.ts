/** The pages of runs. */
import { Effect, Schema } from "effect"
import * as RunOperations from "../../src/operation/RunOperations.ts"
import { After } from "../../src/operation/Page.ts"
import type { RunId } from "../../src/value/Ids.ts"
import { defined } from "../../src/value/PlainObject.ts"
import { operations } from "../service/ServiceOperations.ts"
import { apiLine, jsonFile } from "./ApiLine.ts"
import { followingList, lists } from "./FollowedLists.ts"
import { eventsOf, pageWith } from "./KnownEvents.ts"
import { runQuery } from "./ListQueries.ts"
import { isOver, runPage, runsPage } from "./RunPages.ts"
import type { Asked, Page } from "./SignedPages.ts"
import {
  decoded,
  followedPage,
  nothingHere,
  perform,
  queryOf,
  runId,
  signedPage,
  to
} from "./SignedPages.ts"

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

/** What the page of a run has, which begins behind an event. Absent = with the first one, or with the newest while it goes on. */
export const onePage = Effect.fnUntraced(function* (asked: Asked, id: RunId, after?: number) {
  const run = yield* perform(operations.run, { id }, asked)
  const newest = pageWith(Math.max(0, run.length - 1))
  const first = after ?? (isOver(run) ? -1 : newest)
  let found = yield* eventsOf(asked, { id, after: first })
  // Who follows the newest events is given the next page of them when the one before is full.
  if (found.next_after !== undefined && first < newest && asked.view.part !== undefined) {
    found = yield* eventsOf(asked, { id, after: newest })
  }
  return runPage(asked.view, run, found.items, found.next_after !== undefined)
})

const run = followedPage(
  Effect.fnUntraced(function* (asked: Asked) {
    const id = yield* runId(asked)
    const { after } = yield* decoded(AfterEvent, queryOf(asked, ["after"]), nothingHere)
    const [page] = yield* onePage(asked, id, after)
    return page
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

/** The routes of runs. */
export const running: ReadonlyArray<Page> = [
  { method: "GET", path: "/console/runs", answer: runs },
  { method: "GET", path: "/console/runs/:id", answer: run },
  { method: "GET", path: "/console/runs/:id/events.json", answer: events },
  { method: "POST", path: "/console/runs/:id/cancel", answer: cancel }
]
