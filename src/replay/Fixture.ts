/**
 * A recorded run as a file that a test can replay: its journal, and for each step the digest of the model's input. The names are
 * Stargraph's where it has them; a replay is matched by `node_name` and `step_id`.
 */
import { Schema } from "effect"
import { RunId } from "../value/Ids.ts"
import { RunEvent } from "../run/RunEvent.ts"
import type { JournalEntry } from "../run/RunEvent.ts"
import type { Divergence } from "./Divergence.ts"

const Hash = Schema.String.check(Schema.isPattern(/^[0-9a-f]{64}$/))

/** One turn. Digests are SHA-256 of canonical JSON, in lower-case hex; `wall_clock_ts` is in ms since 1970. */
export const RecordedStep = Schema.Struct({
  /** `frame/step`. */
  step_id: Schema.String,
  /** `agent:frame`. */
  node_name: Schema.String,
  model_id: Schema.NullOr(Schema.String),
  /** A chained digest over everything that the run showed its model before this turn. */
  input_hash: Hash,
  /** The digest of the turn. */
  output_hash: Hash,
  calls: Schema.Array(Schema.Struct({ tool_name: Schema.String, tool_args_hash: Hash })),
  wall_clock_ts: Schema.Int
})
export interface RecordedStep extends Schema.Schema.Type<typeof RecordedStep> {}

/** The content of a file that `--to-test` writes, with at most 10,000 entries. */
export const RunFixture = Schema.Struct({
  troupe_fixture: Schema.Literal(1),
  run: RunId,
  entries: Schema.Array(Schema.Struct({ seq: Schema.Int, at: Schema.Int, event: RunEvent })).check(
    Schema.isMinLength(1),
    Schema.isMaxLength(10_000)
  ),
  steps: Schema.Array(RecordedStep)
})
export interface RunFixture extends Schema.Schema.Type<typeof RunFixture> {}

/** Decodes the text of a fixture. Fails with what is wrong with it. */
export const decodeFixture = Schema.decodeUnknownEffect(Schema.fromJsonString(RunFixture), {
  onExcessProperty: "error"
})

/** The text of a fixture, indented so that a diff of it is readable. */
export const fixtureText = (fixture: RunFixture): string => `${JSON.stringify(fixture, null, 2)}\n`

const stepDiverged = (
  step: RecordedStep,
  entries: ReadonlyArray<JournalEntry>,
  what: string,
  expected: string | null,
  got: string | null
): Divergence => ({
  seq: entries.find(
    ({ event }) => event._tag === "ModelTurned" && `${event.frame}/${event.step}` === step.step_id
  )?.seq,
  step: step.step_id,
  call: undefined,
  what,
  expected,
  got
})

/** The first step whose input or turn differs from the recorded one. */
export const firstOddStep = (
  { entries, steps }: Pick<RunFixture, "entries" | "steps">,
  replayed: ReadonlyArray<RecordedStep>
): Divergence | undefined => {
  const keyOf = ({ node_name, step_id }: RecordedStep): string => `${node_name} ${step_id}`
  const found = new Map(replayed.map((step) => [keyOf(step), step]))
  for (const step of steps) {
    const now = found.get(keyOf(step))
    if (now === undefined) {
      const what = `the replay has no step ${step.step_id} of ${step.node_name}`
      return stepDiverged(step, entries, what, step.input_hash, null)
    }
    if (now.input_hash !== step.input_hash) {
      const what = `what the model of ${step.node_name} was given differs`
      return stepDiverged(step, entries, what, step.input_hash, now.input_hash)
    }
    if (now.output_hash !== step.output_hash) {
      const what = `what the model of ${step.node_name} said differs`
      return stepDiverged(step, entries, what, step.output_hash, now.output_hash)
    }
  }
  if (replayed.length > steps.length) {
    const known = new Set(steps.map(keyOf))
    const more = replayed.find((step) => !known.has(keyOf(step))) ?? replayed.at(-1)
    if (more === undefined) return undefined
    const what = `step ${more.step_id} of ${more.node_name} was not recorded`
    return stepDiverged(more, entries, what, null, more.input_hash)
  }
  return undefined
}
