/**
 * The tools of one runtime, as a value: built once, never changed, shared with nobody who was not given it. Keys are
 * `namespace.name@version`; a plain name stands for a tool where it can mean only one.
 */
import { Effect, Result, Schema } from "effect"
import { ToolUserError } from "../error/ToolError.ts"
import type { GovernedTool } from "./GovernedTool.ts"
import { didYouMean } from "./Nearest.ts"
import type { ToolSpec } from "./ToolSpec.ts"

/** Two tools of one registry have the same key. It ends the start, and nothing of what came with the second is in. */
export class DuplicateTool extends Schema.TaggedError<DuplicateTool>()("DuplicateTool", {
  key: Schema.String,
  message: Schema.String
}) {}

/** Somebody brought a family without a tool in it, which nobody means to do. */
export class EmptyFamily extends Schema.TaggedError<EmptyFamily>()("EmptyFamily", {
  provider: Schema.String,
  message: Schema.String
}) {}

/** No tool has this key or plain name. The only sign on which a caller may look elsewhere. */
export class ToolNotFound extends Schema.TaggedError<ToolNotFound>()("ToolNotFound", {
  name: Schema.String,
  message: Schema.String
}) {}

/** Several tools have this plain name; `candidates` are their keys, sorted. */
export class AmbiguousTool extends Schema.TaggedError<AmbiguousTool>()("AmbiguousTool", {
  name: Schema.String,
  candidates: Schema.Array(Schema.String),
  message: Schema.String
}) {}

/** One line of what there is to call: `name` is the shortest name that means this tool. */
export interface ToolListing {
  readonly name: string
  readonly description: string
  readonly provider: string
  readonly available: boolean
}

export interface Registry<out R> {
  /** By key, or by a plain name that means one tool. Case-sensitive. */
  get(name: string): GovernedTool<R> | undefined
  /** The same, saying why not. A deprecated tool has no plain name. */
  resolve(name: string): Result.Result<GovernedTool<R>, ToolNotFound | AmbiguousTool>
  /** Every tool, also the deprecated, sorted by key; empty, never absent. */
  readonly all: ReadonlyArray<GovernedTool<R>>
  /** What is shown to those who choose: not the deprecated; of one namespace if one is named. Sorted by key. */
  list(namespace?: string): ReadonlyArray<GovernedTool<R>>
  /** The same as lines, sorted by name. Whether a tool is available is asked now. */
  discover(): ReadonlyArray<ToolListing>
}

const ascending = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

const byKey = <R>(tools: ReadonlyArray<GovernedTool<R>>): ReadonlyArray<GovernedTool<R>> =>
  [...tools].sort((a, b) => ascending(a.key, b.key))

const notFound = (name: string, known: Iterable<string>, old: ReadonlyArray<string>) => {
  const shown = name.slice(0, 64)
  return new ToolNotFound({
    name: shown,
    message:
      old.length === 0
        ? `tool "${shown}" not found in registry.${didYouMean(shown, known)}`
        : `tool "${shown}" not found in registry: only deprecated ones have that name. Call one by its key: ${old.join(", ")}`
  })
}

/** What a line is made of. */
interface Listable {
  readonly key: string
  readonly spec: Pick<ToolSpec, "deprecated" | "description" | "name">
  readonly provider: string
  readonly available: boolean
}

/** The lines of tools with different keys, sorted by name; a deprecated one has none, and takes no name from another. */
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

/** `tools` are those listed; `hidden` can be named by their key and in no other way. */
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
              message: `tool "${name}" is ambiguous: name one of ${candidates.join(", ")}`
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

/** The registry with these tools besides. All of them are in, or none is. */
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

/** The same for a family that somebody brings: it has tools, and they say whose they are. */
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
 * Both as one, where a local tool takes the place of the shared ones of its plain name; neither is changed. A shared tool
 * that is shadowed so is not listed, and can still be named by its key, if the local one's is another.
 */
export const shadow = <R, R2>(shared: Registry<R>, local: Registry<R2>): Registry<R | R2> => {
  const names = new Set(local.all.map(({ spec }) => spec.name))
  const shadowed = (tool: GovernedTool<R>) => names.has(tool.spec.name)
  return registryOf<R | R2>(
    [...local.all, ...shared.all.filter((tool) => !shadowed(tool))],
    shared.all.filter(shadowed)
  )
}

/** What a model reads that named a tool which is not there, or which may be several. */
export const refusalOf = (error: ToolNotFound | AmbiguousTool): ToolUserError =>
  new ToolUserError({
    kind: "not_found",
    reason: error._tag === "ToolNotFound" ? "UNKNOWN_TOOL" : "AMBIGUOUS_TOOL",
    message: error.message
  })
