/**
 * Erases subjects in SQL. First it erases the rows that are found by the ids of the subject's runs, then the runs, then what
 * names the subject, and last what was added meanwhile. An erasure that is interrupted at any point is completed by repeating it.
 */
import { randomUUID } from "node:crypto"
import { Clock, Effect, Layer, Schema } from "effect"
import type { Scope } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlConnection, SqlError } from "effect/sql"
import { BlobStore } from "../../../services/BlobStore.ts"
import type { ErasedConversation, ErasureRequest } from "../../../services/SubjectErasure.ts"
import type { StoreError } from "../../../services/StoreError.ts"
import { SubjectErasure } from "../../../services/SubjectErasure.ts"
import type { ErasureReport } from "../../../src/erasure/Erasure.ts"
import {
  ErasureId,
  ErasureRecord,
  SubjectIsActive,
  waiting_max
} from "../../../src/erasure/Erasure.ts"
import { subjectEraser } from "../../../src/erasure/SubjectEraser.ts"
import type { RunId } from "../../../src/value/Ids.ts"
import { ConversationId, Tenant } from "../../../src/value/Ids.ts"
import { defined } from "../../../src/value/PlainObject.ts"
import { listenIn } from "../../../src/value/Listeners.ts"
import { readablePage, readableRows } from "../engine/DecodedRows.ts"
import { ErasedBytes } from "../engine/ErasedBytes.ts"
import { orStoreError } from "../engine/SqlFailure.ts"
import { SqlNotify } from "../engine/SqlNotify.ts"
import { TenantReads } from "../engine/TenantReads.ts"
import { eraseMemories, eraseMemoriesOf } from "./MemoryErasure.ts"
import type { Erasing } from "./ConversationErasure.ts"
import { eraseNamed, eraseOwned } from "./ConversationErasure.ts"
import * as ConversationDeletion from "./ConversationDeletion.ts"
import { ErasedCounts } from "./ErasedCounts.ts"
import { beginRecord, keyedDigest } from "./ErasureRecords.ts"
import { findNamed } from "./NamedRuns.ts"
import type { Owned } from "./OwnedRuns.ts"
import { activeRuns, findOwned } from "./OwnedRuns.ts"
import { scanTables } from "./SubjectScan.ts"
import { sweepTables } from "./SweptTables.ts"

/**
 * The notification channel. A payload is the id of the process that erased, the tenant and the conversation, separated by spaces.
 */
const channel = "troupe_erased"

const page_max = 500

/** The eraser of a subject and its random key. The key is given only in the report and is not stored. */
const eraserOf = (subject: string) => {
  const { digest, key } = keyedDigest()
  return { key, eraser: subjectEraser(subject, digest) }
}

const decodeRecords = readableRows(
  Schema.Struct({
    id: ErasureId,
    tenant: Tenant,
    subject: Schema.String,
    of_what: Schema.NullOr(Schema.Literal("conversation")),
    by: Schema.fromJsonString(Schema.String),
    via: Schema.NullOr(Schema.fromJsonString(Schema.String)),
    at: Schema.Number,
    ended_at: Schema.NullOr(Schema.Number),
    erased: Schema.fromJsonString(ErasureRecord.fields.erased)
  }),
  "erasures"
)

const columns = `e.id::text AS id, e.tenant, e.subject, e.of_what, e.by, e.via, e.at::float8 AS at, e.ended_at::float8 AS ended_at, e.erased`

type Sql = SqlClient.SqlClient

interface Steps extends Erasing {
  readonly subject: string
  /** Notes that rows are about to be erased. */
  readonly begin: Effect.Effect<void, StoreError, Scope.Scope>
  readonly tell: (erased: ErasedConversation) => Effect.Effect<void, SqlError.SqlError>
}

/** Erases what is found by ids, and what names the subject, but not the runs themselves. */
const eraseBeside = Effect.fnUntraced(function* (steps: Steps, owned: Owned, isLast: boolean) {
  const { blobs, counts, eraser, sql, subject, tenant } = steps
  const all = [...owned.values()]
  const runs = all.flatMap((each) => each.runs)
  const conversations = all.flatMap((each) => (each.whole ? [each.conversation] : []))
  counts.add("memory_rows", yield* eraseMemoriesOf(sql, { tenant, runs, conversations }))
  const named = yield* eraseMemories(sql, tenant, subject)
  counts.add("memory_rows", named.interaction + named.session + named.persistent)
  counts.add("blob_uses", yield* blobs.withdraw(tenant, subject))
  const ids = new Set<string>([...runs, ...conversations])
  const sweep = { sql, tenant, subject, eraser, counts, runs, conversations, ids }
  yield* sweepTables(sweep, isLast)
})

const isActive = (error: { readonly _tag: string }): error is SubjectIsActive =>
  error._tag === "SubjectIsActive"

/**
 * Erases the subject's name in runs of others. Gives the runs that are not over and therefore were left unchanged, at most
 * `waiting_max`.
 */
const eraseNames = Effect.fnUntraced(function* (steps: Steps, owned: Owned) {
  const { eraser, sql, subject, tell, tenant } = steps
  const waiting: Array<RunId> = []
  for (const [conversation, runs] of yield* findNamed(sql, { tenant, subject, eraser })) {
    if (owned.get(conversation)?.whole === true) continue
    const erased = yield* eraseNamed(steps, conversation, [...runs]).pipe(
      Effect.as(undefined),
      Effect.catchIf(isActive, Effect.succeed)
    )
    if (erased === undefined) yield* tell({ tenant, conversation })
    else waiting.push(...erased.runs)
  }
  return waiting.slice(0, waiting_max)
})

const eraseAll = Effect.fnUntraced(function* (steps: Steps) {
  const { begin, eraser, sql, subject, tell, tenant } = steps
  const owned = yield* findOwned(sql, { tenant, subject, eraser })
  const runs = yield* activeRuns(sql, tenant, [...owned.keys()])
  if (runs.length > 0) return yield* new SubjectIsActive({ runs })
  yield* begin
  yield* eraseBeside(steps, owned, false)
  for (const each of owned.values()) {
    yield* eraseOwned(steps, each)
    yield* tell({ tenant, conversation: each.conversation })
  }
  const waiting = yield* eraseNames(steps, owned)
  // This finds what was added meanwhile, and now also erases the rows that say who owns the runs.
  yield* eraseBeside(steps, owned, true)
  return waiting
})

const erasing = (sql: Sql, blobs: BlobStore["Service"], bytes: ErasedBytes, tell: Steps["tell"]) =>
  Effect.fn("SubjectErasure.erase")(function* ({ by, subject, tenant }: ErasureRequest) {
    const { eraser, key } = eraserOf(subject)
    const counts = new ErasedCounts()
    const record = yield* beginRecord(sql, { tenant, by, subject: eraser.digest(subject), counts })
    const waiting = yield* Effect.tapError(
      Effect.scoped(
        eraseAll({ sql, blobs, tenant, subject, eraser, counts, tell, begin: bytes.begin })
      ),
      () => Effect.ignore(record.end(null))
    )
    const found = yield* scanTables(sql, tenant, subject)
    const ended_at = yield* Clock.currentTimeMillis
    yield* record.end(ended_at)
    const report: ErasureReport = {
      ...record.begun,
      ended_at,
      key,
      waiting,
      erased: counts.all,
      found: found.filter(({ rows }) => rows > 0),
      remains: yield* bytes.remove
    }
    return report
  }, Effect.mapError(orStoreError))

const recordOf = ({
  ended_at,
  of_what,
  via,
  ...row
}: Effect.Success<ReturnType<typeof decodeRecords>>[number]): ErasureRecord => ({
  ...row,
  ...defined({
    ended_at: ended_at ?? undefined,
    of: of_what ?? undefined,
    via: via ?? undefined
  })
})

const listing =
  (sql: Sql, reads: TenantReads["Service"]): SubjectErasure["Service"]["list"] =>
  ({ after, limit, tenant }) =>
    readablePage<ErasureRecord, string, StoreError, never>({
      limit: Math.min(Math.max(limit, 1), page_max),
      after,
      rowsOf: (behind, most) =>
        sql
          .unsafe<SqlConnection.Row>(
            `SELECT ${columns} FROM troupe.erasures e WHERE e.tenant = $1::text AND ($2::text IS NULL OR e.position <
             (SELECT b.position FROM troupe.erasures b WHERE b.tenant = $1::text AND b.id = $2::text::uuid))
           ORDER BY e.position DESC LIMIT $3::int4`,
            [tenant, behind ?? null, most]
          )
          .pipe(reads.of(tenant), Effect.mapError(orStoreError)),
      read: (rows) => Effect.map(decodeRecords(rows), (all) => all.map(recordOf)),
      keyOf: (row) => row["id"]
    })

const isConversation = Schema.is(ConversationId)
const isTenant = Schema.is(Tenant)

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const blobs = yield* BlobStore
  const reads = yield* TenantReads
  const notify = yield* SqlNotify
  const bytes = yield* ErasedBytes
  const self = randomUUID()
  const listeners = new Set<(erased: ErasedConversation | undefined) => void>()
  const call = (erased: ErasedConversation | undefined) => {
    for (const listener of listeners) listener(erased)
  }
  yield* notify.listen(channel, (payload) => {
    if (payload === undefined) return call(undefined)
    const [from, tenant, conversation] = payload.split(" ")
    if (from === self || !isTenant(tenant) || !isConversation(conversation)) return
    call({ tenant, conversation })
  })
  const tell = (erased: ErasedConversation) =>
    Effect.andThen(
      Effect.sync(() => call(erased)),
      sql.unsafe(`SELECT pg_notify($1::text, $2::text)`, [
        channel,
        `${self} ${erased.tenant} ${erased.conversation}`
      ])
    ).pipe(Effect.asVoid)
  return SubjectErasure.of({
    erase: erasing(sql, blobs, bytes, tell),
    eraseConversation: ConversationDeletion.make({ sql, blobs, tell, begin: bytes.begin }),
    list: listing(sql, reads),
    onErased: (listener) => listenIn(listeners, listener)
  })
})

export const layer: Layer.Layer<
  SubjectErasure,
  SqlError.SqlError,
  BlobStore | SqlClient.SqlClient | SqlNotify | TenantReads
> = Layer.effect(SubjectErasure, make)
