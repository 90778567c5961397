/** How the reference platform finds what fits a use case: by the words that both have. */
import { Schema } from "effect"
import { Id } from "./Route.ts"
import type { Reply } from "./Wire.ts"
import { ok } from "./Wire.ts"

/** An action or an event of a third party. */
export interface Known {
  readonly provider: string
  readonly integration: string
  readonly name: string
  /** Absent = nobody has connected it. */
  readonly connection?: string
  readonly description: string
}

export const DiscoverBody = Schema.Struct({
  use_cases: Schema.Array(Schema.String.check(Schema.isMinLength(1))).check(
    Schema.isMinLength(1),
    Schema.isMaxLength(50)
  ),
  provider: Schema.optionalKey(Id),
  limit_alternatives: Schema.optionalKey(
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 100 }))
  )
})

const wordsOf = (text: string): ReadonlyArray<string> =>
  text.toLowerCase().match(/[a-z]{3,}/g) ?? []

/** How many words of a use case one has. */
const fits = (use_case: string, { description, integration, name }: Known): number => {
  const known = new Set(wordsOf(`${integration} ${name} ${description}`))
  return wordsOf(use_case).filter((word) => known.has(word)).length
}

/** `called` is what its names are called in the answer. */
export const discovered = (
  { limit_alternatives = 3, provider = "composio", use_cases }: typeof DiscoverBody.Type,
  all: ReadonlyArray<Known>,
  called: "action" | "event"
): Reply => {
  const results = use_cases.map((use_case) => {
    const matches = all
      .filter((each) => each.provider === provider && fits(use_case, each) > 0)
      .sort((a, b) => fits(use_case, b) - fits(use_case, a))
      .slice(0, limit_alternatives + 1)
      .map(({ connection, name, ...one }) => ({
        ...one,
        [called]: name,
        connected: connection !== undefined
      }))
    return { use_case, matches }
  })
  return ok({ count: results.length, results })
}
