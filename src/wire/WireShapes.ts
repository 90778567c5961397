/** Decoding of what clients of wires send, member by member. */
import { Result, Schema } from "effect"
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
    const [first] = schemaIssues(error.issue)
    return { path: [...at, ...(first?.path ?? [])], message: first?.message ?? "Wrong" }
  })
