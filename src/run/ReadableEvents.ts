/**
 * Whether a journal can read what it is about to write. Checked for commands from outside, which are rare; the loop's own
 * events are made of decoded values, and decoding each of them again would cost every step (bench row `step`).
 */
import { Result, Schema } from "effect"
import { canonical } from "../Canonical.ts"
import { RunEvent } from "./RunEvent.ts"

const decode = Schema.decodeUnknownResult(Schema.fromJsonString(RunEvent))

/** Do these events come back from their text through their codec? */
export const areReadable = (events: ReadonlyArray<unknown>): boolean =>
  events.every((event) =>
    Result.isSuccess(
      Result.flatMap(
        Result.try(() => canonical(event)),
        decode
      )
    )
  )
