/**
 * The Operations Agent's tools over the runtime's own outbox. The tenant is the run's; the model cannot name one.
 */
import { Clock, Effect } from "effect"
import {
  deadLetterGovernance,
  DeadLetterTools,
  type DeadLetterDetail,
  type DeadLetterSummary
} from "../../../src/spectral/agents/Operations.ts"
import { boundsOf } from "../../../src/delivery/AgeRange.ts"
import type {
  DeadLetter,
  DeadLetterNotFound,
  DeadLetterResolved
} from "../../../src/delivery/OutboxMessage.ts"
import { sanitiseError } from "../../../src/error/Exception.ts"
import { storeUnavailable, ToolUserError } from "../../../src/error/ToolError.ts"
import type { GovernedTool, MisdeclaredTool } from "../../../src/tool/GovernedTool.ts"
import { callOf, govern } from "../../../src/tool/GovernedTool.ts"
import { cut } from "../../../src/value/Pages.ts"
import { OutboxReader } from "../../../services/OutboxReader.ts"
import { OutboxReplayer } from "../../../services/OutboxReplayer.ts"

const iso = (ms: number): string => new Date(ms).toISOString()

const storeFailed = () => storeUnavailable("the store of dead letters")

const notFound = ({ event_id }: DeadLetterNotFound) =>
  new ToolUserError({
    kind: "not_found",
    reason: "DEAD_LETTER_NOT_FOUND",
    message: `there is no dead letter ${event_id}; list_dlq_events gives the ids`
  })

const resolved = ({ event_id, status }: DeadLetterResolved) =>
  new ToolUserError({
    kind: "invalid_args",
    reason: "DEAD_LETTER_RESOLVED",
    message: `the dead letter ${event_id} was ${status} before; nothing was sent`
  })

const summaryOf = (letter: DeadLetter): DeadLetterSummary => ({
  event_id: letter.event_id,
  handler_name: letter.handler_name,
  dead_at: iso(letter.dead_at),
  attempts: letter.attempts,
  last_error: sanitiseError(letter.failures.at(-1)?.error ?? "")
})

const detailOf = (letter: DeadLetter): DeadLetterDetail => ({
  event_id: letter.event_id,
  handler_name: letter.handler_name,
  key: letter.key,
  payload: letter.payload,
  attempts: letter.attempts,
  // Cleaned once more: what wrote them may not have been the relay.
  failures: letter.failures.map(({ at, attempt, error }) => ({
    at: iso(at),
    attempt,
    error: sanitiseError(error)
  })),
  dead_at: iso(letter.dead_at),
  status: letter.status,
  ...(letter.resolved_by === undefined ? undefined : { resolved_by: letter.resolved_by }),
  ...(letter.resolved_at === undefined ? undefined : { resolved_at: iso(letter.resolved_at) }),
  ...(letter.resolved_reason === undefined
    ? undefined
    : { resolved_reason: letter.resolved_reason })
})

const handlers = Effect.gen(function* () {
  const reader = yield* OutboxReader
  const replayer = yield* OutboxReplayer
  return DeadLetterTools.of({
    list_dlq_events: Effect.fnUntraced(function* ({ age_range, handler_name, limit }, context) {
      const now = yield* Clock.currentTimeMillis
      const { from, to } = age_range === undefined ? {} : boundsOf(age_range, now)
      const letters = yield* reader.deadLetters({
        tenant: callOf(context).tenant,
        handler_name,
        dead_from: from,
        dead_to: to,
        limit: limit + 1
      })
      const { items, more } = cut(letters, limit)
      return { events: items.map(summaryOf), more }
    }, Effect.mapError(storeFailed)),

    get_dlq_event_detail: ({ event_id }, context) =>
      reader.deadLetter(callOf(context).tenant, event_id).pipe(
        Effect.map(detailOf),
        Effect.catchTags({
          DeadLetterNotFound: (error) => Effect.fail(notFound(error)),
          StoreError: () => Effect.fail(storeFailed())
        })
      ),

    replay_dlq_event: Effect.fnUntraced(
      function* ({ event_id, reason }, context) {
        const { approved_by, principal, tenant } = callOf(context)
        const by = approved_by ?? principal
        const { handler_name } = yield* reader.deadLetter(tenant, event_id)
        yield* replayer.replay({ tenant, event_id, reason: reason.trim(), by })
        return { event_id, handler_name, status: "replayed" as const, replayed_by: by }
      },
      Effect.catchTags({
        DeadLetterNotFound: (error) => Effect.fail(notFound(error)),
        DeadLetterResolved: (error) => Effect.fail(resolved(error)),
        StoreError: () => Effect.fail(storeFailed())
      })
    )
  })
})

/** For a registry. Its requirements are the stores, injected. */
export const tools: Effect.Effect<
  ReadonlyArray<GovernedTool>,
  MisdeclaredTool,
  OutboxReader | OutboxReplayer
> = govern(DeadLetterTools, deadLetterGovernance, handlers)
