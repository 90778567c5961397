/**
 * A recorded run as a test of an application, run as a promise: a test that awaits an Effect runs nothing, and passes.
 */
import { Effect } from "effect"
import type { JournalReport } from "../../runtime/replay/ReplayReport.ts"
import * as Replay from "./Replay.ts"

/**
 * Replays the text of a fixture, which `npx troupe replay RUN --to-test FILE` writes. Rejects with `FixtureDiverged` at the first
 * step that has changed; rejects too if the text is not a fixture. In Effect it is `runFixture` of `troupe/replay`.
 */
export const runFixture = (text: string): Promise<JournalReport> =>
  Effect.runPromise(Replay.runFixture(text))
