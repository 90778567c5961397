/** Decoding of what clients of wires send, member by member, and how questions are put to them in words. */
import { Result, Schema } from "effect"
import type { ApprovalPayload } from "../approval/Approval.ts"
import { schemaIssues } from "../schema/SchemaIssues.ts"

/** The first member that is wrong, and what is wrong with it. */
export interface WrongMember {
  readonly path: ReadonlyArray<string | number>
  readonly message: string
}

export const wrongMember = (
  message: string,
  ...path: ReadonlyArray<string | number>
): Result.Result<never, WrongMember> => Result.fail({ path, message })

/** The decoded value; `at`: where it is in the body. */
export const decodedMember = <A, I>(
  schema: Schema.Codec<A, I>,
  given: unknown,
  ...at: ReadonlyArray<string | number>
): Result.Result<A, WrongMember> =>
  Result.mapError(Schema.decodeUnknownResult(schema)(given), (error) => {
    const [first] = schemaIssues(error.issue, given)
    return { path: [...at, ...(first?.path ?? [])], message: first?.message ?? "Wrong" }
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
