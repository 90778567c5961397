/**
 * The exact names of the tools that an executor may run. No list and an empty list both allow every tool. The list is checked
 * before a tool is resolved or a person is asked.
 */
import { truncateUnits } from "../value/CutText.ts"
import { ToolPolicyError } from "../error/ToolError.ts"

export type Allowlist = ReadonlyArray<string> | null | undefined

export const isAllowed = (allowed: Allowlist, name: string): boolean =>
  allowed === null || allowed === undefined || allowed.length === 0 || allowed.includes(name)

/** The refusal of one call, of the same kind as that of an unknown tool. */
export const notAllowed = (name: string): ToolPolicyError =>
  new ToolPolicyError({
    kind: "not_found",
    reason: "NOT_ALLOWED",
    message: `tool '${truncateUnits(name, 64)}' is not allowed`
  })

/** The reason why a batch cannot run, which lists every name that is not allowed; null = it can run. */
export const refusalOfBatch = (allowed: Allowlist, names: ReadonlyArray<string>): string | null => {
  const refused = names.filter((name) => !isAllowed(allowed, name))
  return refused.length === 0 ? null : `disallowed tools: ${refused.join(", ")}`
}
