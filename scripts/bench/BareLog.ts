/**
 * The lower bound of the rows that go through `send` to a store: the rows that the message, its steps and its answer leave
 * behind, written by hand into tables of the same shape. What waits while a statement runs is written by the next. It
 * keeps the same promises for one process: a message is durable before it is answered, and each step before anybody sees
 * it; after a crash a task that is not over is a message that must be handled, and its events say how far it came.
 *
 * A message is a conversation (if it is the first), a task, the person's message and its event; a step is its two events, in
 * one row as the runtime has them; a question is its event and its record, a decision its event and the record's answer; the end is
 * two events in one row, the task's status and the assistant's message. The events of a step and of the end are those of the runtime. Not written: the head of a run with its epoch and length, which refuses a
 * second owner; its details; the outbox row, which is a second record of the pending task; the claim; a lease.
 */
import { Effect, Layer, ManagedRuntime, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import type { Store } from "troupe/embed"
import * as Migrations from "../../layers/sql/engine/Migrations.ts"
import * as Pglite from "../../layers/sql/engine/Pglite.ts"
import * as Postgres from "../../layers/sql/engine/Postgres.ts"
import type { Event, Log, Run } from "./BareAgent.ts"

const tables = ["conversations", "conversation_messages", "agent_tasks", "run_pairs", "approvals"]

/**
 * A function, because PGlite plans each statement anew and keeps the plans of a function; without sequential scans, because
 * the plans are made while the tables are empty.
 */
const write = `CREATE FUNCTION bare.write(at int8,
  begun text[],
  accepted uuid[], accepted_in text[], ordinals int4[], places int4[], texts text[],
  runs uuid[], seqs int4[], payloads text[], nexts text[],
  asked uuid[], asked_by uuid[], questions text[], decided uuid[],
  ended uuid[], ended_in text[], end_places int4[], answers text[])
RETURNS void LANGUAGE plpgsql SET enable_seqscan = off AS $body$
BEGIN
  IF cardinality(begun) > 0 THEN
    INSERT INTO bare.conversations (tenant, id, agent, address_key, initiated_by, begun_by, created_at, tasks, messages)
    SELECT 'default', id, 'reader', id, 'system', 'service', at, 1, 1 FROM unnest(begun) AS b(id);
  END IF;
  IF cardinality(accepted) > 0 THEN
    INSERT INTO bare.agent_tasks (id, tenant, agent, address_key, conversation, ordinal, status, message_id, message, by,
      trace_id, channel_origin, created_at)
    SELECT id, 'default', 'reader', conversation, conversation, ordinal, 1, id, text,
      '{"id":"service","roles":["viewer","operator"]}', '"0af7651916cd43dd8448eb211c80319c"', 'api', at
    FROM unnest(accepted, accepted_in, ordinals, texts) AS a(id, conversation, ordinal, text);
    INSERT INTO bare.conversation_messages (tenant, conversation, seq, role, content, channel_origin, run_id, created_at)
    SELECT 'default', conversation, place, 'user', text, 'api', id, at
    FROM unnest(accepted, accepted_in, places, texts) AS a(id, conversation, place, text);
  END IF;
  INSERT INTO bare.run_pairs (run_id, seq, at, payload, next)
  SELECT run_id, seq, at, payload, nullif(next, '') FROM unnest(runs, seqs, payloads, nexts) AS e(run_id, seq, payload, next);
  IF cardinality(asked) > 0 THEN
    INSERT INTO bare.approvals (id, tenant, run_id, payload)
    SELECT id, 'default', run_id, payload FROM unnest(asked, asked_by, questions) AS q(id, run_id, payload);
  END IF;
  IF cardinality(decided) > 0 THEN
    UPDATE bare.approvals a SET status = 1, answer = '{"_tag":"Approve"}' FROM unnest(decided) AS d(id) WHERE a.id = d.id;
  END IF;
  IF cardinality(ended) > 0 THEN
    UPDATE bare.agent_tasks t SET status = 2 FROM unnest(ended) AS e(id) WHERE t.id = e.id;
    INSERT INTO bare.conversation_messages (tenant, conversation, seq, role, content, channel_origin, run_id, created_at)
    SELECT 'default', conversation, place, 'assistant', text, 'api', id, at
    FROM unnest(ended, ended_in, end_places, answers) AS a(id, conversation, place, text);
  END IF;
END $body$`

const call = `SELECT bare.write($1::int8, $2::text[], $3::uuid[], $4::text[], $5::int4[], $6::int4[], $7::text[],
  $8::uuid[], $9::int4[], $10::text[], $11::text[], $12::uuid[], $13::uuid[], $14::text[], $15::uuid[],
  $16::uuid[], $17::text[], $18::int4[], $19::text[])::text`

/** What one statement writes. */
interface Job {
  readonly run: Run
  /** The place of the first event. */
  readonly seq: number
  readonly events: ReadonlyArray<Event>
  readonly payloads: ReadonlyArray<string>
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** Its events, two in a row. */
const pairsOf = ({ payloads, run, seq }: Job) =>
  payloads.flatMap((payload, i) =>
    i % 2 === 0 ? [{ run: run.id, seq: seq + i, payload, next: payloads[i + 1] ?? "" }] : []
  )

const paramsOf = (jobs: ReadonlyArray<Job>): ReadonlyArray<unknown> => {
  const accepted = jobs.filter(({ seq }) => seq === 0)
  const decided: Array<string> = []
  const asked: Array<{ readonly id: string; readonly run: string; readonly payload: string }> = []
  for (const { events, payloads, run } of jobs) {
    events.forEach((event, i) => {
      if (event._tag === "ApprovalDecided") decided.push(event.approval)
      else if (event._tag === "ApprovalRequested") {
        asked.push({ id: event.approval, run: run.id, payload: payloads[i]! })
      }
    })
  }
  const pairs = jobs.flatMap(pairsOf)
  const ended = jobs.filter(({ events }) => events.at(-1)!._tag === "RunEnded")
  const conversations = (of: ReadonlyArray<Job>) => of.map(({ run }) => run.conversation.id)
  const places = (of: ReadonlyArray<Job>, role: 0 | 1) =>
    of.map(({ run }) => 2 * (run.ordinal - 1) + role)
  return [
    String(Date.now()),
    accepted.flatMap(({ run }) => (run.ordinal === 1 ? [run.conversation.id] : [])),
    accepted.map(({ run }) => run.id),
    conversations(accepted),
    accepted.map(({ run }) => run.ordinal),
    places(accepted, 0),
    accepted.map(({ run }) => JSON.stringify(run.conversation.messages.at(-1))),
    pairs.map(({ run }) => run),
    pairs.map(({ seq }) => seq),
    pairs.map(({ payload }) => payload),
    pairs.map(({ next }) => next),
    asked.map(({ id }) => id),
    asked.map(({ run }) => run),
    asked.map(({ payload }) => payload),
    decided,
    ended.map(({ run }) => run.id),
    conversations(ended),
    places(ended, 1),
    ended.map(({ events }) => {
      const end = events.at(-1)!
      return JSON.stringify(end._tag === "RunEnded" ? end.text : "")
    })
  ]
}

export type Query = (
  text: string,
  params?: ReadonlyArray<unknown>
) => Promise<ReadonlyArray<Readonly<Record<string, unknown>>>>

export type Durable = Exclude<Store, "ephemeral">

/** The same driver and settings as the runtime's, on a database whose tables it makes. */
export const connect = async (store: Durable): Promise<Query> => {
  const engine =
    "postgres" in store
      ? Postgres.layer({ url: Redacted.make(store.postgres) })
      : Pglite.layer({ directory: store.directory })
  const runtime = ManagedRuntime.make(Migrations.layer.pipe(Layer.provideMerge(engine)))
  const sql = await runtime.runPromise(SqlClient.SqlClient)
  return (text, params) => Effect.runPromise(sql.unsafe<Record<string, unknown>>(text, params))
}

export const prepare = async (query: Query): Promise<void> => {
  await query(`CREATE SCHEMA bare`)
  for (const name of tables) {
    await query(`CREATE TABLE bare.${name} (LIKE troupe.${name} INCLUDING ALL)`)
  }
  await query(write)
}

/** Those that the last statement released write together. */
const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve))

export const make = (query: Query): Log => {
  let queue: Array<Job> = []
  let writing = false
  const commit = async () => {
    while (queue.length > 0) {
      const batch = queue
      queue = []
      try {
        await query(call, paramsOf(batch))
        for (const { resolve } of batch) resolve()
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
      await nextTurn()
    }
    writing = false
  }
  const append = (run: Run, events: ReadonlyArray<Event>) =>
    new Promise<void>((resolve, reject) => {
      const payloads = events.map((event) => JSON.stringify(event))
      queue.push({ run, seq: run.entries.length, events, payloads, resolve, reject })
      if (writing) return
      writing = true
      void commit()
    })
  return { accept: (run, accepted) => append(run, [accepted]), append }
}
