/**
 * The lower bound of the durable rows: the same events, approvals, task statuses and answers, written by hand into
 * tables of the same shape. No fence, no head that moves, no counters, nobody refused; it trusts its callers.
 */
import { Deferred, Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import type { RunId } from "../../src/value/Ids.ts"
import type { RunEvent } from "../../src/run/RunEvent.ts"

const tables = ["run_pairs", "approvals", "agent_tasks", "conversation_messages"]

/** Tables of the same shape and with the same indexes, in a schema of their own. */
export const prepare = (sql: SqlClient.SqlClient): Effect.Effect<void, SqlError.SqlError> =>
  Effect.gen(function* () {
    yield* sql.unsafe(`CREATE SCHEMA IF NOT EXISTS bare`)
    for (const name of tables) {
      yield* sql.unsafe(
        `CREATE TABLE IF NOT EXISTS bare.${name} (LIKE troupe.${name} INCLUDING ALL)`
      )
    }
  })

/** Claimed runs with their tasks and conversations, on both sides. */
export const runs = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  tenant: string,
  count: number,
  id: () => RunId
) {
  const ids = Array.from({ length: count }, id)
  const statements = [
    `INSERT INTO troupe.runs (run_id, tenant, epoch, length, status) SELECT id::uuid, $2::text, 1, 2, 1 FROM unnest($1::text[]) AS t(id)`,
    `INSERT INTO troupe.run_details (run_id, tenant, agent, address_key, conversation, ordinal, owner, created_at)
     SELECT id::uuid, $2::text, 'reader', id, id, 1, 'bench', 0 FROM unnest($1::text[]) AS t(id)`,
    `INSERT INTO troupe.conversations (id, tenant, agent, address_key, initiated_by, created_at, tasks)
     SELECT id, $2::text, 'reader', id, 'customer', 0, 1 FROM unnest($1::text[]) AS t(id)`,
    ...["troupe", "bare"].map(
      (
        schema
      ) => `INSERT INTO ${schema}.agent_tasks (id, tenant, agent, address_key, conversation, ordinal, status, message_id, message, by, trace_id, channel_origin, created_at)
       SELECT id::uuid, $2::text, 'reader', id, id, 1, 1, id::uuid, '"read"', '"bench"', '""', '"api"', 0 FROM unnest($1::text[]) AS t(id)`
    )
  ]
  for (const statement of statements) yield* sql.unsafe(statement, [ids, tenant])
  return ids
})

interface Step {
  readonly run: RunId
  readonly seq: number
  readonly event: RunEvent
  readonly json: string
}

const event_insert = `INSERT INTO bare.run_pairs (run_id, seq, at, payload)`

/** One step without a projection. */
const one_event = `${event_insert} VALUES ($1::uuid, $2::int4, $3::int8, $4::text)`

const group = `WITH ev AS (${event_insert}
  SELECT run_id::uuid, seq, $4::int8, payload FROM unnest($1::text[], $2::int4[], $3::text[]) AS e(run_id, seq, payload)),
ap AS (INSERT INTO bare.approvals (id, tenant, run_id, payload)
  SELECT id::uuid, 'acme', run_id::uuid, payload FROM unnest($5::text[], $6::text[], $7::text[]) AS a(id, run_id, payload)),
tk AS (UPDATE bare.agent_tasks t SET status = 2 FROM unnest($8::text[]) AS x(id) WHERE t.id = x.id::uuid)
INSERT INTO bare.conversation_messages (tenant, conversation, seq, role, content, channel_origin, run_id, created_at)
SELECT 'acme', id, 0, 'assistant', content, '"api"', id::uuid, $4::int8 FROM unnest($8::text[], $9::text[]) AS m(id, content)`

const groupParams = (steps: ReadonlyArray<Step>): ReadonlyArray<unknown> => {
  const asked: Array<Step> = []
  const ended: Array<Step> = []
  for (const step of steps) {
    if (step.event._tag === "ApprovalRequested") asked.push(step)
    else if (step.event._tag === "RunEnded") ended.push(step)
  }
  return [
    steps.map((step) => step.run),
    steps.map((step) => step.seq),
    steps.map((step) => step.json),
    String(Date.now()),
    asked.map((step) => (step.event._tag === "ApprovalRequested" ? step.event.approval : "")),
    asked.map((step) => step.run),
    asked.map((step) => step.json),
    ended.map((step) => step.run),
    ended.map((step) => (step.event._tag === "RunEnded" ? JSON.stringify(step.event.text) : ""))
  ]
}

/** `one`: a statement a step. `group`: what waits while a statement runs is written by the next. */
export const make = (sql: SqlClient.SqlClient) => {
  const write = (steps: ReadonlyArray<Step>) => {
    const [first] = steps
    const plain =
      steps.length === 1 &&
      first!.event._tag !== "ApprovalRequested" &&
      first!.event._tag !== "RunEnded"
    return plain
      ? sql.unsafe(one_event, [first!.run, first!.seq, String(Date.now()), first!.json])
      : sql.unsafe(group, groupParams(steps))
  }
  const stepOf = (run: RunId, seq: number, event: RunEvent): Step => ({
    run,
    seq,
    event,
    json: JSON.stringify(event)
  })
  let queue: Array<{
    readonly step: Step
    readonly done: Deferred.Deferred<void, SqlError.SqlError>
  }> = []
  let writing = false
  const commit = Effect.gen(function* () {
    while (queue.length > 0) {
      const batch = queue
      queue = []
      const exit = yield* Effect.exit(write(batch.map(({ step }) => step)))
      for (const { done } of batch) Deferred.doneUnsafe(done, Effect.asVoid(exit))
      yield* Effect.yieldNow
    }
    writing = false
  })
  return {
    one: (run: RunId, seq: number, event: RunEvent) =>
      Effect.asVoid(write([stepOf(run, seq, event)])),
    group: (run: RunId, seq: number, event: RunEvent) =>
      Effect.suspend(() => {
        const done = Deferred.makeUnsafe<void, SqlError.SqlError>()
        queue.push({ step: stepOf(run, seq, event), done })
        if (writing) return Deferred.await(done)
        writing = true
        return Effect.andThen(Effect.forkDetach(commit), Deferred.await(done))
      })
  }
}
