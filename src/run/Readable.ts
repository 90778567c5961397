/**
 * Whether the journal could read what it is about to write. Asked of commands from outside, which are rare; the loop's own
 * events come of decoded values, and a run that takes a thousand steps does not decode each of them twice.
 */
import { Result, Schema } from "effect"
import { canonical } from "../Canonical.ts"
import { RunEvent } from "./RunEvent.ts"

const decode = Schema.decodeUnknownResult(RunEvent)

/** Do these events come back from their text through their codec? */
export const isReadable = (events: ReadonlyArray<unknown>): boolean =>
  events.every((event) =>
    Result.isSuccess(
      Result.flatMap(
        Result.try((): unknown => JSON.parse(canonical(event))),
        decode
      )
    )
  )
