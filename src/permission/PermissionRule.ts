/**
 * Rules of a policy: `refund` speaks of every call of that tool, `run(npm test:*)` of those whose first text argument
 * begins so, and a rule may speak of some senders only. Among the rules that match the strictest wins, whatever their order.
 */
import { Schema } from "effect"
import { hasRole, Roles } from "../Principal.ts"
import { Permission } from "../tool/SideEffects.ts"

const SomeRoles = Roles.check(Schema.isMinLength(1))

/**
 * `pattern`: a tool's plain name or key, and perhaps `(prefix:*)` after it. `roles`: only for whoever has one of them;
 * `unless_roles`: only for whoever has none of them. Roles are those of the principal that sent the run's message, when it
 * did; an admin has every one but `customer`. Where they are not known, as in a worker of a queue, there are none.
 */
export const PermissionRule = Schema.Struct({
  pattern: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(512)),
  permission: Permission,
  roles: Schema.optionalKey(SomeRoles),
  unless_roles: Schema.optionalKey(SomeRoles)
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

/** Does the rule speak of some senders only? */
export const isByRole = ({ roles, unless_roles }: PermissionRule): boolean =>
  roles !== undefined || unless_roles !== undefined

const isFor = (rule: PermissionRule, roles: Roles | undefined): boolean =>
  (rule.roles === undefined || hasRole(roles, rule.roles)) &&
  (rule.unless_roles === undefined || !hasRole(roles, rule.unless_roles))

/** What the rules say of one tool. */
export interface ToolRules {
  /** Is the answer another for another call: by its arguments, or by who sent the message? */
  readonly reads_call: boolean
  /** Undefined = no rule speaks of this call. */
  readonly of: (args: unknown, roles: Roles | undefined) => Permission | undefined
}

interface Conditional {
  /** Undefined = every call. */
  readonly prefix: string | undefined
  readonly rule: PermissionRule
}

/** `names`: the tool's plain name and its key. `order`: the names of its arguments, as it declares them. */
export const rulesFor = (
  rules: ReadonlyArray<PermissionRule>,
  names: ReadonlyArray<string>,
  order: ReadonlyArray<string>
): ToolRules => {
  let always: Permission | undefined
  const conditional: Array<Conditional> = []
  for (const rule of rules) {
    const { prefix, tool } = patternOf(rule.pattern)
    if (!names.includes(tool)) continue
    if (prefix === undefined && !isByRole(rule)) always = stricter(always, rule.permission)
    else conditional.push({ prefix, rule })
  }
  return {
    reads_call: conditional.length > 0,
    of: (args, roles) => {
      if (conditional.length === 0) return always
      const text = firstText(args, order)
      let found = always
      for (const { prefix, rule } of conditional) {
        const matches = prefix === undefined || text?.startsWith(prefix) === true
        if (matches && isFor(rule, roles)) found = stricter(found, rule.permission)
      }
      return found
    }
  }
}
