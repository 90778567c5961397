/**
 * Runs in quarantine, read and released through the journal.
 */
import { Effect } from "effect"
import type { Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import type { HttpApiGroup } from "effect/http-api"
import { RunJournal } from "../../services/RunJournal.ts"
import { TaskStore } from "../../services/TaskStore.ts"
import type { Authentication, Validation } from "../../src/api/Boundary.ts"
import { CurrentPrincipal } from "../../src/api/Boundary.ts"
import { limit_default } from "../../src/api/Page.ts"
import { TroupeApi } from "../../src/api/TroupeApi.ts"
import { taskFor } from "./Access.ts"
import { problemOf } from "./Problems.ts"

export const layer: Layer.Layer<
  HttpApiGroup.Service<"troupe", "quarantine">,
  never,
  RunJournal | TaskStore | Authentication | Validation
> = HttpApiBuilder.group(
  TroupeApi,
  "quarantine",
  Effect.fnUntraced(function* (handlers) {
    const journal = yield* RunJournal
    const tasks = yield* TaskStore

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
        yield* taskFor(tasks, yield* CurrentPrincipal, params.id)
        const limit = query.limit ?? limit_default
        const items = yield* Effect.mapError(
          journal.raw(params.id, (query.after ?? -1) + 1, limit),
          problemOf
        )
        const last = items.at(-1)
        return {
          items,
          ...(last === undefined || items.length < limit ? undefined : { next_after: last.seq })
        }
      }),
      release: Effect.fnUntraced(function* ({ params }) {
        const { tenant } = yield* CurrentPrincipal
        yield* Effect.mapError(journal.readmit(params.id, tenant), (error) => problemOf(error))
      })
    })
  })
)
