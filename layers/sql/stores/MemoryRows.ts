/**
 * The rows of memories in the database: the columns, the numbers for tiers and kinds, and their decoding.
 */
import { Effect, Schema } from "effect"
import { AgentName, CallId, RunId, Tenant } from "../../../src/value/Ids.ts"
import type {
  MemoryAuthor,
  MemoryRow,
  MemorySource,
  MemoryTier,
  NewMemoryRow,
  Typology
} from "../../../src/memory/MemoryRow.ts"
import { MemoryId } from "../../../src/memory/MemoryRow.ts"
import { rowWords } from "../../../src/memory/SearchWords.ts"
import { wordsOf } from "../../../src/memory/Trigram.ts"
import { rowDecoder } from "../engine/DecodedRows.ts"
import { storedStatus } from "../engine/StoredStatus.ts"

export const tiers: Readonly<Record<MemoryTier, number>> = {
  interaction: 0,
  session: 1,
  persistent: 2
}
export const typologies: Readonly<Record<Typology, number>> = {
  episodic: 0,
  semantic: 1,
  procedural: 2
}
const sources: Readonly<Record<MemorySource, number>> = { event_handler: 0, tool_call: 1 }
const authors: Readonly<Record<MemoryAuthor, number>> = { model: 0, tool: 1, human: 2, event: 3 }

/** The columns of a memory in `troupe.memory_rows r JOIN troupe.memory_scopes s`. */
export const columns = `r.id, r.tenant, r.agent, s.tier, s.anchor, r.place, r.session, r.typology, r.text, r.source, r.author,
  r.run_id, r.step, r.call, r.subject, r.key, r.seen, r.at::float8 AS at, r.supersedes, r.superseded_by, r.undone_by,
  r.embedding, r.embedded_by`

export const joined = "troupe.memory_rows r JOIN troupe.memory_scopes s ON s.id = r.scope"

const Row = Schema.Struct({
  id: MemoryId,
  tenant: Tenant,
  agent: AgentName,
  tier: storedStatus(tiers),
  anchor: Schema.String,
  place: Schema.String,
  session: Schema.String,
  typology: storedStatus(typologies),
  text: Schema.String,
  source: storedStatus(sources),
  author: storedStatus(authors),
  run_id: Schema.NullOr(RunId),
  step: Schema.NullOr(Schema.Int),
  call: Schema.NullOr(CallId),
  subject: Schema.NullOr(Schema.String),
  key: Schema.NullOr(Schema.String),
  seen: Schema.Int,
  at: Schema.Int,
  supersedes: Schema.NullOr(MemoryId),
  superseded_by: Schema.NullOr(MemoryId),
  undone_by: Schema.NullOr(Schema.String),
  embedding: Schema.NullOr(Schema.String),
  embedded_by: Schema.NullOr(Schema.String)
})

const decode = rowDecoder(Row, "memories")

/** The members that are not null. */
const present = <Fields extends Readonly<Record<string, unknown>>>(fields: Fields) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)) as {
    readonly [Name in keyof Fields]?: Exclude<Fields[Name], null>
  }

const rowOf = (row: typeof Row.Type): MemoryRow => {
  const { author, call, run_id, source, step, ...rest } = row
  const { embedded_by, embedding, key, subject, superseded_by, supersedes, undone_by, ...always } =
    rest
  return {
    ...always,
    provenance: { source, author, ...present({ run: run_id, step, call }) },
    ...present({ subject, key, supersedes, superseded_by, undone_by, embedding, embedded_by })
  }
}

export const readRows = (rows: ReadonlyArray<unknown>) =>
  Effect.map(decode(rows), (read) => read.map(rowOf))

const decodePlaced = rowDecoder(
  Schema.Struct({ ...Row.fields, position: Schema.BigInt }),
  "memories"
)

/** Decodes rows together with their positions, which serve as cursors. */
export const rowOfPosition = (rows: ReadonlyArray<unknown>) =>
  Effect.map(decodePlaced(rows), (read) =>
    read.map(({ position, ...row }) => ({ position: String(position), row: rowOf(row) }))
  )

/** The values of a new row, in the order of the parameters of `inserted`. */
export const valuesOf = (row: NewMemoryRow): ReadonlyArray<unknown> => {
  const { author, call = null, run = null, source, step = null } = row.provenance
  const { embedded_by = null, embedding = null, key = null, subject = null } = row
  return [
    row.tenant,
    row.agent,
    row.place,
    row.session,
    typologies[row.typology],
    row.text,
    wordsOf(row.text),
    rowWords(row.text),
    sources[source],
    authors[author],
    run,
    step,
    call,
    subject,
    key,
    row.at,
    row.supersedes ?? null,
    embedding,
    embedded_by
  ]
}

const types =
  "text text text text int2 text text[] text[] int2 int2 uuid int4 text text text int8 uuid text text int8".split(
    " "
  )

/** Inserts a new row. Its last parameter is the id of the scope, after the values of `valuesOf`. */
export const inserted = `INSERT INTO troupe.memory_rows (tenant, agent, place, session, typology, text, compared, words, source, author,
    run_id, step, call, subject, key, at, supersedes, embedding, embedded_by, scope)
  VALUES (${types.map((type, i) => `$${i + 1}::${type}`).join(", ")}) RETURNING id, position`
