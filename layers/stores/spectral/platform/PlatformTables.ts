/**
 * The tables of a workspace's records: documents as JSON, and beside each the columns by which it is found and ordered. What
 * people wrote may name somebody, and is overwritten by an erasure; findings stay as they are.
 */
import { Effect, Schema } from "effect"
import { record_page_max } from "../../../../services/spectral/platform/contracts/RecordPage.ts"
import {
  Changeset,
  ChangesetState,
  ChangesetStatus
} from "../../../../src/spectral/platform/contracts/Changeset.ts"
import {
  CardContent,
  DraftId,
  DraftKind,
  DraftState,
  DraftStatus,
  DraftTitle,
  RubricContent
} from "../../../../src/spectral/platform/contracts/Draft.ts"
import {
  Moment,
  Version,
  FrameworkId,
  RecordId,
  SystemId
} from "../../../../src/spectral/platform/contracts/Fact.ts"
import {
  ClusterSeverity,
  ClusterStatus,
  ClusterTriage,
  FailureCluster,
  LinkedFailure
} from "../../../../src/spectral/platform/contracts/FailureCluster.ts"
import { RecordNotFound } from "../../../../src/spectral/platform/contracts/RecordErrors.ts"
import { personal_texts } from "../../../../src/spectral/platform/contracts/RecordTexts.ts"
import { ScanRecord, ScanStatus } from "../../../../src/spectral/platform/contracts/Scan.ts"
import { SystemCard } from "../../../../src/spectral/platform/contracts/SystemCard.ts"
import { Framework } from "../../../../src/spectral/platform/Framework.ts"
import {
  ErrorSource,
  Workspace,
  WorkspaceError
} from "../../../../src/spectral/platform/Workspace.ts"
import { WorldVersionPublished } from "../../../../src/spectral/worlds/contracts/WorldVersionPublished.ts"
import { Tenant } from "../../../../src/value/Ids.ts"
import { flag, int4, int8, json, oneOf, optional, table, text } from "../../TypedRows.ts"

const tenant = text(Tenant)
const id = text(Schema.String)

export const workspaces = table({
  name: "platform_workspaces",
  what: "workspaces",
  key: ["tenant"],
  columns: { tenant, workspace: json(Workspace) },
  erased: { marked: { workspace: personal_texts.workspace } }
})

export const frameworks = table({
  name: "platform_frameworks",
  what: "frameworks",
  key: ["tenant", "framework_id"],
  columns: { tenant, framework_id: id, framework: json(Framework) },
  erased: { marked: { framework: personal_texts.framework } }
})

export const systems = table({
  name: "platform_systems",
  what: "system cards",
  key: ["tenant", "system_id"],
  columns: { tenant, system_id: id, card: json(SystemCard), revision: int4, published: flag },
  erased: { marked: { card: personal_texts.system_card } }
})

export const scans = table({
  name: "platform_scans",
  what: "scans",
  key: ["tenant", "scan_id"],
  columns: {
    tenant,
    scan_id: id,
    status: oneOf(ScanStatus),
    started_at: int8,
    record: json(ScanRecord)
  }
})

export const changesets = table({
  name: "platform_changesets",
  what: "change sets",
  key: ["tenant", "changeset_id"],
  columns: {
    tenant,
    changeset_id: id,
    status: oneOf(ChangesetStatus),
    proposed_at: int8,
    changeset: json(Changeset),
    state: json(ChangesetState)
  },
  erased: { marked: { state: personal_texts.changeset_state } }
})

export const clusters = table({
  name: "platform_clusters",
  what: "failure clusters",
  key: ["tenant", "cluster_id"],
  columns: {
    tenant,
    cluster_id: id,
    severity: oneOf(ClusterSeverity),
    last_seen_at: int8,
    cluster: json(FailureCluster),
    status: oneOf(ClusterStatus),
    triage: json(ClusterTriage)
  },
  erased: { marked: { triage: personal_texts.cluster_triage } }
})

/** The same, without what they contain. */
export const clusterIds = table({ ...clusters, columns: { tenant, cluster_id: id } })

export const failures = table({
  name: "platform_failures",
  what: "failures",
  key: ["tenant", "failure_id"],
  columns: {
    tenant,
    failure_id: id,
    cluster_id: id,
    occurred_at: int8,
    failure: json(LinkedFailure)
  }
})

export const errors = table({
  name: "platform_errors",
  what: "errors",
  key: ["tenant", "error_id"],
  columns: {
    tenant,
    error_id: id,
    at: int8,
    source: oneOf(ErrorSource),
    scan_id: optional(id),
    error: json(WorkspaceError)
  }
})

export const views = table({
  name: "platform_worlds",
  what: "views of worlds",
  key: ["tenant", "world_id"],
  columns: { tenant, world_id: id, version: int4, world: json(WorldVersionPublished) }
})

const Target = Schema.Union([
  Schema.Struct({ framework_id: FrameworkId, rubric_id: RecordId }),
  Schema.Struct({ system_id: SystemId })
])

const Document = Schema.Struct({
  title: DraftTitle,
  principal: Schema.String,
  content: Schema.Union([RubricContent, CardContent])
})

export const drafts = table({
  name: "platform_drafts",
  what: "drafts",
  key: ["tenant", "draft_id"],
  columns: {
    tenant,
    draft_id: text(DraftId),
    number: int4,
    kind: oneOf(DraftKind),
    status: oneOf(DraftStatus),
    created_at: { ...int8, read: Schema.decodeUnknownOption(Moment) },
    based_on: { ...int4, read: Schema.decodeUnknownOption(Version) },
    /** The run and the call of the author, separated by a space, which a run's id does not contain. */
    origin: text(Schema.String),
    target: json(Target),
    document: json(Document),
    state: json(DraftState)
  },
  erased: { marked: { document: personal_texts.draft, state: personal_texts.draft } }
})

/** Each table of a workspace's records. */
export const platformTables = [
  changesets,
  clusters,
  drafts,
  errors,
  failures,
  frameworks,
  scans,
  systems,
  views,
  workspaces
]

/** The same, without what they contain. */
export const draftNumbers = table({ ...drafts, columns: { tenant, number: int4 } })

/** How many records a page has. */
export const pageLimit = (limit: number): number => Math.min(Math.max(limit, 0), record_page_max)

/** Fails with RecordNotFound if there is no row. */
export const orNotFound =
  (kind: RecordNotFound["kind"], id: string) =>
  <A, E>(row: Effect.Effect<A | undefined, E>): Effect.Effect<A, E | RecordNotFound> =>
    Effect.flatMap(row, (found) =>
      found === undefined
        ? Effect.fail(new RecordNotFound({ kind, id: id.slice(0, 200) }))
        : Effect.succeed(found)
    )
