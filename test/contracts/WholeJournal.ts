/** The ports of the journal as one value, for tests that watch or change what several of them do. */
import { Context, Effect } from "effect"
import { RunJournal } from "../../services/RunJournal.ts"
import { RunNews } from "../../services/RunNews.ts"
import { RunOwnership } from "../../services/RunOwnership.ts"
import { RunQuarantine } from "../../services/RunQuarantine.ts"
import { RunReader } from "../../services/RunReader.ts"
import type { RunPorts } from "../../services/Stores.ts"

export type WholeJournal = RunJournal["Service"] &
  RunNews["Service"] &
  RunOwnership["Service"] &
  RunQuarantine["Service"] &
  RunReader["Service"]

export const from = (context: Context.Context<RunPorts>): WholeJournal => ({
  ...Context.get(context, RunJournal),
  ...Context.get(context, RunNews),
  ...Context.get(context, RunOwnership),
  ...Context.get(context, RunQuarantine),
  ...Context.get(context, RunReader)
})

export const journal: Effect.Effect<WholeJournal, never, RunPorts> = Effect.map(
  Effect.context<RunPorts>(),
  from
)

/** Each port answered by this one. */
export const context = (journal: WholeJournal): Context.Context<RunPorts> =>
  Context.make(RunJournal, journal).pipe(
    Context.add(RunNews, journal),
    Context.add(RunOwnership, journal),
    Context.add(RunQuarantine, journal),
    Context.add(RunReader, journal)
  )
