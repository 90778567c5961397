/** The lists that pages follow: what each shows on its first page, and the mark that stands for it, which tells whether it changed. */
import { Effect, Schema } from "effect"
import * as DeadLetterOperations from "../../src/operation/DeadLetterOperations.ts"
import type { OutputOf } from "../../src/operation/Operation.ts"
import * as RunOperations from "../../src/operation/RunOperations.ts"
import type * as StandingOperations from "../../src/operation/StandingOperations.ts"
import { defined } from "../../src/value/PlainObject.ts"
import { operations } from "../service/ServiceOperations.ts"
import type { Following } from "./Following.ts"
import * as Sessions from "./Sessions.ts"
import type { Asked } from "./SignedPages.ts"
import { decoded, nothingHere, page_max, perform } from "./SignedPages.ts"

type Looking = Pick<Asked, "view">

/** A list: what is found for it, by a status where it has some, and what of that has to change before its page does. */
interface FollowedList<Found, E, R> {
  readonly of: string
  /** How often it is looked at, in ms, for all who follow it in a tenant. */
  readonly every_ms: number
  readonly find: (asked: Looking, status: string | undefined) => Effect.Effect<Found, E, R>
  readonly shown: (found: Found) => ReadonlyArray<unknown>
}

const list = <Found, E, R>(followed: FollowedList<Found, E, R>) => followed

const first = { limit: page_max }
const look_ms = 1_000
/** What is counted costs more, and is no list of what just came. */
const count_ms = 5_000

/** What needs a person, each list with its first part. */
const waitingNow = Effect.fnUntraced(function* (asked: Looking) {
  const [found, letters, unhosted] = yield* Effect.all(
    [
      perform(operations.approvals, first, asked),
      perform(operations.deadLetters, first, asked),
      perform(operations.unhosted, {}, asked)
    ],
    { concurrency: 3 }
  )
  return {
    questions: found.items,
    unknown: found.unknown_calls ?? [],
    letters: letters.items.toReversed(),
    unhosted: unhosted.items
  }
})

/** What of processes does not change by itself from one moment to the next, as leases and ages do. */
const standing = (found: OutputOf<typeof StandingOperations.processes>) => [
  found.owners.map(({ agents, id, locks, runs }) => [id, agents, locks, runs]),
  found.outbox.map(({ count, failed, topic }) => [topic, count, failed]),
  found.queue.map(({ claimed, tool, waiting }) => [tool, claimed, waiting]),
  found.workers,
  [found.runs.count, found.runs.parked, found.runs.unowned]
]

const RunStatus = Schema.Struct({ status: RunOperations.list.query.fields.status })
const LetterStatus = Schema.Struct({ status: DeadLetterOperations.list.query.fields.status })

export const lists = {
  now: list({
    of: "now",
    every_ms: look_ms,
    find: waitingNow,
    shown: ({ letters, questions, unhosted, unknown }) => [
      questions.map(({ id }) => id),
      unknown.map(({ call, run_id }) => [run_id, call]),
      letters.map(({ event_id }) => event_id),
      unhosted.map(({ agent, count }) => [agent, count])
    ]
  }),
  inbox: list({
    of: "inbox",
    every_ms: look_ms,
    find: (asked) => perform(operations.approvals, first, asked),
    shown: ({ items }) => items.map(({ id }) => id)
  }),
  runs: list({
    of: "runs",
    every_ms: look_ms,
    find: (asked, status) =>
      Effect.flatMap(decoded(RunStatus, defined({ status }), nothingHere), (query) =>
        perform(operations.runs, { ...query, ...first }, asked)
      ),
    shown: ({ items }) => items
  }),
  conversations: list({
    of: "conversations",
    every_ms: look_ms,
    find: (asked) => perform(operations.conversations, first, asked),
    shown: ({ items }) => items
  }),
  unknown: list({
    of: "unknown",
    every_ms: look_ms,
    find: (asked) => perform(operations.unknown, {}, asked),
    shown: ({ items }) => items
  }),
  letters: list({
    of: "letters",
    every_ms: look_ms,
    // One more tells whether there is a next page.
    find: (asked, status) =>
      Effect.flatMap(decoded(LetterStatus, defined({ status }), nothingHere), (query) =>
        perform(operations.deadLetters, { ...query, limit: page_max + 1 }, asked)
      ),
    shown: ({ items }) => items.map(({ attempts, event_id }) => [event_id, attempts])
  }),
  processes: list({
    of: "processes",
    every_ms: count_ms,
    find: (asked) => perform(operations.processes, {}, asked),
    shown: standing
  }),
  channels: list({
    of: "channels",
    every_ms: count_ms,
    find: (asked) => perform(operations.deliveries, {}, asked),
    shown: ({ items }) => items
  })
} as const

/** Stands for what a page shows of a list: another one has another mark. */
export const markOf = <Found>(
  { shown }: Pick<FollowedList<Found, unknown, unknown>, "shown">,
  found: Found
) => Effect.map(Sessions.sha256(JSON.stringify(shown(found))), (digest) => digest.slice(0, 16))

/** What the first page of a list follows: `page` is its path below the console's. */
export const followingList = <Found>(
  { view: { path } }: Looking,
  list: Pick<FollowedList<Found, unknown, unknown>, "of" | "shown">,
  found: Found,
  { page, status }: { readonly page: string; readonly status?: string | undefined }
): Effect.Effect<Following, never, Effect.Services<ReturnType<typeof Sessions.sha256>>> =>
  Effect.map(markOf(list, found), (after) => {
    const chosen = status === undefined ? "" : `?${new URLSearchParams({ status })}`
    const news = new URLSearchParams({ of: list.of, ...defined({ status }), after })
    return { page: `${path}${page}${chosen}`, news: `${path}/live?${news}` }
  })
