/**
 * Changes of a system that are proposed together. A person reviews them (proposed, then approved or rejected), and only what was
 * approved is applied. The review has nothing to do with the approval of a call: neither reads the other's records.
 */
import { Schema } from "effect"
import { By, Moment, Text, ChangesetId, CycleId, ScanId, SystemId } from "./Fact.ts"

export const ChangesetStatus = Schema.Literals(["proposed", "approved", "rejected", "applied"])
export type ChangesetStatus = typeof ChangesetStatus.Type

export const changes_max = 50

export const Change = Schema.Struct({
  /** A setting of the system, such as `prompt.sources` or `retrieval.documents_max`. */
  setting: Schema.String.check(
    Schema.isPattern(/^[a-z][a-z0-9_]*(?:\.[a-z][a-z0-9_]*){0,5}$/, {
      description: "up to 6 lower-case words with points between them"
    }),
    Schema.isMaxLength(200)
  ),
  /** The value before the change; empty = the setting was not set. */
  before: Schema.String.check(Schema.isMaxLength(4_000)),
  after: Schema.String.check(Schema.isMaxLength(4_000))
})

/** The proposal, which never changes. */
export const Changeset = Schema.Struct({
  changeset_id: ChangesetId,
  scan_id: ScanId,
  cycle_id: CycleId,
  system_id: SystemId,
  title: Text(200),
  rationale: Text(2_000),
  risk: Schema.Literals(["low", "medium", "high"]),
  changes: Schema.Array(Change).check(Schema.isMinLength(1), Schema.isMaxLength(changes_max)),
  proposed_at: Moment
})
export interface Changeset extends Schema.Schema.Type<typeof Changeset> {}

/** Who took a step, and when. */
export const Signed = Schema.Struct({ by: By, at: Moment })

/** The reason for the decision; it may be empty. */
export const ReviewNote = Schema.String.check(Schema.isMaxLength(2_000))

/** The state of a change set, with who took each step. */
export const ChangesetState = Schema.Struct({
  status: ChangesetStatus,
  /** The review. Absent = the change set was not reviewed. */
  reviewed: Schema.optionalKey(Schema.Struct({ ...Signed.fields, note: ReviewNote })),
  /** Who applied the change set, and when. Absent = it was not applied. */
  applied: Schema.optionalKey(Signed)
})
export interface ChangesetState extends Schema.Schema.Type<typeof ChangesetState> {}

export const ChangesetRecord = Schema.Struct({ changeset: Changeset, state: ChangesetState })
export interface ChangesetRecord extends Schema.Schema.Type<typeof ChangesetRecord> {}
