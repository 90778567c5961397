/**
 * How the process was started, as far as people may know it: numbers, words and switches. No keys, addresses or texts.
 */
import { Context } from "effect"

/** One setting in force. */
export interface StartSetting {
  /** Its place among the options, such as `retention.runs_ms`. */
  readonly name: string
  /** Its value; of times in ms. */
  readonly value: number | boolean | string
}

/** By default nothing is known of the start. */
export const StartSettings = Context.Reference<ReadonlyArray<StartSetting>>(
  "troupe/services/StartSettings",
  { defaultValue: () => [] }
)
