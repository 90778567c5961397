/**
 * The ids of the platform's records. A workspace is a tenant; each id is unique within one workspace and means nothing in
 * another.
 */
import { Schema } from "effect"

const Id = Schema.String.check(
  Schema.isPattern(/^[a-z0-9][a-z0-9-]{0,63}$/, {
    description: "1 to 64 lower-case letters, digits and hyphens"
  })
)

/** One evaluation of a system's traces. */
export const ScanId = Id.pipe(Schema.brand("ScanId"))
export type ScanId = typeof ScanId.Type

/** A series of scans of one system under the same set of changes. It ends when the next change is applied. */
export const CycleId = Id.pipe(Schema.brand("CycleId"))
export type CycleId = typeof CycleId.Type

/** The system that is evaluated: an assistant, a classifier, a pipeline. */
export const SystemId = Id.pipe(Schema.brand("SystemId"))
export type SystemId = typeof SystemId.Type

export const ChangesetId = Id.pipe(Schema.brand("ChangesetId"))
export type ChangesetId = typeof ChangesetId.Type

/** A group of failures of one kind. */
export const ClusterId = Id.pipe(Schema.brand("ClusterId"))
export type ClusterId = typeof ClusterId.Type

/** A set of rubrics with thresholds, by which a system is evaluated. */
export const FrameworkId = Id.pipe(Schema.brand("FrameworkId"))
export type FrameworkId = typeof FrameworkId.Type

/** A verdict, a recommendation, a rubric, a failure or an error. */
export const RecordId = Id
