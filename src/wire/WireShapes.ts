/** Decoding of what clients of wires send, member by member, and how questions are put to them in words. */
import { Result, Schema } from "effect"
import type { ApprovalPayload } from "../approval/Approval.ts"
import { schemaIssues } from "../schema/SchemaIssues.ts"

/** The first member that is wrong, and what is wrong with it. */
export interface WrongMember {
  readonly path: ReadonlyArray<string | number>
  readonly message: string
  /** The protocol has such a member, and no agent takes it. Absent = it is taken. */
  readonly isUntaken?: true
}

export const wrongMember = (
  message: string,
  ...path: ReadonlyArray<string | number>
): Result.Result<never, WrongMember> => Result.fail({ path, message })

/** Sentences about members, by their names. */
type Words = Readonly<Record<string, string>>

/**
 * Makes a decoder for what clients of a protocol send. `words`: what is said of a member that does not fit, or of what is in it, where
 * the schema's own words would be those of a program; `untaken`: the same of members that no agent takes. `at`: where the value is.
 */
export const memberDecoder =
  (words: Words, untaken: Words = {}) =>
  <A, I>(
    schema: Schema.Codec<A, I>,
    given: unknown,
    ...at: ReadonlyArray<string | number>
  ): Result.Result<A, WrongMember> =>
    Result.mapError(Schema.decodeUnknownResult(schema)(given), (error): WrongMember => {
      const [first] = schemaIssues(error.issue, given)
      const path = first?.path ?? []
      const named = (of: Words) => of[path.findLast((each) => Object.hasOwn(of, each)) ?? ""]
      const why = named(untaken)
      const message = why ?? named(words) ?? first?.message ?? "Wrong"
      return { path: [...at, ...path], message, ...(why && { isUntaken: true }) }
    })

/** What is asked, in one sentence. */
export const askedText = ({
  args_summary,
  effect_description,
  tool_name
}: ApprovalPayload): string => {
  const what = effect_description.replace(/\.$/, "") || tool_name
  return args_summary === "" ? what : `${what}: ${args_summary}`
}

/** Of a call whose outcome is unknown. */
export const unsettled = "An operator has to say what a call has done."
