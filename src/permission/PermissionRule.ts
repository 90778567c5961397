/**
 * The rules of a policy. `refund` matches every call of that tool, and `run(npm test:*)` matches the calls whose first text
 * argument begins with `npm test`. A rule may be limited to some senders. For a tool that declares `rule_arguments`, a rule
 * reads those arguments together, as words. URLs are compared as URLs and not as texts. If several rules match, the strictest
 * wins, whatever their order.
 */
import { Result, Schema } from "effect"
import { readJson } from "../value/BoundedJson.ts"
import type { UrlScope } from "../network/UrlScope.ts"
import { scopeAllows, isUrlLike, scopeMayMatch, parseUrlScope } from "../network/UrlScope.ts"
import { hasRole, Roles } from "../principal/Principal.ts"
import { Permission } from "../tool/SideEffects.ts"
import { textUpTo } from "../value/Bounds.ts"

const pattern_max = 512

const SomeRoles = Roles.check(Schema.isMinLength(1))

/**
 * `pattern`: a tool's plain name or key, optionally with `(prefix:*)`. `roles`: only for senders with one of them;
 * `unless_roles`: only for senders with none of them. The roles are those that the principal had when it sent the run's
 * message; an admin has every role but `customer`. Unknown roles, as in a worker of a queue, count as none.
 */
export class PermissionRule extends Schema.Opaque<PermissionRule>()(
  Schema.Struct({
    /**
     * A tool's plain name or key, or one with the beginning of its arguments as `name(prefix:*)`: 1 to 512 characters. A form that
     * no tool could match ends the start (`MisdeclaredPolicy`).
     */
    pattern: textUpTo(pattern_max),
    /** `allow`, `ask` or `deny`. */
    permission: Permission,
    /** The rule is only for senders with one of these roles, of which there is at least one. Absent = everybody. */
    roles: Schema.optionalKey(SomeRoles),
    /** The rule is only for senders with none of these roles. Absent = everybody. */
    unless_roles: Schema.optionalKey(SomeRoles)
  })
) {}

/** A parsed pattern. Whether it can match anything is checked in `PolicyCheck.ts`. */
export interface Pattern {
  readonly tool: string
  /** Undefined = every call. */
  readonly prefix: string | undefined
}

export const parsePattern = (text: string): Pattern => {
  const open = text.indexOf("(")
  return open > 0 && text.endsWith(":*)")
    ? { tool: text.slice(0, open), prefix: text.slice(open + 1, -3) }
    : { tool: text, prefix: undefined }
}

/**
 * The first text among the arguments, in the order in which the tool declares them: a model that puts another argument
 * first cannot choose what a rule reads. Undefined = there is no text.
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

/**
 * The arguments, parsed first if they are a JSON text. Some tools accept such a text, and a rule about an argument has to apply
 * to both forms.
 */
const readArguments = (args: unknown): unknown => {
  const read = typeof args === "string" ? readJson(args) : undefined
  return read !== undefined && Result.isSuccess(read) && typeof read.success === "object"
    ? read.success
    : args
}

const wordOf = (value: unknown): string =>
  typeof value === "string" ? value : (JSON.stringify(value) ?? "")

/** The arguments of these names as words; each member of a list is a word. Absent arguments are skipped. */
const wordsOf = (args: unknown, named: ReadonlyArray<string>): ReadonlyArray<string> => {
  if (typeof args !== "object" || args === null) return []
  const given = args as Readonly<Record<string, unknown>>
  return named.flatMap((name) => {
    const value = Object.hasOwn(given, name) ? given[name] : undefined
    if (value === undefined) return []
    return Array.isArray(value) ? value.map(wordOf) : [wordOf(value)]
  })
}

/**
 * The words joined into one line, with one space after each word and its white space normalized. The line ends soon after the
 * length that a pattern may have.
 */
const lineOf = (words: ReadonlyArray<string>): string => {
  let line = ""
  for (const word of words) {
    if (line.length > pattern_max) break
    const plain = word.trim().replaceAll(/\s+/g, " ")
    if (plain !== "") line += `${plain} `
  }
  return line
}

/** Decides whether a rule with a prefix matches the arguments of one call. */
type Reading = (rule: Conditional) => boolean

/** The path without empty segments and `.`, and with `..` resolved as far as the path allows. */
const straight = (text: string): string => {
  const isRooted = text.startsWith("/")
  const kept: Array<string> = []
  for (const segment of text.split("/")) {
    if (segment === ".." && (isRooted || (kept.length > 0 && kept.at(-1) !== ".."))) kept.pop()
    else if (segment !== "" && segment !== ".") kept.push(segment)
  }
  return (isRooted ? "/" : "") + kept.join("/") + (/[^.]\/$/.test(text) ? "/" : "")
}

/** How many directories a path from `straight` leads above its start. */
const climbsOf = (path: string): number => path.split("/").filter((each) => each === "..").length

/**
 * Whether the text begins with the prefix; a prefix such as `src/` also matches `src` itself. Used for rules that ask or deny.
 */
const begins = (text: string, prefix: string): boolean =>
  text.startsWith(prefix) || (prefix.endsWith("/") && text === prefix.slice(0, -1))

/**
 * A rule that asks or denies matches if the text as written, or the path or URL that it resolves to, begins with the prefix.
 * A rule that allows has to match both.
 */
const byText = (text: string | undefined): Reading => {
  if (text === undefined) return () => false
  const path = straight(text)
  const href = isUrlLike(text) ? URL.parse(text)?.href : undefined
  return ({ prefix = "", rule, urls: [url] }) => {
    const wanted = straight(prefix)
    if (rule.permission === "allow") {
      if (url !== undefined) return url.scope !== undefined && scopeAllows(url.scope, text)
      // A prefix such as `./` or `../` leaves nothing to compare once straightened, so climbs are compared besides.
      const isBelow = () => path.startsWith(wanted) && climbsOf(path) <= climbsOf(wanted)
      return text.startsWith(prefix) && (href?.startsWith(prefix) ?? isBelow())
    }
    if (begins(text, prefix) || begins(path, wanted) || href?.startsWith(prefix) === true)
      return true
    return url !== undefined && (url.scope === undefined || scopeMayMatch(url.scope, text))
  }
}

/**
 * Matches a call that is read as words. A rule that allows has to match whole words of the call, so that one word with a
 * space in it is never taken for two. A rule that asks or denies matches the beginning of the line, however it is split.
 */
const byWords = (words: ReadonlyArray<string>): Reading => {
  const line = lineOf(words)
  return ({ line: begin, rule, urls, words: wanted }) => {
    if (rule.permission === "allow") {
      return wanted.every((word, index) => {
        const url = urls[index]
        const said = words[index]
        if (url === undefined || said === undefined) return said === word
        return url.scope !== undefined && scopeAllows(url.scope, said)
      })
    }
    if (line.startsWith(begin)) return true
    return urls.some(Boolean) && meetsWords(wanted, urls, line)
  }
}

/** Whether the line of a call, split at spaces, matches the words of a rule that has a URL among them. */
const meetsWords = (
  wanted: ReadonlyArray<string>,
  urls: Conditional["urls"],
  line: string
): boolean => {
  const said = line.split(" ")
  return wanted.every((word, index) => {
    const url = urls[index]
    const given = said[index] ?? ""
    if (url === undefined) return given === word
    return given !== "" && (url.scope === undefined || scopeMayMatch(url.scope, given))
  })
}

const rank: Readonly<Record<Permission, number>> = { allow: 0, ask: 1, deny: 2 }

const stricter = (a: Permission | undefined, b: Permission): Permission =>
  a === undefined || rank[b] > rank[a] ? b : a

/** Whether the rule is limited to some senders. */
export const isByRole = ({ roles, unless_roles }: PermissionRule): boolean =>
  roles !== undefined || unless_roles !== undefined

const isFor = (rule: PermissionRule, roles: Roles | undefined): boolean =>
  (rule.roles === undefined || hasRole(roles, rule.roles)) &&
  (rule.unless_roles === undefined || !hasRole(roles, rule.unless_roles))

/** The rules of one tool. */
export interface ToolRules {
  /** Whether the permission depends on a call's arguments or on the roles of its sender. */
  readonly reads_call: boolean
  /** The permission of one call; undefined = no rule matches. */
  readonly permissionOf: (args: unknown, roles: Roles | undefined) => Permission | undefined
}

interface Conditional {
  readonly rule: PermissionRule
  /** Undefined = every call. */
  readonly prefix: string | undefined
  /** The prefix for a tool that is read as words: each word, and all of them as a line. */
  readonly words: ReadonlyArray<string>
  readonly line: string
  /** For each word that is a URL its scope; an undefined scope = the URL cannot be parsed. A text has one entry. */
  readonly urls: ReadonlyArray<{ readonly scope: UrlScope | undefined } | undefined>
}

const urlsOf = (words: ReadonlyArray<string>): Conditional["urls"] =>
  words.map((word) => (isUrlLike(word) ? { scope: parseUrlScope(word) } : undefined))

const conditionalOf = (rule: PermissionRule, prefix: string | undefined): Conditional => {
  const words = (prefix ?? "").split(/\s+/).filter((word) => word !== "")
  const line = (prefix ?? "").trimStart().replaceAll(/\s+/g, " ")
  return { rule, prefix, words, line, urls: urlsOf(words) }
}

/** The facts about a tool that determine how rules read its calls. */
export interface RuleReadable {
  /** The names of its arguments, in the order in which it declares them. */
  readonly arguments?: ReadonlyArray<string>
  /** The arguments that a rule reads together, as words. Absent = a rule reads only the first text argument. */
  readonly rule_arguments?: ReadonlyArray<string>
}

/** Selects the rules for one tool. `names` are the tool's plain name and its key. */
export const rulesFor = (
  rules: ReadonlyArray<PermissionRule>,
  names: ReadonlyArray<string>,
  { arguments: order = [], rule_arguments }: RuleReadable
): ToolRules => {
  let always: Permission | undefined
  const conditional: Array<Conditional> = []
  for (const rule of rules) {
    const { prefix, tool } = parsePattern(rule.pattern)
    if (!names.includes(tool)) continue
    if (prefix === undefined && !isByRole(rule)) always = stricter(always, rule.permission)
    else conditional.push(conditionalOf(rule, prefix))
  }
  const readingOf = (given: unknown): Reading => {
    const args = readArguments(given)
    return rule_arguments === undefined
      ? byText(firstText(args, order))
      : byWords(wordsOf(args, rule_arguments))
  }
  return {
    reads_call: conditional.length > 0,
    permissionOf: (args, roles) => {
      const reads = readingOf(args)
      let found = always
      for (const each of conditional) {
        const matches = each.prefix === undefined || reads(each)
        if (matches && isFor(each.rule, roles)) found = stricter(found, each.rule.permission)
      }
      return found
    }
  }
}
