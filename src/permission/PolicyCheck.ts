/**
 * Finds mistakes in a policy. A rule that no tool could ever match fails the start. A rule that matches no tool of this runtime
 * is only logged, because one policy may serve several runtimes.
 */
import { Effect, Schema } from "effect"
import type { GovernedTool } from "../tool/GovernedTool.ts"
import type { DeclaredRoles } from "../principal/Rights.ts"
import { unknownRole } from "../principal/Rights.ts"
import { suggestNames } from "../value/Nearest.ts"
import type { Permission } from "../tool/SideEffects.ts"
import { isUrlLike, parseUrlScope } from "../network/UrlScope.ts"
import { parsePattern } from "./PermissionRule.ts"
import type { Policy, Subject } from "./Policy.ts"

/**
 * A policy contains a mistake. `field` is a path such as `rules.2.pattern`; `message` quotes the wrong value and says the fix.
 */
export class MisdeclaredPolicy extends Schema.TaggedError<MisdeclaredPolicy>()(
  "MisdeclaredPolicy",
  {
    /** The member at fault, as a path such as `rules.2.pattern`. */
    field: Schema.String,
    /** What is wrong with it, and what to write instead. */
    message: Schema.String
  }
) {}

type Wrong = readonly [problem: string, fix: string]

const toolName = /^[A-Za-z0-9_-]{1,64}(?:\.[A-Za-z0-9_-]{1,64}@[A-Za-z0-9._-]{1,64})?$/

const wrongName = (name: string): Wrong | undefined =>
  toolName.test(name)
    ? undefined
    : [
        /^[A-Za-z0-9_.@*-]*\*[A-Za-z0-9_.@*-]*$/.test(name)
          ? "a tool's name has no wildcards"
          : `${JSON.stringify(name)} is no tool's name or key`,
        'Write a name such as "refund", or a key such as "shop.refund@1"'
      ]

/** Finds a word that looks like a URL but cannot be parsed. Such a rule would deny everything and allow nothing. */
const wrongUrl = (tool: string, begin: string): Wrong | undefined => {
  const bad = begin
    .split(/\s+/)
    .find((word) => isUrlLike(word) && parseUrlScope(word) === undefined)
  return bad === undefined
    ? undefined
    : [
        `${JSON.stringify(bad)} is no URL that can be compared`,
        `Write ${JSON.stringify(`${tool}(https://api.example.com:*)`)}, perhaps with a path, or https://*.example.com for those below it`
      ]
}

const wrongPattern = (pattern: string): Wrong | undefined => {
  const open = pattern.indexOf("(")
  if (open < 0) return wrongName(pattern)
  const tool = pattern.slice(0, open)
  const wrong = wrongName(tool)
  if (wrong !== undefined) return wrong
  const every = `${JSON.stringify(tool)} for every call`
  const rest = pattern.slice(open + 1)
  const begin = rest.replace(/\)$/, "").replace(/:?\*?$/, "")
  if (begin.trim() === "") return ["it says nothing of how a call begins", `Write ${every}`]
  if (rest.endsWith(":*)")) return wrongUrl(tool, begin)
  const fix = (text: string) => `Write ${JSON.stringify(`${tool}(${text}:*)`)}, or ${every}`
  if (!rest.endsWith(")")) return ["its parenthesis is not closed", fix(begin)]
  const named = /^\w+\s*=\s*(\S.*)$/.exec(begin)?.[1]
  return named === undefined
    ? ['what is in the parentheses does not end in ":*"', fix(begin)]
    : ["it names an argument, where only the beginning of a call can stand", fix(named)]
}

const misdeclared = (field: string, given: string, [problem, fix]: Wrong): MisdeclaredPolicy =>
  new MisdeclaredPolicy({
    field,
    message: `policy, ${field} ${JSON.stringify(given)}: ${problem}. ${fix}.`
  })

/** Fails with the first rule or name in `approval_required` that could not match any tool. */
export const checkPolicy = (policy: Policy): Effect.Effect<void, MisdeclaredPolicy> => {
  for (const [index, { pattern }] of policy.rules.entries()) {
    const wrong = wrongPattern(pattern)
    if (wrong !== undefined)
      return Effect.fail(misdeclared(`rules.${index}.pattern`, pattern, wrong))
  }
  for (const [index, name] of policy.approval_required.entries()) {
    const wrong = wrongName(name)
    if (wrong !== undefined)
      return Effect.fail(misdeclared(`approval_required.${index}`, name, wrong))
  }
  return Effect.void
}

/** Fails with the first role of a rule that there is not where these are declared. */
export const checkPolicyRoles = (
  { rules }: Policy,
  declared: DeclaredRoles
): Effect.Effect<void, MisdeclaredPolicy> => {
  for (const [index, rule] of rules.entries()) {
    for (const name of ["roles", "unless_roles"] as const) {
      const [at, problem] = unknownRole(rule[name] ?? [], declared) ?? []
      if (at === undefined || problem === undefined) continue
      const field = `rules.${index}.${name}.${at}`
      return Effect.fail(new MisdeclaredPolicy({ field, message: `policy, ${field}: ${problem}` }))
    }
  }
  return Effect.void
}

type Tool = Pick<GovernedTool, "key" | "provider" | "spec">

const typeOf = (schema: unknown): unknown =>
  typeof schema === "object" && schema !== null && "type" in schema ? schema.type : undefined

/** Why a prefix cannot match any call of this tool; undefined if it may. */
const unmatchable = (prefix: string, { spec }: Tool): string | undefined => {
  const properties = spec.input_schema["properties"]
  if (typeof properties !== "object" || properties === null) return undefined
  const named = /^(\w+)\s*=/.exec(prefix)?.[1]
  if (named !== undefined && Object.hasOwn(properties, named)) {
    return `it names the argument "${named}", where only the beginning of a call can stand.`
  }
  if (spec.rule_arguments !== undefined) return undefined
  const types = Object.values(properties).map(typeOf)
  const fix = "Declare the tool with the rule_arguments that rules are to read."
  if (types.length > 0 && types.every((type) => typeof type === "string" && type !== "string")) {
    return `a rule reads a text, and the tool takes none. ${fix}`
  }
  return types.includes("array") && /\S\s+\S/.test(prefix)
    ? `a rule reads the tool's first text alone, and never its lists. ${fix}`
    : undefined
}

/** An entry of a policy that has no effect. If its permission is `deny`, somebody may rely on it. */
export interface IneffectiveEntry {
  readonly permission: Permission
  readonly message: string
}

const unknownName = (name: string, tools: ReadonlyArray<Tool>): string =>
  `no tool here is ${JSON.stringify(name)}.${suggestNames(
    name,
    tools.map(({ key, spec }) => (name.includes("@") ? key : spec.name))
  )}`

/**
 * Why a prefix cannot match a use of a tool that a model's provider runs; undefined if it may match, or if the rule applies to
 * all uses.
 */
const unmatchableBefore = (
  prefix: string | undefined,
  permission: Permission,
  { name }: Subject
): string | undefined =>
  prefix === undefined || permission !== "allow" || name === "mcp"
    ? undefined
    : `what a use of the provider's ${name} will be about is not known before it. Allow all of its uses, or none.`

/**
 * The entries of a policy that have no effect. `tools` are all tools of the runtime, and `provided` are the tools that the
 * providers of its models run.
 */
export const ineffectiveEntries = (
  policy: Policy,
  tools: ReadonlyArray<Tool>,
  provided: ReadonlyArray<Subject> = []
): ReadonlyArray<IneffectiveEntry> => {
  const known = new Map<string, Array<Tool>>()
  for (const tool of tools) {
    for (const name of [tool.spec.name, tool.key])
      known.set(name, [...(known.get(name) ?? []), tool])
  }
  const providers = [
    ...new Set([
      ...tools.flatMap(({ provider }) => provider ?? []),
      ...provided.flatMap(({ server }) => server ?? [])
    ])
  ]
  const providedAs = (named: string) =>
    provided.find(({ key, name }) => name === named || key === named)
  const found: Array<IneffectiveEntry> = []
  const report = (what: string, permission: Permission, why: string) =>
    found.push({
      permission,
      message: `The policy's ${what} (${permission}) has no effect: ${why}`
    })
  for (const { pattern, permission } of policy.rules) {
    const { prefix, tool } = parsePattern(pattern)
    const named = known.get(tool)
    const subject = providedAs(tool)
    if (named === undefined && subject !== undefined) {
      const reason = unmatchableBefore(prefix, permission, subject)
      if (reason !== undefined) report(`rule ${JSON.stringify(pattern)}`, permission, reason)
      continue
    }
    if (named === undefined)
      report(`rule ${JSON.stringify(pattern)}`, permission, unknownName(tool, tools))
    if (named === undefined || prefix === undefined) continue
    const reasons = named.map((each) => unmatchable(prefix, each))
    // Where several tools have the name, the rule may be meant for the one whose calls it can match.
    const reason = reasons.includes(undefined) ? undefined : reasons[0]
    if (reason !== undefined) report(`rule ${JSON.stringify(pattern)}`, permission, reason)
  }
  for (const name of policy.approval_required) {
    if (!known.has(name) && providedAs(name) === undefined)
      report(`approval_required ${JSON.stringify(name)}`, "ask", unknownName(name, tools))
  }
  for (const [name, permission] of Object.entries(policy.servers)) {
    if (providers.includes(name)) continue
    const why = `it brings no tool here.${suggestNames(name, providers)}`
    report(`server ${JSON.stringify(name)}`, permission, why)
  }
  return found
}
