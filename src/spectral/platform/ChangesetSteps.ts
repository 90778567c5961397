/**
 * The steps of a change set: it is proposed, then approved or rejected, and applied after its approval. Each step is taken at
 * most once.
 */
import { Result } from "effect"
import type { ChangesetRecord } from "./contracts/Changeset.ts"
import { ChangeRefused } from "./contracts/RecordErrors.ts"

type Step = Result.Result<ChangesetRecord, ChangeRefused>

const refused = ({ changeset, state }: ChangesetRecord, rest: string): Step =>
  Result.fail(
    new ChangeRefused({
      message: `the change set ${changeset.changeset_id} is ${state.status}; ${rest}`
    })
  )

/** The change set after its review; fails with the reason why it cannot be reviewed. */
export const reviewedChangeset = (
  record: ChangesetRecord,
  {
    by,
    decision,
    note
  }: {
    readonly decision: "approved" | "rejected"
    readonly note: string
    readonly by: string
  },
  at: number
): Step =>
  record.state.status === "proposed"
    ? Result.succeed({
        ...record,
        state: { ...record.state, status: decision, reviewed: { by, at, note } }
      })
    : refused(record, "it is reviewed once")

/** The change set after it was applied; fails with the reason why it cannot be. */
export const appliedChangeset = (record: ChangesetRecord, by: string, at: number): Step =>
  record.state.status === "approved"
    ? Result.succeed({
        ...record,
        state: { ...record.state, status: "applied", applied: { by, at } }
      })
    : refused(record, "only an approved one is applied, and once")
