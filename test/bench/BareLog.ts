/**
 * The lower bound of the rows that go through `send` to a store: the same rows, written by hand for the same promises, into
 * tables of the same shape. What waits while a statement runs is written by the next. A message is durable before it is
 * answered, and each step before anybody sees it; after a crash a run that is not over is one to go on with, and its events
 * say how far it came; a process that another has succeeded can append nothing more.
 *
 * - A message is its task, the person's message, its conversation or that one's counters, the head of its run and the run's
 *   details, and two events: it was accepted and claimed.
 * - A step is its two events in one row, and the head: epoch and length are compared, and the length is raised.
 * - A question is its event and its record, a decision its event and the record's answer. Who goes on with a run claims it: an
 *   event, the head's epoch, the owner in the details.
 * - The end is two events in one row, the head, the details, the status of the task, the assistant's message and the counter of
 *   the conversation.
 *
 * The events are those of the runtime. `test/bench/BareLog.test.ts` compares the rows of both. Not kept: an idempotency key,
 * a bound of what waits, an address with several conversations, leases and how a dead process is noticed, an append that is
 * refused without the rest of its batch.
 */
import { randomUUID } from "node:crypto"
import { Effect, Layer, ManagedRuntime, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import type { Store } from "troupe/embed"
import * as Migrations from "../../layers/sql/engine/Migrations.ts"
import * as Pglite from "../../layers/sql/engine/Pglite.ts"
import * as Postgres from "../../layers/sql/engine/Postgres.ts"
import type { Event, Log, Run } from "./BareAgent.ts"

export const tables = [
  "conversations",
  "conversation_messages",
  "agent_tasks",
  "runs",
  "run_details",
  "run_pairs",
  "approvals"
]

/**
 * A function, because PGlite plans each statement anew and keeps the plans of a function; by keys, because the plans are made
 * while the tables are empty. One statement for each table, for all runs of a batch.
 */
const write = `CREATE FUNCTION bare.write(at int8, process text,
  begun text[], continued text[],
  accepted uuid[], accepted_in text[], ordinals int4[], places int4[], texts text[],
  heads uuid[], epochs int4[], lengths int4[], counts int4[], claims int4[], statuses int4[],
  runs uuid[], seqs int4[], types text[], payloads text[], nexts text[],
  asked uuid[], asked_by uuid[], questions text[], decided uuid[], claimed uuid[],
  ended uuid[], ended_in text[], end_places int4[], answers text[])
RETURNS void LANGUAGE plpgsql
  SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $body$
DECLARE
  raised int4;
BEGIN
  IF cardinality(heads) > 0 THEN
    UPDATE bare.runs r SET length = w.length + w.count, epoch = w.epoch + w.claim, status = w.status::int2
    FROM unnest(heads, epochs, lengths, counts, claims, statuses) AS w(run_id, epoch, length, count, claim, status)
    WHERE r.run_id = w.run_id AND r.run_id = ANY (heads) AND r.epoch = w.epoch AND r.length = w.length AND r.status < 3;
    GET DIAGNOSTICS raised = ROW_COUNT;
    IF raised < cardinality(heads) THEN RAISE EXCEPTION 'fenced off'; END IF;
  END IF;
  IF cardinality(begun) > 0 THEN
    INSERT INTO bare.conversations (tenant, id, agent, address_key, initiated_by, begun_by, created_at, tasks, messages, active_at,
      title)
    SELECT 'default', id, 'reader', id, 'system', 'service', at, 1, 1, at, text
    FROM unnest(accepted_in, ordinals, texts) AS a(id, ordinal, text) WHERE ordinal = 1;
  END IF;
  IF cardinality(continued) > 0 THEN
    UPDATE bare.conversations c SET tasks = c.tasks + 1, messages = c.messages + 1, active_at = at
    WHERE c.tenant = 'default' AND c.id = ANY (continued);
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
    INSERT INTO bare.runs (run_id, tenant, epoch, length, status) SELECT id, 'default', 1, 2, 1 FROM unnest(accepted) AS a(id);
    INSERT INTO bare.run_details (run_id, tenant, agent, address_key, conversation, ordinal, owner, created_at)
    SELECT id, 'default', 'reader', conversation, conversation, ordinal, process, at
    FROM unnest(accepted, accepted_in, ordinals) AS a(id, conversation, ordinal);
  END IF;
  INSERT INTO bare.run_pairs (run_id, seq, at, type, payload, next)
  SELECT run_id, seq, at, nullif(type, ''), payload, nullif(next, '')
  FROM unnest(runs, seqs, types, payloads, nexts) AS e(run_id, seq, type, payload, next);
  IF cardinality(asked) > 0 THEN
    INSERT INTO bare.approvals (id, tenant, run_id, payload)
    SELECT id, 'default', run_id, payload FROM unnest(asked, asked_by, questions) AS q(id, run_id, payload);
  END IF;
  IF cardinality(decided) > 0 THEN
    UPDATE bare.approvals a SET status = 1, answer = '{"_tag":"Approve"}' WHERE a.id = ANY (decided);
  END IF;
  IF cardinality(claimed) > 0 THEN
    UPDATE bare.run_details d SET owner = process WHERE d.run_id = ANY (claimed);
  END IF;
  IF cardinality(ended) > 0 THEN
    UPDATE bare.agent_tasks t SET status = 2 WHERE t.id = ANY (ended);
    UPDATE bare.run_details d SET open = false WHERE d.run_id = ANY (ended);
    UPDATE bare.conversations c SET messages = c.messages + 1, active_at = at WHERE c.tenant = 'default' AND c.id = ANY (ended_in);
    INSERT INTO bare.conversation_messages (tenant, conversation, seq, role, content, channel_origin, run_id, created_at)
    SELECT 'default', conversation, place, 'assistant', text, 'api', id, at
    FROM unnest(ended, ended_in, end_places, answers) AS a(id, conversation, place, text);
  END IF;
END $body$`

const call = `SELECT bare.write($1::int8, $2::text, $3::text[], $4::text[],
  $5::uuid[], $6::text[], $7::int4[], $8::int4[], $9::text[],
  $10::uuid[], $11::int4[], $12::int4[], $13::int4[], $14::int4[], $15::int4[],
  $16::uuid[], $17::int4[], $18::text[], $19::text[], $20::text[],
  $21::uuid[], $22::uuid[], $23::text[], $24::uuid[], $25::uuid[],
  $26::uuid[], $27::text[], $28::int4[], $29::text[])::text`

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

interface Pair {
  readonly run: string
  readonly seq: number
  readonly type: string
  readonly payload: string
  readonly next: string
}

/** Events that one looks for by their type have a row of their own. */
const sought = new Set<Event["_tag"]>(["ApprovalRequested", "ApprovalDecided"])

/** Its events, two in a row. */
const addPairs = ({ events, payloads, run, seq }: Job, pairs: Array<Pair>): void => {
  for (let i = 0; i < events.length; i++) {
    const { _tag } = events[i]!
    const pair = { run: run.id, seq: seq + i, payload: payloads[i]! }
    if (sought.has(_tag)) pairs.push({ ...pair, type: _tag, next: "" })
    else {
      const next = events[i + 1]
      const isPair = next !== undefined && !sought.has(next._tag)
      pairs.push({ ...pair, type: "", next: isPair ? payloads[++i]! : "" })
    }
  }
}

const parked = -1
const processing = 1
const complete = 3

/** Of the head, as the last of these events leaves it. */
const statusOf = (events: ReadonlyArray<Event>): number => {
  const { _tag } = events.at(-1)!
  return _tag === "RunEnded" ? complete : _tag === "ApprovalRequested" ? parked : processing
}

const isClaim = ({ _tag }: Event): boolean => _tag === "RunClaimed"

const questionsOf = (jobs: ReadonlyArray<Job>) =>
  jobs.flatMap(({ events, payloads, run }) =>
    events.flatMap((event, i) =>
      event._tag === "ApprovalRequested"
        ? [{ id: event.approval, run: run.id, payload: payloads[i]! }]
        : []
    )
  )

const decidedIn = (jobs: ReadonlyArray<Job>) =>
  jobs.flatMap(({ events }) =>
    events.flatMap((event) => (event._tag === "ApprovalDecided" ? [event.approval] : []))
  )

const answerOf = ({ events }: Job): string => {
  const end = events.at(-1)!
  return JSON.stringify(end._tag === "RunEnded" ? end.text : "")
}

const conversations = (jobs: ReadonlyArray<Job>) => jobs.map(({ run }) => run.conversation.id)
const runIds = (jobs: ReadonlyArray<Job>) => jobs.map(({ run }) => run.id)
const places = (jobs: ReadonlyArray<Job>, role: 0 | 1) =>
  jobs.map(({ run }) => 2 * (run.ordinal - 1) + role)

const paramsOf = (owner: string, jobs: ReadonlyArray<Job>): ReadonlyArray<unknown> => {
  const accepted = jobs.filter(({ seq }) => seq === 0)
  const others = jobs.filter(({ seq }) => seq > 0)
  const claims = others.map(({ events }) => (events.some(isClaim) ? 1 : 0))
  const ended = jobs.filter(({ events }) => events.at(-1)!._tag === "RunEnded")
  const questions = questionsOf(jobs)
  const pairs: Array<Pair> = []
  for (const job of jobs) addPairs(job, pairs)
  return [
    String(Date.now()),
    owner,
    conversations(accepted.filter(({ run }) => run.ordinal === 1)),
    conversations(accepted.filter(({ run }) => run.ordinal > 1)),
    runIds(accepted),
    conversations(accepted),
    accepted.map(({ run }) => run.ordinal),
    places(accepted, 0),
    accepted.map(({ run }) => JSON.stringify(run.conversation.messages.at(-1))),
    runIds(others),
    others.map(({ run }) => run.epoch),
    others.map(({ seq }) => seq),
    others.map(({ events }) => events.length),
    claims,
    others.map(({ events }) => statusOf(events)),
    pairs.map(({ run }) => run),
    pairs.map(({ seq }) => seq),
    pairs.map(({ type }) => type),
    pairs.map(({ payload }) => payload),
    pairs.map(({ next }) => next),
    questions.map(({ id }) => id),
    questions.map(({ run }) => run),
    questions.map(({ payload }) => payload),
    decidedIn(jobs),
    runIds(others.filter((_, i) => claims[i] === 1)),
    runIds(ended),
    conversations(ended),
    places(ended, 1),
    ended.map(answerOf)
  ]
}

export type Query = (
  text: string,
  params?: ReadonlyArray<unknown>
) => Promise<ReadonlyArray<Readonly<Record<string, unknown>>>>

export type Durable = Exclude<Store, "ephemeral">

export interface Connection {
  readonly query: Query
  /** For who is not gone with its process. */
  readonly close: () => Promise<void>
}

/** The same driver and settings as the runtime's, on a database whose tables it makes. */
export const connect = async (store: Durable): Promise<Connection> => {
  const engine =
    "postgres" in store
      ? Layer.orDie(Postgres.layer({ url: Redacted.make(store.postgres) }))
      : Layer.orDie(Pglite.layer({ directory: store.directory }))
  const runtime = ManagedRuntime.make(Migrations.layer.pipe(Layer.provideMerge(engine)))
  const sql = await runtime.runPromise(SqlClient.SqlClient)
  return {
    query: (text, params) => Effect.runPromise(sql.unsafe<Record<string, unknown>>(text, params)),
    close: () => runtime.dispose()
  }
}

export const prepare = async (query: Query): Promise<void> => {
  await query(`CREATE SCHEMA bare`)
  for (const name of tables) {
    await query(`CREATE TABLE bare.${name} (LIKE troupe.${name} INCLUDING ALL)`)
    const [found] = await query(
      `SELECT array_to_string(reloptions, ', ') AS options FROM pg_class WHERE oid = 'troupe.${name}'::regclass`
    )
    const options = found?.["options"]
    if (typeof options === "string") await query(`ALTER TABLE bare.${name} SET (${options})`)
  }
  await query(write)
}

/** Those that the last statement released write together. */
const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve))

export const make = (query: Query): Log => {
  const owner = randomUUID()
  let queue: Array<Job> = []
  let writing = false
  const commit = async () => {
    while (queue.length > 0) {
      const batch = queue
      queue = []
      try {
        await query(call, paramsOf(owner, batch))
        for (const { events, resolve, run } of batch) {
          if (events.some(isClaim)) run.epoch++
          resolve()
        }
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
  return { owner, append }
}
