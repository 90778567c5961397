/**
 * The records of workspaces in SQL, over a database that `SqlStores` has brought up to date.
 */
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Outbox } from "../../../services/Outbox.ts"
import { ChangesetStore } from "../../../services/platform/contracts/ChangesetStore.ts"
import { FailureClusterReader } from "../../../services/platform/contracts/FailureClusterReader.ts"
import { ScanReader } from "../../../services/platform/contracts/ScanReader.ts"
import { FailureClusterTriage } from "../../../services/platform/FailureClusterTriage.ts"
import type { PlatformStores } from "../../../services/platform/PlatformStores.ts"
import { RecordImporter } from "../../../services/platform/RecordImporter.ts"
import { WorkspaceReader } from "../../../services/platform/WorkspaceReader.ts"
import { WorkspaceSettings } from "../../../services/platform/WorkspaceSettings.ts"
import { WorldViews } from "../../../services/platform/WorldViews.ts"
import * as Published from "./SqlPublishedRecords.ts"
import { importer } from "./SqlRecordImporter.ts"
import * as Workspaces from "./SqlWorkspaces.ts"

export const layer: Layer.Layer<PlatformStores, never, SqlClient.SqlClient | Outbox> = Layer.unwrap(
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const outbox = yield* Outbox
    return Layer.mergeAll(
      Layer.succeed(ScanReader, Published.scans(sql)),
      Layer.succeed(ChangesetStore, Published.changesets(sql)),
      Layer.succeed(FailureClusterReader, Published.clusters(sql)),
      Layer.succeed(FailureClusterTriage, Published.triage(sql)),
      Layer.succeed(WorkspaceReader, Workspaces.workspaces(sql)),
      Layer.succeed(WorkspaceSettings, Workspaces.settings(sql)),
      Layer.succeed(WorldViews, Workspaces.worldViews(sql)),
      Layer.succeed(RecordImporter, importer(sql, outbox))
    )
  })
)
