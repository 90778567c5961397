/**
 * Rules of a policy: `refund` speaks of every call of that tool, `run(npm test:*)` of those whose first text argument
 * begins so, and a rule may speak of some senders only. Of a tool that declares `rule_arguments` those are read together, as
 * words. A rule with a URL compares URLs, and not their texts. Among the rules that match the strictest wins, whatever
 * their order.
 */
import { Schema } from "effect"
import type { UrlScope } from "../call/UrlScope.ts"
import { scopeAllows, isUrlLike, scopeMayMatch, parseUrlScope } from "../call/UrlScope.ts"
import { hasRole, Roles } from "../Principal.ts"
import { Permission } from "../tool/SideEffects.ts"

const pattern_max = 512

const SomeRoles = Roles.check(Schema.isMinLength(1))

/**
 * `pattern`: a tool's plain name or key, and perhaps `(prefix:*)` after it. `roles`: only for whoever has one of them;
 * `unless_roles`: only for whoever has none of them. Roles are those of the principal that sent the run's message, when it
 * did; an admin has every one but `customer`. Where they are not known, as in a worker of a queue, there are none.
 */
export const PermissionRule = Schema.Struct({
  pattern: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(pattern_max)),
  permission: Permission,
  roles: Schema.optionalKey(SomeRoles),
  unless_roles: Schema.optionalKey(SomeRoles)
})
export interface PermissionRule extends Schema.Schema.Type<typeof PermissionRule> {}

/** What a pattern says, if it says something (`PolicyCheck.ts`). */
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

const wordOf = (value: unknown): string =>
  typeof value === "string" ? value : (JSON.stringify(value) ?? "")

/** The arguments of these names, each a word; of a list, each member. One that was not given has none. */
const wordsOf = (args: unknown, named: ReadonlyArray<string>): ReadonlyArray<string> => {
  if (typeof args !== "object" || args === null) return []
  const given = args as Readonly<Record<string, unknown>>
  return named.flatMap((name) => {
    const value = Object.hasOwn(given, name) ? given[name] : undefined
    if (value === undefined) return []
    return Array.isArray(value) ? value.map(wordOf) : [wordOf(value)]
  })
}

/** Words with one space after each, whatever white space is in and between them, as far as a pattern may reach. */
const lineOf = (words: ReadonlyArray<string>): string => {
  let line = ""
  for (const word of words) {
    if (line.length > pattern_max) break
    const plain = word.trim().replaceAll(/\s+/g, " ")
    if (plain !== "") line += `${plain} `
  }
  return line
}

/** What a call's arguments say to the rules of its tool. */
type Reading = (rule: Conditional) => boolean

/** A path with one slash between its segments, and none of `.` and `..`: the file that it leads to from where it begins. */
const straight = (text: string): string => {
  const isRooted = text.startsWith("/")
  const kept: Array<string> = []
  for (const segment of text.split("/")) {
    if (segment === ".." && (isRooted || (kept.length > 0 && kept.at(-1) !== ".."))) kept.pop()
    else if (segment !== "" && segment !== ".") kept.push(segment)
  }
  return (isRooted ? "/" : "") + kept.join("/") + (/[^.]\/$/.test(text) ? "/" : "")
}

/** How many folders above the one where it begins a straight path leads. */
const climbsOf = (path: string): number => path.split("/").filter((each) => each === "..").length

/** `src/:*` speaks of `src` itself too, where it denies. */
const begins = (text: string, prefix: string): boolean =>
  text.startsWith(prefix) || (prefix.endsWith("/") && text === prefix.slice(0, -1))

/**
 * What denies or asks matches a text as it stands and the file or the address that it leads to; what allows has to match
 * both.
 */
const byText = (text: string | undefined): Reading => {
  if (text === undefined) return () => false
  const path = straight(text)
  const href = isUrlLike(text) ? URL.parse(text)?.href : undefined
  return ({ prefix = "", rule, urls: [url] }) => {
    const wanted = straight(prefix)
    if (rule.permission === "allow") {
      if (url !== undefined) return url.scope !== undefined && scopeAllows(url.scope, text)
      // A folder such as `./` or `../` is no name that a path could begin with: it may climb no further than that.
      const isBelow = () => path.startsWith(wanted) && climbsOf(path) <= climbsOf(wanted)
      return text.startsWith(prefix) && (href?.startsWith(prefix) ?? isBelow())
    }
    if (begins(text, prefix) || begins(path, wanted) || href?.startsWith(prefix) === true)
      return true
    return url !== undefined && (url.scope === undefined || scopeMayMatch(url.scope, text))
  }
}

/**
 * One text of several words. What allows has to have each of its words as a whole word of the call, so that a word with a
 * space in it is never taken for two; what asks or denies matches where the line begins so, however its words are cut.
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

/** The words of a call, however they were cut, against those of a rule that has a URL among them. */
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
  readonly rule: PermissionRule
  /** Undefined = every call. */
  readonly prefix: string | undefined
  /** The same, for a tool that is read by words: each, and all of them as a line. */
  readonly words: ReadonlyArray<string>
  readonly line: string
  /** For each word that is a URL what it says; without a scope it cannot be read. Of a text: the first is the text's. */
  readonly urls: ReadonlyArray<{ readonly scope: UrlScope | undefined } | undefined>
}

const urlsOf = (words: ReadonlyArray<string>): Conditional["urls"] =>
  words.map((word) => (isUrlLike(word) ? { scope: parseUrlScope(word) } : undefined))

const conditionalOf = (rule: PermissionRule, prefix: string | undefined): Conditional => {
  const words = (prefix ?? "").split(/\s+/).filter((word) => word !== "")
  const line = (prefix ?? "").trimStart().replaceAll(/\s+/g, " ")
  return { rule, prefix, words, line, urls: urlsOf(words) }
}

/** What of a tool says how rules read its calls. */
export interface RuleReadable {
  /** The names of its arguments, in the order in which it declares them. */
  readonly arguments?: ReadonlyArray<string>
  /** Those that a rule reads together, as words. Absent = the first text alone. */
  readonly rule_arguments?: ReadonlyArray<string>
}

/** `names`: the tool's plain name and its key. */
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
  const readingOf = (args: unknown): Reading =>
    rule_arguments === undefined
      ? byText(firstText(args, order))
      : byWords(wordsOf(args, rule_arguments))
  return {
    reads_call: conditional.length > 0,
    of: (args, roles) => {
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
