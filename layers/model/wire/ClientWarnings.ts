/**
 * Logs the warnings of a provider's client, such as an option that it drops for this model: the client continues
 * without it, and whoever set the option must know.
 */
import type { SharedV4Warning } from "@ai-sdk/provider"
import { Effect } from "effect"
import { truncateUnits } from "../../../src/value/CutText.ts"
import { logText } from "../../../src/value/InvisibleText.ts"
import { ModelError } from "../../../services/ModelGateway.ts"

const known_max = 200

const textOf = (warning: SharedV4Warning): string => {
  switch (warning.type) {
    case "unsupported":
      return `"${warning.feature}" was left out${about(warning.details)}`
    case "compatibility":
      return `"${warning.feature}"${about(warning.details)}`
    case "deprecated":
      return `"${warning.setting}": ${warning.message}`
    case "other":
      return warning.message
  }
}

const about = (details: string | undefined): string => (details === undefined ? "" : `: ${details}`)

export type Warn = (
  model: string,
  warnings: ReadonlyArray<SharedV4Warning>
) => Effect.Effect<void, ModelError>

/** Passes warnings on, and fails if a client left out a tool, because the agent would not work as declared. */
export const refusingLeftTools =
  (warn: Warn): Warn =>
  (model, warnings) => {
    const left = warnings.find(
      (each) => each.type === "unsupported" && each.feature.includes("provider-defined tool")
    )
    return left === undefined
      ? warn(model, warnings)
      : new ModelError({
          kind: "configuration",
          message: truncateUnits(`the client of the model ${model} says: ${textOf(left)}`, 500)
        })
  }

/** Logs each warning about a model once; at most 200 of them. */
export const make = (): Warn => {
  const known = new Set<string>()
  return Effect.fnUntraced(function* (model: string, warnings: ReadonlyArray<SharedV4Warning>) {
    for (const warning of warnings) {
      const text = truncateUnits(`the client of the model ${model} says: ${textOf(warning)}`, 500)
      if (known.has(text) || known.size >= known_max) continue
      known.add(text)
      yield* Effect.logWarning(logText(text))
    }
  })
}
