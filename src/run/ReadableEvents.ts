/**
 * Decodes events from their stored JSON, and checks that those of a command from outside come back from it. The loop's own
 * events are not checked: they are made of decoded values, and commands are rare (bench row `step`).
 */
import { Result, Schema } from "effect"
import { canonical } from "../value/Canonical.ts"
import { RunEvent } from "./RunEvent.ts"

const tagOf = (event: unknown): unknown =>
  typeof event === "object" && event !== null && "_tag" in event ? event._tag : undefined

// One decoder for each kind of event, compiled once and found by its tag: a resume decodes every event of a run, and decoding a
// union looks for the member first (bench row `answers`). Events of this version need no defaults filled in, so these decoders
// skip them: for a run's first event, filling in defaults takes most of the time.
const complete = new Map<unknown, (event: unknown) => Result.Result<RunEvent, Schema.SchemaError>>(
  RunEvent.members.map((member) => [
    member.fields._tag.ast.literal,
    Schema.decodeUnknownResult(Schema.toType<Schema.Schema<RunEvent>>(member))
  ])
)
const older = Schema.decodeUnknownResult(RunEvent)

/** Decodes the JSON value of a stored event, of this version or of an earlier one. */
export const decodeEvent = (event: unknown): Result.Result<RunEvent, Schema.SchemaError> => {
  const given = complete.get(tagOf(event))?.(event)
  return given !== undefined && Result.isSuccess(given) ? given : older(event)
}

/** Whether the JSON value has a tag that no event of this version has. */
export const isUnknownEvent = (event: unknown): boolean => {
  const tag = tagOf(event)
  return typeof tag === "string" && !complete.has(tag)
}

/** Do these events come back from their text? */
export const areReadable = (events: ReadonlyArray<unknown>): boolean =>
  events.every((event) =>
    Result.isSuccess(
      Result.flatMap(
        Result.try((): unknown => JSON.parse(canonical(event))),
        decodeEvent
      )
    )
  )
