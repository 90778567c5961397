/**
 * The records of workspaces in SQL, over a database with the tables of every store.
 */
import { Effect, Layer } from "effect"
import type { StartError } from "../../engine/Migrations.ts"
import { SqlClient } from "effect/sql"
import { Outbox } from "../../../../services/Outbox.ts"
import { ChangesetStore } from "../../../../services/spectral/platform/contracts/ChangesetStore.ts"
import { FailureClusterReader } from "../../../../services/spectral/platform/contracts/FailureClusterReader.ts"
import { ScanReader } from "../../../../services/spectral/platform/contracts/ScanReader.ts"
import { DraftStore } from "../../../../services/spectral/platform/contracts/DraftStore.ts"
import { FailureClusterTriage } from "../../../../services/spectral/platform/FailureClusterTriage.ts"
import type { PlatformStores } from "../../../../services/spectral/platform/PlatformStores.ts"
import { RecordCounter } from "../../../../services/spectral/platform/RecordCounter.ts"
import { RecordImporter } from "../../../../services/spectral/platform/RecordImporter.ts"
import { WorkspaceReader } from "../../../../services/spectral/platform/WorkspaceReader.ts"
import { WorkspaceSettings } from "../../../../services/spectral/platform/WorkspaceSettings.ts"
import { WorldViews } from "../../../../services/spectral/platform/WorldViews.ts"
import * as Published from "./SqlPublishedRecords.ts"
import * as TenantReads from "../../engine/TenantReads.ts"
import * as SpectralTables from "../SpectralTables.ts"
import { drafts } from "./SqlDrafts.ts"
import { counter } from "./SqlRecordCounter.ts"
import { importer } from "./SqlRecordImporter.ts"
import * as Workspaces from "./SqlWorkspaces.ts"

export const layer: Layer.Layer<PlatformStores, StartError, SqlClient.SqlClient | Outbox> =
  Layer.unwrap(
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const of = { sql, reads: yield* TenantReads.TenantReads }
      const outbox = yield* Outbox
      return Layer.mergeAll(
        Layer.succeed(ScanReader, Published.scans(of)),
        Layer.succeed(ChangesetStore, Published.changesets(of)),
        Layer.succeed(FailureClusterReader, Published.clusters(of)),
        Layer.succeed(FailureClusterTriage, Published.triage(sql)),
        Layer.succeed(WorkspaceReader, Workspaces.workspaces(of)),
        Layer.succeed(WorkspaceSettings, Workspaces.settings(of)),
        Layer.succeed(WorldViews, Workspaces.worldViews(of)),
        Layer.succeed(DraftStore, drafts(of)),
        Layer.succeed(RecordCounter, counter(of)),
        Layer.succeed(RecordImporter, importer(sql, outbox))
      )
    })
  ).pipe(Layer.provide(SpectralTables.layer))
