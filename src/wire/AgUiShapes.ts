/** Events of AG-UI, and what of them says the same in each run. */
import { Result } from "effect"
import { failureTextForUser } from "../error/ToolError.ts"
import type { Outcome } from "../run/RunEvent.ts"

/** An event of the stream, in the protocol's form. */
export type AgUiFrame = { readonly type: string } & Readonly<Record<string, unknown>>

export const agUiText = (frame: AgUiFrame): string => `data: ${JSON.stringify(frame)}\n\n`

/** What a person may answer. Customers, and questions that are about no call, have no arguments to edit. */
export const responseSchema = (hasArguments: boolean) => ({
  type: "object",
  properties: {
    approved: { type: "boolean" },
    ...(hasArguments ? { editedArgs: { type: "object" } } : undefined),
    reason: { type: "string", maxLength: 4_000 }
  },
  required: ["approved"],
  additionalProperties: false
})

/** Of something that was shown and does not count: no turn has it. */
export const isVoid = { metadata: { troupe: { void: true } } } as const

const contentOf = (json: string): string => {
  const value = Result.getOrUndefined(Result.try((): unknown => JSON.parse(json)))
  return typeof value === "string" ? value : json
}

/** The result of a call as a client reads it, and how it ended where it has no result. */
export const resultOf = (outcome: Outcome): readonly [text: string, how?: string] => {
  switch (outcome._tag) {
    case "Value":
      return [contentOf(outcome.json)]
    case "Failed":
      return [failureTextForUser(outcome.error), "failed"]
    case "Denied":
    case "Revised":
      return ["It was not approved.", "denied"]
    case "Expired":
      return ["Nobody decided in time.", "expired"]
    case "Cancelled":
      return ["It was cancelled.", "cancelled"]
    case "Unknown":
      return ["Nobody knows whether it was done.", "unknown"]
  }
}
