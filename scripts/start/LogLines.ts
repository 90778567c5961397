/**
 * The log of a service: one line for each entry, on stderr, with its time, and without control characters.
 */
import { Logger } from "effect"
import type { Layer } from "effect"
import { logText } from "../../src/LogText.ts"

export const layer: Layer.Layer<never> = Logger.layer([
  Logger.withConsoleError(Logger.map(Logger.formatLogFmt, logText))
])
