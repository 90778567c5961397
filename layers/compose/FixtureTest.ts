/**
 * A recorded run as a test of an application, behind a promise: an Effect that a test awaits would run nothing, and pass.
 */
import { Effect } from "effect"
import type { JournalReport } from "../runtime/replay/ReplayReport.ts"
import * as Replay from "./Replay.ts"

/**
 * Replays the text of a fixture, which `npx troupe replay RUN --to-test FILE` writes. Rejects with `FixtureDiverged` at the first
 * step that is no longer as it was, and where the text is no fixture. In Effect it is `runFixture` of `troupe/replay`.
 */
export const runFixture = (text: string): Promise<JournalReport> =>
  Effect.runPromise(Replay.runFixture(text))
