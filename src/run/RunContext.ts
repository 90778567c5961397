/**
 * What an application tells a run's tools and functions but not its model: who the customer is, their language, their plan. It
 * comes with the message, is journaled without its secrets (`ContextSecrets`), and stays the same for the whole run.
 */
import { Exit, Redacted, Schema } from "effect"
import { CheckedJsonRecord } from "../value/JsonObject.ts"

/** A JSON object. */
export type RunContext = Readonly<Record<string, Schema.Json>>

/** In characters of JSON. */
const context_units_max = 16_384

/** A context from outside: at most 16,384 characters of JSON. */
export const CheckedRunContext = CheckedJsonRecord.check(
  Schema.makeFilter(
    (context: RunContext) =>
      JSON.stringify(context).length <= context_units_max ||
      `expected at most ${context_units_max} characters of JSON`
  )
)

/** The context of a message that gives none, for a tool that reads one. */
export const no_context: RunContext = {}

/** Reads the context by a schema. */
export interface ContextReader {
  readonly decode: (given: unknown) => Exit.Exit<unknown, unknown>
  /** The names of the members that are secrets. The journal has the names and never the values. */
  readonly secrets: ReadonlyArray<string>
}

/** A context in two parts: what is journaled, and the secrets, which are not. */
export interface SeparatedContext {
  readonly context: RunContext | undefined
  readonly secrets: RunContext | undefined
}

/** The texts and numbers in a value, at any depth of objects and lists. */
const textsIn = (value: unknown, found: Set<string>): void => {
  if (typeof value === "string" || typeof value === "number" || typeof value === "bigint") {
    found.add(String(value))
  } else if (typeof value === "object" && value !== null) {
    for (const member of Object.values(value)) textsIn(member, found)
  }
}

/** The texts of each `Redacted` in a decoded value. */
const secretTextsIn = (value: unknown, found: Set<string>): void => {
  if (Redacted.isRedacted(value)) textsIn(Redacted.value(value), found)
  else if (typeof value === "object" && value !== null) {
    for (const member of Object.values(value)) secretTextsIn(member, found)
  }
}

/**
 * Adds the texts that the secret members of a context hold: those of every `Redacted` that a reader decoded, and those that a
 * member which is one as a whole was sent with.
 */
export const addSecretTexts = (secrets: RunContext, decoded: unknown, found: Set<string>): void => {
  if (typeof decoded !== "object" || decoded === null) return
  const members: Readonly<Record<string, unknown>> = { ...decoded }
  for (const [name, sent] of Object.entries(secrets)) {
    const member = members[name]
    secretTextsIn(member, found)
    if (Redacted.isRedacted(member)) textsIn(sent, found)
  }
}

/** The context as its reader decodes it, with the secrets that the reader declares. Without a reader: as given, without secrets. */
export const contextFor = (
  reader: ContextReader | undefined,
  { context, secrets }: SeparatedContext
): Exit.Exit<unknown, unknown> =>
  reader === undefined
    ? Exit.succeed(context)
    : reader.decode(
        secrets === undefined || reader.secrets.length === 0
          ? (context ?? no_context)
          : { ...context, ...membersOf(secrets, (name) => reader.secrets.includes(name)) }
      )

const membersOf = (of: RunContext, has: (name: string) => boolean): RunContext =>
  Object.fromEntries(Object.entries(of).filter(([name]) => has(name)))

/** Separates the members with these names, the secrets, from the rest. `secrets` is undefined where the context has none of them. */
export const separateSecrets = (given: RunContext, names: ReadonlySet<string>): SeparatedContext =>
  Object.keys(given).some((name) => names.has(name))
    ? {
        context: membersOf(given, (name) => !names.has(name)),
        secrets: membersOf(given, (name) => names.has(name))
      }
    : { context: given, secrets: undefined }
