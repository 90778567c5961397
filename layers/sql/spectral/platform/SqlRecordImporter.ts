/**
 * Imports records in SQL, in one transaction with the events that announce them: one statement for each table, however many
 * records it has.
 */
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { Outbox } from "../../../../services/Outbox.ts"
import type { RecordImporter } from "../../../../services/spectral/platform/RecordImporter.ts"
import { readRecords } from "../../../../services/spectral/platform/RecordImporter.ts"
import type { Tenant } from "../../../../src/value/Ids.ts"
import { severityRank } from "../../../../src/spectral/platform/contracts/FailureCluster.ts"
import { ChangeRefused } from "../../../../src/spectral/platform/contracts/RecordErrors.ts"
import { messageOf, unlinkedFailure } from "../../../../src/spectral/platform/PlatformRecords.ts"
import type { PlatformRecords } from "../../../../src/spectral/platform/PlatformRecords.ts"
import { inTransaction, orStoreError } from "../../engine/SqlFailure.ts"
import { changesetStatus, scanStatus } from "./SqlPublishedRecords.ts"
import { errorSource } from "./SqlWorkspaces.ts"

type Sql = SqlClient.SqlClient

/** The rows of one table: its columns beside the tenant, and what happens to a row that exists already. */
interface Rows {
  readonly table: string
  /** The columns; the first one is the id. */
  readonly columns: ReadonlyArray<readonly [name: string, type: "text" | "int2" | "int8"]>
  readonly known: "stays" | "follows" | "follows until published"
  readonly rows: ReadonlyArray<ReadonlyArray<string | number | null>>
}

const document = JSON.stringify

const tablesOf = (records: PlatformRecords): ReadonlyArray<Rows> => [
  {
    table: "platform_frameworks",
    columns: [
      ["framework_id", "text"],
      ["framework", "text"]
    ],
    known: "stays",
    rows: records.frameworks.map((each) => [each.framework_id, document(each)])
  },
  {
    table: "platform_systems",
    columns: [
      ["system_id", "text"],
      ["card", "text"]
    ],
    known: "follows until published",
    rows: records.systems.map((each) => [each.system_id, document(each)])
  },
  {
    table: "platform_scans",
    columns: [
      ["scan_id", "text"],
      ["status", "int2"],
      ["started_at", "int8"],
      ["record", "text"]
    ],
    known: "follows",
    rows: records.scans.map((each) => [
      each.scan.scan_id,
      scanStatus(each.scan.status),
      each.scan.started_at,
      document(each)
    ])
  },
  {
    table: "platform_changesets",
    columns: [
      ["changeset_id", "text"],
      ["status", "int2"],
      ["proposed_at", "int8"],
      ["changeset", "text"],
      ["state", "text"]
    ],
    known: "stays",
    rows: records.changesets.map(({ changeset, state }) => [
      changeset.changeset_id,
      changesetStatus(state.status),
      changeset.proposed_at,
      document(changeset),
      document(state)
    ])
  },
  ...found(records)
]

const found = (records: PlatformRecords): ReadonlyArray<Rows> => [
  {
    table: "platform_clusters",
    columns: [
      ["cluster_id", "text"],
      ["severity", "int2"],
      ["last_seen_at", "int8"],
      ["cluster", "text"]
    ],
    known: "follows",
    rows: records.clusters.map((each) => [
      each.cluster_id,
      severityRank(each.severity),
      each.last_seen_at,
      document(each)
    ])
  },
  {
    table: "platform_failures",
    columns: [
      ["failure_id", "text"],
      ["cluster_id", "text"],
      ["occurred_at", "int8"],
      ["failure", "text"]
    ],
    known: "stays",
    rows: records.failures.map((each) => [
      each.failure_id,
      each.cluster_id,
      each.occurred_at,
      document(each)
    ])
  },
  {
    table: "platform_errors",
    columns: [
      ["error_id", "text"],
      ["at", "int8"],
      ["source", "int2"],
      ["scan_id", "text"],
      ["error", "text"]
    ],
    known: "stays",
    rows: records.errors.map((each) => [
      each.error_id,
      each.at,
      errorSource(each.source),
      each.scan_id ?? null,
      document(each)
    ])
  }
]

const insert = (sql: Sql, tenant: Tenant, { columns, known, rows, table }: Rows) => {
  const names = columns.map(([name]) => name)
  const [id, ...others] = names
  const follow = `DO UPDATE SET ${others.map((name) => `${name} = excluded.${name}`).join(", ")}`
  const conflict = {
    stays: "DO NOTHING",
    follows: follow,
    "follows until published": `${follow}, revision = t.revision + (t.card <> excluded.card)::int4 WHERE NOT t.published`
  }[known]
  return sql.unsafe(
    `INSERT INTO troupe.${table} AS t (tenant, ${names.join(", ")})
     SELECT $1::text, ${columns.map(([, type], i) => `(r.row ->> ${i})::${type}`).join(", ")}
     FROM json_array_elements($2::json) AS r(row) ON CONFLICT (tenant, ${id}) ${conflict}`,
    [tenant, document(rows)]
  )
}

/** The ids of those clusters of these failures that exist. */
const knownClusters = Effect.fnUntraced(function* (
  sql: Sql,
  tenant: Tenant,
  { failures }: PlatformRecords
) {
  const named = [...new Set(failures.map(({ cluster_id }) => cluster_id))]
  const rows = yield* sql.unsafe<{ readonly cluster_id: string }>(
    `SELECT cluster_id FROM troupe.platform_clusters
     WHERE tenant = $1::text AND cluster_id IN (SELECT json_array_elements_text($2::json))`,
    [tenant, document(named)]
  )
  return new Set(rows.map(({ cluster_id }) => cluster_id))
})

export const importer = (sql: Sql, outbox: Outbox["Service"]): RecordImporter["Service"] => ({
  record: Effect.fnUntraced(function* (tenant, given) {
    const records = yield* readRecords(given)
    yield* Effect.gen(function* () {
      const known = yield* knownClusters(sql, tenant, records)
      const unlinked = unlinkedFailure(records, (id) => known.has(id))
      if (unlinked !== undefined) return yield* new ChangeRefused({ message: unlinked })
      if (records.workspace !== undefined) {
        yield* sql.unsafe(
          `INSERT INTO troupe.platform_workspaces (tenant, workspace) VALUES ($1::text, $2::text)
           ON CONFLICT (tenant) DO NOTHING`,
          [tenant, document(records.workspace)]
        )
      }
      for (const rows of tablesOf(records)) {
        if (rows.rows.length > 0) yield* insert(sql, tenant, rows)
      }
      return yield* outbox.enqueue(records.events.map((event) => messageOf(tenant, event)))
    }).pipe(inTransaction(sql), Effect.mapError(orStoreError))
  })
})
