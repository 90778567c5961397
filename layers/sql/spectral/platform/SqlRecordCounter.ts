/**
 * Counts records in SQL, in one statement, so that a record that changes its state meanwhile is counted once.
 */
import { Effect, Schema } from "effect"
import type { RecordCounter } from "../../../../services/spectral/platform/RecordCounter.ts"
import { ChangesetStatus } from "../../../../src/spectral/platform/contracts/Changeset.ts"
import {
  ClusterSeverity,
  ClusterStatus
} from "../../../../src/spectral/platform/contracts/FailureCluster.ts"
import { ScanStatus } from "../../../../src/spectral/platform/contracts/Scan.ts"
import { DraftStatus } from "../../../../src/spectral/platform/contracts/Draft.ts"
import { sumOf } from "../../../../src/spectral/platform/SummaryTool.ts"
import { rowDecoder } from "../../engine/DecodedRows.ts"
import { orStoreError } from "../../engine/SqlFailure.ts"
import type { RecordReads } from "./RecordRows.ts"

/** SQL expression that converts the number of a state to the state. `states` are in the order of their numbers. */
const named = (numbers: string, states: ReadonlyArray<string>): string =>
  `(ARRAY[${states.map((state) => `'${state}'`).join(", ")}])[${numbers} + 1]`

const counts_text = `
  SELECT 'scan' AS kind, ${named("status", ScanStatus.literals)} AS status, NULL AS severity, count(*)::int4 AS count
  FROM troupe.platform_scans WHERE tenant = $1::text GROUP BY status
  UNION ALL
  SELECT 'changeset', ${named("status", ChangesetStatus.literals)}, NULL, count(*)::int4
  FROM troupe.platform_changesets WHERE tenant = $1::text GROUP BY status
  UNION ALL
  SELECT 'draft', ${named("status", DraftStatus.literals)}, NULL, count(*)::int4
  FROM troupe.platform_drafts WHERE tenant = $1::text GROUP BY status
  UNION ALL
  SELECT 'cluster', ${named("status", ClusterStatus.literals)}, ${named("severity", ClusterSeverity.literals)}, count(*)::int4
  FROM troupe.platform_clusters WHERE tenant = $1::text GROUP BY status, severity`

const count = Schema.Int
const decodeCounts = rowDecoder(
  Schema.Union([
    Schema.Struct({ kind: Schema.Literal("scan"), status: ScanStatus, count }),
    Schema.Struct({ kind: Schema.Literal("changeset"), status: ChangesetStatus, count }),
    Schema.Struct({ kind: Schema.Literal("draft"), status: DraftStatus, count }),
    Schema.Struct({
      kind: Schema.Literal("cluster"),
      status: ClusterStatus,
      severity: ClusterSeverity,
      count
    })
  ]),
  "counts of records"
)

export const counter = ({ reads, sql }: RecordReads): RecordCounter["Service"] => ({
  counts: (tenant) =>
    sql
      .unsafe(counts_text, [tenant])
      .pipe(
        reads.of(tenant),
        Effect.flatMap(decodeCounts),
        Effect.mapBoth({ onSuccess: sumOf, onFailure: orStoreError })
      )
})
