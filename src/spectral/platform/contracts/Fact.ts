/**
 * The kinds of values from which the platform's records are made, and their ids. A workspace is a tenant; each id is unique within
 * one workspace and means nothing in another.
 */
import { Schema } from "effect"
import { Principal } from "../../../principal/Principal.ts"
import { spelled } from "../../../value/Bounds.ts"

/** A text that is not blank and has at most `units_max` UTF-16 units. */
export const Text = (units_max: number) =>
  Schema.String.check(
    Schema.isPattern(/\S/, { description: "a text that is not blank" }),
    Schema.isMaxLength(units_max)
  )

/** Who did something: the id of a principal, which may be blank. */
export const By = Principal.fields.id

/** A time in ms since 1970, up to the last that `Date` can hold. */
export const Moment = Schema.Int.check(
  Schema.isBetween({ minimum: 0, maximum: 8_640_000_000_000_000 })
)

export const Count = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000_000 }))

/** A share, from 0 to 1. */
export const Share = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))

/** The number of a version; the first is 1. */
export const Version = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000_000 }))

const Id = Schema.String.check(
  spelled(/^[a-z0-9][a-z0-9-]{0,63}$/, "1 to 64 lower-case letters, digits and hyphens")
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
