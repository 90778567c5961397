/**
 * Handlers of runs in quarantine, which are read and released through the journal.
 */
import { Effect } from "effect"
import type { Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import type { HttpApiGroup } from "effect/http-api"
import type { JournalError } from "../../../services/RunJournal.ts"
import { RunJournal } from "../../../services/RunJournal.ts"
import type { Authentication, Validation } from "../../../src/operation/Boundary.ts"
import { CurrentPrincipal } from "../../../src/operation/Boundary.ts"
import { limit_default } from "../../../src/operation/Page.ts"
import { makeProblem } from "../../../src/operation/Problem.ts"
import { TroupeApi } from "../../../src/operation/TroupeApi.ts"
import type { RawEvent } from "../../../src/run/Quarantine.ts"
import type { RunNotFound } from "../../../src/run/RunCommand.ts"
import { boundedPage } from "../../../src/value/Pages.ts"
import { problemOf } from "../boundary/Problems.ts"

const notHere = makeProblem(
  404,
  "not-in-quarantine",
  "The run is not in quarantine",
  "Its journal folds: read it at /v1/runs/{id}/events."
)

export const layer: Layer.Layer<
  HttpApiGroup.Service<"troupe", "quarantine">,
  never,
  RunJournal | Authentication | Validation
> = HttpApiBuilder.group(
  TroupeApi,
  "quarantine",
  Effect.fnUntraced(function* (handlers) {
    const journal = yield* RunJournal

    return handlers.handleAll({
      list: Effect.fnUntraced(function* ({ query }) {
        const { tenant } = yield* CurrentPrincipal
        const limit = query.limit ?? limit_default
        const items = yield* Effect.mapError(
          journal.quarantined({ tenant, limit, after: query.after }),
          problemOf
        )
        const last = items.at(-1)
        return {
          items,
          ...(last === undefined || items.length < limit ? undefined : { next_after: last.run_id })
        }
      }),
      events: Effect.fnUntraced(function* ({ params, query }) {
        const { tenant } = yield* CurrentPrincipal
        const { quarantined } = yield* Effect.mapError(
          journal.raw(tenant, params.id, 0, 0),
          (error) => problemOf(error)
        )
        if (!quarantined) return yield* Effect.fail(notHere)
        const { items, last } = yield* boundedPage<RawEvent, RunNotFound | JournalError>(
          query.limit ?? limit_default,
          (before, limit) =>
            Effect.map(
              journal.raw(tenant, params.id, (before?.seq ?? query.after ?? -1) + 1, limit),
              ({ events }) => events
            )
        ).pipe(Effect.mapError((error) => problemOf(error)))
        return last === undefined ? { items } : { items, next_after: last.seq }
      }),
      release: Effect.fnUntraced(function* ({ params }) {
        const { tenant } = yield* CurrentPrincipal
        yield* Effect.mapError(journal.liftQuarantine(params.id, tenant), (error) =>
          problemOf(error)
        )
      })
    })
  })
)
