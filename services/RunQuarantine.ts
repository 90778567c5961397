/**
 * Runs whose journal does not fold. Whichever method of `RunJournal`, `RunReader` or `RunOwnership` notices puts such a run in
 * quarantine. Claim, read and amend then fail with RunQuarantined, nothing is appended to the run, and recovery and sweeps skip it.
 */
import { Context, Effect, Metric } from "effect"
import { totalMetric } from "../src/value/Telemetry.ts"
import type { Approval } from "../src/approval/Approval.ts"
import type { RunId, Tenant } from "../src/value/Ids.ts"
import type { QuarantinedRun, RawEvent, RunQuarantined } from "../src/run/Quarantine.ts"
import { QuarantineReason } from "../src/run/Quarantine.ts"
import type { RunNotFound } from "../src/run/RunCommand.ts"
import type { JournalError } from "./RunJournal.ts"

/** Stored rows of a run's journal. */
export interface RawPage {
  /** Whether the run is in quarantine. */
  readonly quarantined: boolean
  /** The rows, in order. */
  readonly events: ReadonlyArray<RawEvent>
}

/** Selects runs in quarantine. */
export interface QuarantineQuery {
  /** Whose runs. */
  readonly tenant: Tenant
  /** 1 to 500. */
  readonly limit: number
  /** Continue after this one. */
  readonly after?: RunId | undefined
}

const quarantined_total = totalMetric(
  "troupe_runs_quarantined_total",
  "Runs that were put in quarantine, by reason"
)

/** Begins the counter at 0 for each reason, so that the first such run after a start is an increase. */
export const beginQuarantineCounter: Effect.Effect<void> = Effect.forEach(
  QuarantineReason.literals,
  (reason) => Metric.update(Metric.withAttributes(quarantined_total, { reason }), 0),
  { discard: true }
)

/** Reports to operators, by log and metric, that a run was put in quarantine. Every journal does so once per run. */
export const announceQuarantine = (error: RunQuarantined): Effect.Effect<void> =>
  Effect.andThen(
    Metric.update(Metric.withAttributes(quarantined_total, { reason: error.reason }), 1),
    Effect.logError(`a run was put in quarantine: ${error.message}`).pipe(
      Effect.annotateLogs({ run_id: error.run_id, reason: error.reason, seq: error.seq })
    )
  )

/** Logs that the record of a question was missing, which only a change of the database from outside can cause. */
export const announceLostRecord = ({ id, run_id }: Approval): Effect.Effect<void> =>
  Effect.annotateLogs(
    Effect.logError("the record of a question was lost; it is written again from the journal"),
    { approval: id, run_id }
  )

/** Runs whose journals do not fold: finds, shows and releases them. */
export class RunQuarantine extends Context.Service<
  RunQuarantine,
  {
    /** Runs of a tenant in quarantine, the one found first at the start; at most `limit` (1 to 500). */
    quarantined(query: QuarantineQuery): Effect.Effect<ReadonlyArray<QuarantinedRun>, JournalError>

    /**
     * The stored rows of any run of the tenant, unchanged, starting at `from`; at most `limit` (up to 10,000). Missing rows are
     * left out. A run of another tenant is not found. SQL stores that have a tenant role also enforce this with row-level
     * security.
     */
    raw(
      tenant: Tenant,
      run: RunId,
      from: number,
      limit: number
    ): Effect.Effect<RawPage, RunNotFound | JournalError>

    /**
     * Folds a run in quarantine again. If it folds, it leaves quarantine and continues, and listeners of `onAmended` are woken;
     * otherwise the quarantine mark is updated with the place of the failure. A run that is not in quarantine stays as it is.
     */
    liftQuarantine(
      run: RunId,
      tenant: Tenant
    ): Effect.Effect<void, RunNotFound | RunQuarantined | JournalError>

    /**
     * Checks at most `limit` (1 to 1,000) runs that are not over, in the order of their ids, starting after `after`. A run with a
     * missing event is put in quarantine. If the record of an open question is missing or not pending, it is written again as it
     * was asked. Returns the last run that it checked, or undefined if there are no more.
     */
    audit(limit: number, after?: RunId): Effect.Effect<RunId | undefined, JournalError>
  }
>()("troupe/services/RunQuarantine") {}
