/**
 * The error for an invalid declaration of a tool. It fails the start, so its text has to be enough to fix the declaration.
 */
import { Schema } from "effect"
import type { SchemaIssue } from "effect"
import { firstSchemaIssue } from "../schema/SchemaIssues.ts"
import { truncateUnits } from "../value/CutText.ts"
import { common_roles } from "../principal/Principal.ts"
import { unknownMember } from "../schema/PeerNames.ts"

/**
 * A tool's declaration is invalid. `message` names the tool, the field and the fix; `field` is a path such as
 * `retry.max_attempts`.
 */
export class MisdeclaredTool extends Schema.TaggedError<MisdeclaredTool>()("MisdeclaredTool", {
  /** The name of the tool. */
  tool: Schema.String,
  /** The member at fault, as a path such as `retry.max_attempts`. */
  field: Schema.String,
  /** What is wrong with it, and what to write instead. */
  message: Schema.String
}) {}

/** Adds a full stop to a sentence that does not end in `.`, `?` or `!`. */
const withStop = (sentence: string): string => (/[.?!]$/.test(sentence) ? sentence : `${sentence}.`)

/** `problem` and `fix` are sentences without their full stop. An empty `fix` is in the problem. */
export const misdeclared = (
  tool: string,
  field: string,
  problem: string,
  fix: string
): MisdeclaredTool => {
  // An untyped program may have left the name out.
  const name = typeof tool === "string" ? tool : "(without a name)"
  return new MisdeclaredTool({
    tool: name,
    field,
    message: `tool "${name}", field "${field}": ${[problem, fix].filter(Boolean).map(withStop).join(" ")}`
  })
}

const truth = "Write true or false, or leave it out"
const word = "Write 1 to 64 letters, digits, _ or -"

/** How each field is written, for an author who wrote it wrongly. */
const fixes: Readonly<Record<string, string>> = {
  namespace: `${word}, such as "shop"`,
  name: `${word}, such as "refund_order"`,
  version: 'Write a tag of letters, digits, . _ or -, such as "1" or "2026.4"',
  side_effects: "Write none, read, write or external",
  replay_policy: "Write must-stub, fail-loud or recorded-result",
  category: "Write read, suggest or mutate, or leave it out",
  produces: 'Write "proposal", or leave it out',
  group: "Write a lower-case name such as core, inspect or billing",
  permission: "Write allow, ask or deny, or a function that gives one of them for a call",
  rule_arguments: 'Write the names of 1 to 16 arguments, such as ["program", "args"]',
  needs_approval:
    "Write true beside no permission or beside ask, which it stands for, or leave it out",
  approval: "Write at-call or at-publication-gate",
  capabilities:
    'Write name or name:scope, such as "fs.read:/workspace/*", or a list of at most 32 of them',
  idempotency:
    'Write { key: "order-{order_id}", scope } with the scope run, conversation or tenant, and holds_ms from 1000 to 31622400000 beside the last two',
  cost_estimate: 'Write the amount as a text, such as "0.10"',
  examples:
    "Write a list of at most 16 { input, output, note } with the arguments as the model gives them",
  rate_limit:
    "Write { calls_max, window_ms }, whole numbers from 1 to 1000000 and from 1 to 86400000",
  circuit: "Write { failures_max, open_ms }, whole numbers from 1 to 1000 and from 1 to 3600000",
  concurrency_max: "Write a whole number from 1 to 10000",
  retry:
    "Write { max_attempts, backoff_initial_ms, backoff_max_ms, retry_on_kinds }; what is left out has a default",
  timeout_ms: 'Write whole milliseconds, from 1 to 3600000, or a text such as "5 minutes"',
  arguments_bytes_max: "Write whole bytes, from 1 to 8000000",
  result_bytes_max: "Write whole bytes, from 1 to 64000000",
  approval_expires_ms: 'Write whole milliseconds above 0, or a text such as "24 hours"',
  tags: "Write a list of at most 32 words without spaces, each of at most 64 characters",
  input_schema: "Write JSON Schema as a plain JSON object",
  output_schema: "Write JSON Schema as a plain JSON object",
  description: "Write a text of at most 4000 characters",
  effect_description: "Write a text of at most 1000 characters",
  approvers: `Write a list of roles: ${common_roles.join(", ")}, or names of those that the service declares`,
  idempotent: truth,
  deprecated: truth,
  transactional: truth,
  stop_loop: truth,
  text_result: truth
}

/** An author's name of a field that has Stargraph's name on the wire. */
const fieldNameOf = (key: string): string => (key === "permissions" ? "capabilities" : key)

/** The error for the first issue that the schema has with a declaration. */
export const misdeclaredByIssue = (
  tool: string,
  issue: SchemaIssue.Issue,
  known: Iterable<string>
): MisdeclaredTool => {
  const { message = "it does not fit", path: keys } = firstSchemaIssue(issue)
  const path = keys.map(fieldNameOf)
  const [field = "spec"] = path
  const names = [...known]
  return names.includes(field)
    ? misdeclared(
        tool,
        path.join("."),
        truncateUnits(message, 300),
        fixes[field] ?? "Write what its type says, or leave it out"
      )
    : misdeclared(tool, path.join("."), unknownMember(field, names), "")
}

/** The error for the first option that is unknown; undefined = all options are known. */
export const strayOption = <Options extends object>(
  tool: string,
  options: Options,
  known: Readonly<Record<keyof Options, true>>
): MisdeclaredTool | undefined => {
  const stray = Object.keys(options).find((name) => !Object.hasOwn(known, name))
  return stray === undefined
    ? undefined
    : misdeclared(tool, stray, unknownMember(stray, Object.keys(known)), "")
}
