/**
 * Accepts tasks of several conversations in one statement: `troupe.accept_messages` does all of the work, also for the runs that
 * begin at once, and reports each task's outcome. Private to this room.
 */
import { Clock, Effect, Schema } from "effect"
import type { Scope } from "effect"
import type { SqlClient } from "effect/sql"
import type { Claim } from "../../../services/RunOwnership.ts"
import { StoreError } from "../../../services/StoreError.ts"
import type { Accepted, NewTask, TaskStore } from "../../../services/TaskStore.ts"
import type { AgentTask } from "../../../src/delivery/AgentTask.ts"
import {
  AddressConflict,
  AgentBusy,
  IdempotencyConflict,
  hasSameExtras,
  MailboxFull,
  extrasOf
} from "../../../src/delivery/AgentTask.ts"
import { actorKey, addressKey, RunId } from "../../../src/value/Ids.ts"
import { spanned } from "../../../src/value/Telemetry.ts"
import { byPlace, journalRowReader } from "../engine/DecodedRows.ts"
import { inTransaction, isInTransaction, orJournalError } from "../engine/SqlFailure.ts"
import type { Item } from "./GroupCommit.ts"
import * as GroupCommit from "./GroupCommit.ts"
import { notWritten } from "./JournalWriter.ts"
import type { FirstTexts } from "./RunBeginnings.ts"
import { claimOf, firstTexts } from "./RunBeginnings.ts"

interface Wanted extends Item {
  readonly task: NewTask
  /** ms since 1970. */
  readonly at: number
  /** The JSON texts of the run's first two events; empty where the run may not begin here. */
  readonly texts: FirstTexts
}

const AcceptanceRow = Schema.Struct({
  place: Schema.Int,
  outcome: Schema.Literals([
    "created",
    "known",
    "other_message",
    "other_address",
    "overtaken",
    "full"
  ]),
  ordinal: Schema.NullOr(Schema.Int),
  begun: Schema.Boolean,
  held: Schema.Boolean,
  waiting: Schema.NullOr(Schema.Int),
  earlier: Schema.NullOr(RunId)
})
type AcceptanceRow = typeof AcceptanceRow.Type
const readOutcomes = journalRowReader(AcceptanceRow, "accepted tasks")

/** The most tasks in one statement. */
const batch_max = 128
/** How often a task is tried alone. It is tried again where another transaction has just created its conversation. */
const tries_max = 3

/** The column `by`: only the sender's id if no more is known, otherwise an object with its roles and who acts for it. */
const senderText = ({ by, roles, via }: NewTask): string =>
  JSON.stringify(roles === undefined && via === undefined ? by : { id: by, roles, via })

/**
 * The column `trace_id`: only the id of the trace if the message has only a text, otherwise an object, in which statements look for
 * the agent and what was posted behind the trace (`StoredText.ts`).
 */
const traceText = (task: NewTask): string => {
  const { agent, ...extras } = extrasOf(task)
  const { posted, trace_id } = task
  const isBare = agent === undefined && posted === undefined && Object.keys(extras).length === 0
  return JSON.stringify(isBare ? trace_id : { trace_id, agent, posted, ...extras })
}

const textOf = (value: string | undefined): string =>
  value === undefined ? "" : JSON.stringify(value)

/** How many tasks of the address may wait, not counting the new one; -1: the conversation has to be new. */
const roomOf = ({ must_begin, reject_when_busy, waiting_max }: NewTask): number =>
  must_begin === true ? -1 : reject_when_busy ? Math.min(waiting_max, 1) : waiting_max

// Times are passed as text, because the two engines encode arrays of numbers beyond int4 differently.
const statement = `SELECT place, outcome, ordinal, begun, held, waiting, earlier FROM troupe.accept_messages(
  $1::text[]::uuid[], $2::text[]::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[],
  $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::int4[], $16::text[]::int8[], $17::text[], $18::text[],
  $19::text[], $20::text[], $21::text[], $22::text[]::int8[], $23::text[], $24::text[], $25::text[], $26::int4[], $27)`

const columnsOf = (batch: ReadonlyArray<Wanted>, waits: boolean): ReadonlyArray<unknown> => {
  const tasks = batch.map(({ task }) => task)
  return [
    tasks.map(({ id }) => id),
    tasks.map(({ message_id }) => message_id),
    tasks.map(({ tenant }) => tenant),
    tasks.map(({ address }) => address.agent),
    tasks.map(({ address }) => address.key),
    tasks.map(({ conversation }) => conversation),
    tasks.map(({ message }) => JSON.stringify(message)),
    tasks.map(senderText),
    tasks.map(traceText),
    tasks.map(({ channel_origin }) => channel_origin),
    tasks.map(({ initiated_by }) => initiated_by),
    tasks.map(({ trigger_event_id }) => textOf(trigger_event_id)),
    tasks.map(({ by }) => JSON.stringify(by)),
    tasks.map(({ idempotency_key }) => textOf(idempotency_key)),
    tasks.map(roomOf),
    batch.map(({ at }) => String(at)),
    tasks.map(({ address }) => addressKey(address)),
    tasks.map(({ claim }) => claim?.begins?.owner ?? ""),
    batch.map(({ texts }) => texts[0]),
    batch.map(({ texts }) => texts[1]),
    tasks.map(({ claim }) => claim?.owner ?? ""),
    batch.map(({ at, task }) => String(at + (task.claim?.lease_ms ?? 0))),
    tasks.map(({ title }) => textOf(title)),
    tasks.map(({ metadata }) => (metadata === undefined ? "" : JSON.stringify(metadata))),
    tasks.map(({ imported }) => textOf(imported?.answer || undefined)),
    tasks.map(({ after = -1 }) => after),
    waits
  ]
}

/** The outcome rows of a batch, in its order; undefined where another transaction has locked what the task needs. */
const accepting = (sql: SqlClient.SqlClient, batch: ReadonlyArray<Wanted>, waits: boolean) =>
  Effect.map(readOutcomes(sql, statement, columnsOf(batch, waits)), (rows) => byPlace(batch, rows))

/** The claim of the task's run; undefined if the run has not begun. */
const begunBy = ({ at, task }: Wanted, row: AcceptanceRow): Claim | undefined =>
  row.begun && task.claim?.begins !== undefined
    ? claimOf({ ...task.claim.begins, run: task.id, ordinal: row.ordinal ?? 0, at })
    : undefined

/** The new task, as `TaskStore.get` would give it. */
const created = ({ at, task }: Wanted, { begun, ordinal }: AcceptanceRow): AgentTask => ({
  id: task.id,
  tenant: task.tenant,
  address: task.address,
  conversation: task.conversation,
  ordinal: ordinal ?? 0,
  message: task.message,
  by: task.by,
  ...(task.roles === undefined ? undefined : { roles: task.roles }),
  ...(task.via === undefined ? undefined : { via: task.via }),
  trace_id: task.trace_id,
  ...extrasOf(task),
  status: begun ? "processing" : "pending",
  created_at: at
})

const no_texts: FirstTexts = ["", ""]

const textsOf = ({ claim }: NewTask) => {
  const { begins } = claim ?? {}
  return begins === undefined
    ? Effect.succeed(no_texts)
    : Effect.try({
        try: () => firstTexts(begins.accepted, begins.owner),
        catch: () => new StoreError({ message: "an event that is not JSON" })
      })
}

const conflict = ({ idempotency_key = "" }: NewTask, earlier: RunId | null) =>
  new IdempotencyConflict({ key: idempotency_key, ...(earlier && { run_id: earlier }) })

const taken = ({ address: { agent }, conversation }: NewTask) =>
  new AddressConflict({ conversation, agent })

const taskGone = new StoreError({ message: "the task of this idempotency key is gone" })

const answerOf = Effect.fnUntraced(function* (
  wanted: Wanted,
  row: AcceptanceRow,
  get: TaskStore["Service"]["get"]
) {
  const { task } = wanted
  switch (row.outcome) {
    case "created": {
      const accepted: Accepted = { task: created(wanted, row), created: true }
      const begun = begunBy(wanted, row)
      if (begun !== undefined) return { ...accepted, begun }
      return row.held ? { ...accepted, held: true as const } : accepted
    }
    case "known": {
      const before =
        (row.earlier === null ? undefined : yield* get(row.earlier)) ?? (yield* taskGone)
      if (!hasSameExtras(before, task)) return yield* conflict(task, row.earlier)
      return { task: before, created: false } satisfies Accepted
    }
    case "other_message":
      return yield* conflict(task, row.earlier)
    case "other_address":
      return yield* taken(task)
    case "overtaken":
      return yield* new AgentBusy({ address: addressKey(task.address) })
    case "full": {
      const { must_begin, reject_when_busy, waiting_max } = task
      if (must_begin === true) return yield* taken(task)
      const address = addressKey(task.address)
      if (reject_when_busy && (row.waiting ?? 0) > 0) return yield* new AgentBusy({ address })
      return yield* new MailboxFull({ address, waiting_max })
    }
  }
})

/**
 * Makes the function that accepts a task: in the ambient transaction, if there is one, otherwise in one statement with tasks of
 * other conversations.
 */
export const make = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  get: (id: RunId) => ReturnType<TaskStore["Service"]["get"]>
): Effect.fn.Return<TaskStore["Service"]["accept"], never, Scope.Scope> {
  const acceptInBatch = yield* GroupCommit.make({
    commit: (batch: ReadonlyArray<Wanted>) =>
      Effect.mapError(accepting(sql, batch, false), orJournalError),
    batch_max,
    gathers: true,
    overflow: () => notWritten("too many messages wait")
  })

  /** Waits until what the task needs is unlocked, then accepts it alone. */
  const acceptWhenFree = Effect.fnUntraced(function* (wanted: Wanted, isWithin: boolean) {
    const one = accepting(sql, [wanted], true)
    for (let tries = 0; tries < tries_max; tries++) {
      const [row] = yield* isWithin ? inTransaction(sql)(one) : one
      if (row !== undefined) return row
    }
    return yield* new StoreError({ message: "the conversation is gone" })
  })

  const accept = Effect.fnUntraced(function* (task: NewTask) {
    const at = yield* Clock.currentTimeMillis
    const texts = yield* textsOf(task)
    // Tasks of one address never share a batch, because the second has to count the first.
    const lane = actorKey(task.tenant, task.address)
    const wanted: Wanted = { lane, size: task.message.length + texts[0].length, task, at, texts }
    const isWithin = isInTransaction(sql, yield* Effect.fiber)
    const row = yield* Effect.gen(function* () {
      return (
        (isWithin ? undefined : yield* acceptInBatch(wanted)) ??
        (yield* acceptWhenFree(wanted, isWithin))
      )
    }).pipe(
      Effect.mapError((error) =>
        error instanceof StoreError
          ? error
          : new StoreError({ message: orJournalError(error).message })
      )
    )
    return yield* answerOf(wanted, row, get)
  })
  return spanned("TaskStore.accept", accept)
})
