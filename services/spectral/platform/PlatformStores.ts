/**
 * All stores of workspace records. Each kind of store provides all of them, over one database or one memory.
 */
import type { ChangesetStore } from "./contracts/ChangesetStore.ts"
import type { FailureClusterReader } from "./contracts/FailureClusterReader.ts"
import type { ScanReader } from "./contracts/ScanReader.ts"
import type { DraftStore } from "./contracts/DraftStore.ts"
import type { FailureClusterTriage } from "./FailureClusterTriage.ts"
import type { RecordCounter } from "./RecordCounter.ts"
import type { RecordImporter } from "./RecordImporter.ts"
import type { WorkspaceReader } from "./WorkspaceReader.ts"
import type { WorkspaceSettings } from "./WorkspaceSettings.ts"
import type { WorldViews } from "./WorldViews.ts"

export type PlatformStores =
  | ScanReader
  | ChangesetStore
  | FailureClusterReader
  | FailureClusterTriage
  | WorkspaceReader
  | WorkspaceSettings
  | WorldViews
  | DraftStore
  | RecordCounter
  | RecordImporter
