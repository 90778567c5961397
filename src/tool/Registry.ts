/**
 * The tools of one runtime, as an immutable value. Keys are `namespace.name@version`. A plain name stands for a tool if only one
 * tool has that name.
 */
import { Effect, Result, Schema } from "effect"
import { truncateUnits } from "../value/CutText.ts"
import { ToolUserError, ToolPolicyError } from "../error/ToolError.ts"
import type { GovernedTool } from "./GovernedTool.ts"
import { didYouMean } from "../value/Nearest.ts"
import type { ToolSpec } from "./ToolSpec.ts"

/** Two tools of one registry have the same key. The start fails, and no tool of the second family is registered. */
export class DuplicateTool extends Schema.TaggedError<DuplicateTool>()("DuplicateTool", {
  /** The registry key that both have. */
  key: Schema.String,
  /** Which families have the tool, and what to do. */
  message: Schema.String
}) {}

/** A provider registered a family that has no tools. */
export class EmptyFamily extends Schema.TaggedError<EmptyFamily>()("EmptyFamily", {
  /** The name of the provider. */
  provider: Schema.String,
  /** What to do about it. */
  message: Schema.String
}) {}

/** No tool has this key or plain name. This is the only error after which a caller may look in another registry. */
export class ToolNotFound extends Schema.TaggedError<ToolNotFound>()("ToolNotFound", {
  name: Schema.String,
  /** Which tool is missing, and the nearest name. */
  message: Schema.String
}) {}

/** Several tools have this plain name; `candidates` are their keys, sorted. */
export class AmbiguousTool extends Schema.TaggedError<AmbiguousTool>()("AmbiguousTool", {
  name: Schema.String,
  candidates: Schema.Array(Schema.String),
  /** The keys that the name may mean. */
  message: Schema.String
}) {}

/** One line of a list of tools: `name` is the shortest name that means this tool. */
export const ToolListing = Schema.Struct({
  name: Schema.String,
  description: Schema.String,
  provider: Schema.String,
  available: Schema.Boolean
})
export interface ToolListing extends Schema.Schema.Type<typeof ToolListing> {}

export interface Registry<out R> {
  /** Finds a tool by its key, or by a plain name that only one tool has. Case-sensitive; undefined = there is none. */
  get(name: string): GovernedTool<R> | undefined
  /** Like `get`, but fails with the reason if there is no such tool. A deprecated tool has no plain name. */
  resolve(name: string): Result.Result<GovernedTool<R>, ToolNotFound | AmbiguousTool>
  /** All tools, including deprecated ones, sorted by key. */
  readonly all: ReadonlyArray<GovernedTool<R>>
  /** The tools that are not deprecated, sorted by key. With `namespace`, only the tools of that namespace. */
  list(namespace?: string): ReadonlyArray<GovernedTool<R>>
  /** The same tools as list lines, sorted by name, with whether each is available now. */
  discover(): ReadonlyArray<ToolListing>
}

const ascending = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

const byKey = <R>(tools: ReadonlyArray<GovernedTool<R>>): ReadonlyArray<GovernedTool<R>> =>
  [...tools].sort((a, b) => ascending(a.key, b.key))

const notFound = (name: string, known: Iterable<string>, old: ReadonlyArray<string>) => {
  const shown = truncateUnits(name, 64)
  return new ToolNotFound({
    name: shown,
    message:
      old.length === 0
        ? `tool "${shown}" not found in registry.${didYouMean(shown, known)}`
        : `tool "${shown}" not found in registry: only deprecated ones have that name. Call one by its key: ${old.join(", ")}`
  })
}

/** The facts from which a line is made. */
interface Listable {
  readonly key: string
  readonly spec: Pick<ToolSpec, "deprecated" | "description" | "name">
  readonly provider: string
  readonly available: boolean
}

/** The lines for tools with different keys, sorted by name. A deprecated tool has no line and does not make a name ambiguous. */
export const toolListings = (tools: ReadonlyArray<Listable>): ReadonlyArray<ToolListing> => {
  const selectable = tools.filter(({ spec }) => !spec.deprecated)
  const count = new Map<string, number>()
  for (const { spec } of selectable) count.set(spec.name, (count.get(spec.name) ?? 0) + 1)
  return selectable
    .map(({ available, key, provider, spec: { description, name } }) => ({
      name: count.get(name) === 1 ? name : key,
      description,
      provider,
      available
    }))
    .sort((a, b) => ascending(a.name, b.name))
}

/** A registry that lists `tools`; those in `hidden` are found only by their keys. */
const registryOf = <R>(
  tools: ReadonlyArray<GovernedTool<R>>,
  hidden: ReadonlyArray<GovernedTool<R>> = []
): Registry<R> => {
  const all = byKey(tools)
  const exact = new Map([...hidden, ...all].map((tool) => [tool.key, tool]))
  const plain = new Map<string, Array<GovernedTool<R>>>()
  const old = new Map<string, Array<string>>()
  for (const tool of all) {
    const { deprecated, name } = tool.spec
    if (deprecated) old.set(name, [...(old.get(name) ?? []), tool.key])
    else plain.set(name, [...(plain.get(name) ?? []), tool])
  }
  const selectable = all.filter((tool) => !tool.spec.deprecated)
  const get = (name: string): GovernedTool<R> | undefined => {
    const named = plain.get(name)
    return exact.get(name) ?? (named?.length === 1 ? named[0] : undefined)
  }
  const known = () => [...plain.keys(), ...exact.keys()]
  return {
    all,
    get,
    resolve: (name) => {
      const tool = get(name)
      if (tool !== undefined) return Result.succeed(tool)
      const candidates = (plain.get(name) ?? []).map(({ key }) => key)
      return candidates.length === 0
        ? Result.fail(notFound(name, known(), old.get(name) ?? []))
        : Result.fail(
            new AmbiguousTool({
              name,
              candidates,
              message: `tool "${name}" is ambiguous: name one of ${candidates.join(", ")}, or give yours another name`
            })
          )
    },
    list: (namespace) =>
      namespace === undefined
        ? selectable
        : selectable.filter((tool) => tool.spec.namespace === namespace),
    discover: () =>
      toolListings(
        selectable.map(({ available, key, provider = "internal", spec }) => ({
          key,
          spec,
          provider,
          available: available?.() ?? true
        }))
      )
  }
}

export const empty: Registry<never> = registryOf<never>([])

/** Adds these tools to the registry: either all of them, or none. */
export const add = <R, R2>(
  registry: Registry<R>,
  tools: ReadonlyArray<GovernedTool<R2>>
): Effect.Effect<Registry<R | R2>, DuplicateTool> => {
  const keys = new Set(registry.all.map(({ key }) => key))
  for (const { key } of tools) {
    if (keys.has(key)) {
      const message = `tool "${key}" is already registered. Give one of the two another version, or leave one out`
      return Effect.fail(new DuplicateTool({ key, message }))
    }
    keys.add(key)
  }
  return Effect.succeed(registryOf<R | R2>([...registry.all, ...tools]))
}

/** Like `add`, for the tools of one provider, whose name they get. Fails with EmptyFamily if there are none. */
export const register = <R, R2>(
  registry: Registry<R>,
  provider: string,
  tools: ReadonlyArray<GovernedTool<R2>>
): Effect.Effect<Registry<R | R2>, DuplicateTool | EmptyFamily> =>
  tools.length === 0
    ? Effect.fail(
        new EmptyFamily({ provider, message: `"${provider}" brings no tools. List at least one` })
      )
    : add(
        registry,
        tools.map((tool) => ({ ...tool, provider }))
      )

export const make = <R>(
  tools: ReadonlyArray<GovernedTool<R>>
): Effect.Effect<Registry<R>, DuplicateTool> => add(empty, tools)

/**
 * Combines two registries into one, in which a local tool hides the shared tools with its plain name; neither registry is
 * changed. A hidden tool is not listed, and is found only by its key, unless a local tool has the same key.
 */
export const shadow = <R, R2>(shared: Registry<R>, local: Registry<R2>): Registry<R | R2> => {
  const names = new Set(local.all.map(({ spec }) => spec.name))
  const shadowed = (tool: GovernedTool<R>) => names.has(tool.spec.name)
  return registryOf<R | R2>(
    [...local.all, ...shared.all.filter((tool) => !shadowed(tool))],
    shared.all.filter(shadowed)
  )
}

/** The error that a model reads after it named an unknown or an ambiguous tool. */
export const refusalOf = (error: ToolNotFound | AmbiguousTool): ToolUserError =>
  new ToolUserError({
    kind: "not_found",
    reason: error._tag === "ToolNotFound" ? "UNKNOWN_TOOL" : "AMBIGUOUS_TOOL",
    message: error.message
  })

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
