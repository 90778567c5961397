/**
 * The tools that an executor runs at all, by exact name. No list, and an empty one, allow every tool; the list is looked
 * at before anything is looked up or asked.
 */
import { ToolPolicyError } from "../error/ToolError.ts"

export type Allowlist = ReadonlyArray<string> | null | undefined

export const isAllowed = (allowed: Allowlist, name: string): boolean =>
  allowed === null || allowed === undefined || allowed.length === 0 || allowed.includes(name)

/** The refusal of one call; its kind is that of a tool which is not there. */
export const notAllowed = (name: string): ToolPolicyError =>
  new ToolPolicyError({
    kind: "not_found",
    reason: "NOT_ALLOWED",
    message: `tool '${name.slice(0, 64)}' is not allowed`
  })

/** Why a batch cannot run, with every name that is not allowed; null when it can. */
export const refusalOfBatch = (allowed: Allowlist, names: ReadonlyArray<string>): string | null => {
  const refused = names.filter((name) => !isAllowed(allowed, name))
  return refused.length === 0 ? null : `disallowed tools: ${refused.join(", ")}`
}
