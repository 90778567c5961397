/**
 * A place in the stream of a run, as a text that a client sends back to go on behind it: the run, how many of its events were
 * given, and how much of the turn in progress, with a hash of that text.
 */
import { Effect } from "effect"
import { InvalidInput } from "../../../src/schema/InvalidInput.ts"
import type { GivenText } from "../../../src/run/TurnText.ts"
import type { RunId } from "../../../src/value/Ids.ts"

/** `events`: how many events of the run lie behind. */
export interface StreamPosition {
  readonly events: number
  readonly text?: GivenText
}

export const cursorOf = (run: string, { events, text }: StreamPosition): string =>
  text === undefined
    ? `${run}.${events}`
    : `${run}.${events}.${text.step}.${text.length}.${text.hash.toString(36)}`

const number = "(0|[1-9]\\d{0,8})"
const written = new RegExp(`^${number}(?:\\.${number}\\.${number}\\.([0-9a-z]{1,7}))?$`)

const wrong = (reason: string) => Effect.fail(new InvalidInput({ field: "message.after", reason }))

/** The position of a cursor; absent = the start. Fails for what is no cursor of this run. */
export const readCursor = (
  run: RunId,
  cursor: unknown
): Effect.Effect<StreamPosition, InvalidInput> => {
  if (cursor === undefined) return Effect.succeed({ events: 0 })
  const expected = "Expected the `cursor` of a part of this run's stream"
  if (typeof cursor !== "string" || cursor.length > 100) return wrong(expected)
  if (!cursor.startsWith(`${run}.`)) return wrong(`${expected}; this one is of another run`)
  const [, events, step, length, hash] = written.exec(cursor.slice(run.length + 1)) ?? []
  if (events === undefined) return wrong(expected)
  if (step === undefined || length === undefined || hash === undefined) {
    return Effect.succeed({ events: Number(events) })
  }
  const text = { step: Number(step), length: Number(length), hash: Number.parseInt(hash, 36) }
  return Effect.succeed({ events: Number(events), text })
}
