/**
 * The records of workspaces, over the rows of one driver.
 */
import { Effect, Layer } from "effect"
import { Outbox } from "../../../../services/Outbox.ts"
import { Rows } from "../../../../services/Rows.ts"
import { ChangesetStore } from "../../../../services/spectral/platform/contracts/ChangesetStore.ts"
import { DraftStore } from "../../../../services/spectral/platform/contracts/DraftStore.ts"
import { FailureClusterReader } from "../../../../services/spectral/platform/contracts/FailureClusterReader.ts"
import { ScanReader } from "../../../../services/spectral/platform/contracts/ScanReader.ts"
import { FailureClusterTriage } from "../../../../services/spectral/platform/FailureClusterTriage.ts"
import type { PlatformStores } from "../../../../services/spectral/platform/PlatformStores.ts"
import { RecordCounter } from "../../../../services/spectral/platform/RecordCounter.ts"
import { RecordImporter } from "../../../../services/spectral/platform/RecordImporter.ts"
import { WorkspaceReader } from "../../../../services/spectral/platform/WorkspaceReader.ts"
import { WorkspaceSettings } from "../../../../services/spectral/platform/WorkspaceSettings.ts"
import { WorldViews } from "../../../../services/spectral/platform/WorldViews.ts"
import { drafts } from "./StoredDrafts.ts"
import * as Findings from "./StoredFindings.ts"
import { counter, importer } from "./StoredImports.ts"
import * as Workspaces from "./StoredWorkspaces.ts"

export const layer: Layer.Layer<PlatformStores, never, Outbox | Rows> = Layer.unwrap(
  Effect.gen(function* () {
    const driver = yield* Rows
    const outbox = yield* Outbox
    const clusters = Findings.clusters(driver)
    return Layer.mergeAll(
      Layer.succeed(ScanReader, Findings.scans(driver)),
      Layer.succeed(ChangesetStore, Findings.changesets(driver)),
      Layer.succeed(FailureClusterReader, clusters),
      Layer.succeed(FailureClusterTriage, clusters),
      Layer.succeed(WorkspaceReader, Workspaces.workspaces(driver)),
      Layer.succeed(WorkspaceSettings, Workspaces.settings(driver)),
      Layer.succeed(WorldViews, Workspaces.worldViews(driver)),
      Layer.succeed(DraftStore, drafts(driver)),
      Layer.succeed(RecordCounter, counter(driver)),
      Layer.succeed(RecordImporter, importer(driver, outbox))
    )
  })
)
