/**
 * A batch of records of a workspace, as the pipeline that evaluates its systems delivers it.
 */
import { Schema } from "effect"
import { MessageId } from "../../value/Ids.ts"
import type { Tenant } from "../../value/Ids.ts"
import type { NewOutboxMessage } from "../../delivery/OutboxMessage.ts"
import { bounds_result } from "../../value/BoundedJson.ts"
import type { JsonBounds } from "../../value/BoundedJson.ts"
import { ChangesetRecord } from "./contracts/Changeset.ts"
import { FailureCluster, LinkedFailure } from "./contracts/FailureCluster.ts"
import { platform_events, subjectOf } from "./contracts/PlatformEvent.ts"
import type { PlatformEvent, PlatformTopic } from "./contracts/PlatformEvent.ts"
import { ScanRecord } from "./contracts/Scan.ts"
import { Framework } from "./Framework.ts"
import { SystemCard } from "./contracts/SystemCard.ts"
import { Workspace, WorkspaceError } from "./Workspace.ts"

/** The greatest numbers of frameworks and of systems in one workspace. */
export const frameworks_max = 100

/** The greatest number of scans, change sets, clusters or errors in one batch. */
const records_max = 5_000
const failures_max = 50_000

const distinct = <A>(idOf: (item: A) => string) =>
  Schema.makeFilter((items: ReadonlyArray<A>) =>
    new Set(items.map(idOf)).size === items.length ? undefined : "records with distinct ids"
  )

const eventOf = <T extends PlatformTopic>(topic: T) =>
  Schema.Struct({
    /** The event's id. An event with the same id is published only once. */
    id: MessageId,
    topic: Schema.Literal(topic),
    payload: platform_events[topic]
  })

export const PublishedEvent = Schema.Union([
  eventOf("scan.completed"),
  eventOf("verdict.issued"),
  eventOf("approval.required"),
  eventOf("supervisor.recommendation.issued")
])
export type PublishedEvent = typeof PublishedEvent.Type

export const PlatformRecords = Schema.Struct({
  workspace: Schema.optionalKey(Workspace),
  frameworks: Schema.Array(Framework).check(
    Schema.isMaxLength(frameworks_max),
    distinct(({ framework_id }: Framework) => framework_id)
  ),
  systems: Schema.Array(SystemCard).check(
    Schema.isMaxLength(frameworks_max),
    distinct(({ system_id }: SystemCard) => system_id)
  ),
  scans: Schema.Array(ScanRecord).check(
    Schema.isMaxLength(records_max),
    distinct(({ scan }: ScanRecord) => scan.scan_id)
  ),
  changesets: Schema.Array(ChangesetRecord).check(
    Schema.isMaxLength(records_max),
    distinct(({ changeset }: ChangesetRecord) => changeset.changeset_id)
  ),
  clusters: Schema.Array(FailureCluster).check(
    Schema.isMaxLength(records_max),
    distinct(({ cluster_id }: FailureCluster) => cluster_id)
  ),
  failures: Schema.Array(LinkedFailure).check(
    Schema.isMaxLength(failures_max),
    distinct(({ failure_id }: LinkedFailure) => failure_id)
  ),
  errors: Schema.Array(WorkspaceError).check(
    Schema.isMaxLength(records_max),
    distinct(({ error_id }: WorkspaceError) => error_id)
  ),
  /** The events to publish together with the records: all of them are stored, or nothing is. */
  events: Schema.Array(PublishedEvent).check(Schema.isMaxLength(records_max))
})
export interface PlatformRecords extends Schema.Schema.Type<typeof PlatformRecords> {}

/** The bounds of a batch as JSON, with room for 50,000 failures. */
export const records_bounds: JsonBounds = { ...bounds_result, units_max: 32_000_000 }

/**
 * Why the failures cannot be stored: it names the cluster of the first one whose cluster is neither in the batch nor stored.
 * Undefined = there is none.
 */
export const unlinkedFailure = (
  { clusters, failures }: PlatformRecords,
  isKnown: (cluster: string) => boolean
): string | undefined => {
  const given = new Set<string>(clusters.map(({ cluster_id }) => cluster_id))
  const unlinked = failures.find(({ cluster_id }) => !given.has(cluster_id) && !isKnown(cluster_id))
  return unlinked === undefined
    ? undefined
    : `records.failures: there is no failure cluster ${unlinked.cluster_id}`
}

/** The event as a message of the outbox. Events of one subject are delivered in order. */
export const messageOf = (tenant: Tenant, { id, ...event }: PublishedEvent): NewOutboxMessage => ({
  id,
  tenant,
  key: `platform/${tenant}/${subjectOf(event as PlatformEvent)}`,
  topic: event.topic,
  payload: event.payload
})
