/**
 * Rules of a policy: `refund` speaks of every call of that tool, `run(npm test:*)` of those whose first text argument
 * begins so. Among the rules that match the strictest wins, whatever their order.
 */
import { Schema } from "effect"
import { Permission } from "../tool/SideEffects.ts"

/** `pattern`: a tool's plain name or key, and perhaps `(prefix:*)` after it. */
export const PermissionRule = Schema.Struct({
  pattern: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(512)),
  permission: Permission
})
export interface PermissionRule extends Schema.Schema.Type<typeof PermissionRule> {}

interface Pattern {
  readonly tool: string
  /** Undefined = every call. */
  readonly prefix: string | undefined
}

const patternOf = (text: string): Pattern => {
  const open = text.indexOf("(")
  return open > 0 && text.endsWith(":*)")
    ? { tool: text.slice(0, open), prefix: text.slice(open + 1, -3) }
    : { tool: text, prefix: undefined }
}

/**
 * The first text among the arguments, in the order in which the tool declares them: a model that writes another one in
 * front cannot choose what a rule reads. Undefined = nothing a rule could read.
 */
const firstText = (args: unknown, order: ReadonlyArray<string>): string | undefined => {
  if (typeof args === "string") return args
  if (typeof args !== "object" || args === null) return undefined
  const given = args as Readonly<Record<string, unknown>>
  for (const name of [...order, ...Object.keys(given)]) {
    const value = Object.hasOwn(given, name) ? given[name] : undefined
    if (typeof value === "string") return value
  }
  return undefined
}

const rank: Readonly<Record<Permission, number>> = { allow: 0, ask: 1, deny: 2 }

const stricter = (a: Permission | undefined, b: Permission): Permission =>
  a === undefined || rank[b] > rank[a] ? b : a

/** What the rules say of one tool. */
export interface ToolRules {
  /** Do the arguments matter? */
  readonly reads_arguments: boolean
  /** Undefined = no rule speaks of this call. */
  readonly of: (args: unknown) => Permission | undefined
}

/** `names`: the tool's plain name and its key. `order`: the names of its arguments, as it declares them. */
export const rulesFor = (
  rules: ReadonlyArray<PermissionRule>,
  names: ReadonlyArray<string>,
  order: ReadonlyArray<string>
): ToolRules => {
  let always: Permission | undefined
  const prefixed: Array<readonly [prefix: string, permission: Permission]> = []
  for (const { pattern, permission } of rules) {
    const { prefix, tool } = patternOf(pattern)
    if (!names.includes(tool)) continue
    if (prefix === undefined) always = stricter(always, permission)
    else prefixed.push([prefix, permission])
  }
  return {
    reads_arguments: prefixed.length > 0,
    of: (args) => {
      if (prefixed.length === 0) return always
      const text = firstText(args, order)
      if (text === undefined) return always
      let found = always
      for (const [prefix, permission] of prefixed) {
        if (text.startsWith(prefix)) found = stricter(found, permission)
      }
      return found
    }
  }
}
