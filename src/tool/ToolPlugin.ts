/**
 * Tools that come from plugins. A manifest declares a plugin's name, its namespaces and its order. A tool outside these
 * namespaces is refused. The manifest and its bounds are Stargraph's.
 */
import { Effect, Schema } from "effect"
import { firstSchemaIssue } from "../schema/SchemaIssues.ts"
import { truncateUnits } from "../value/CutText.ts"
import type { GovernedTool } from "./GovernedTool.ts"
import type { DuplicateTool, EmptyFamily, Registry } from "./Registry.ts"
import { register } from "./Registry.ts"
import { between } from "../value/Bounds.ts"

const Word = Schema.String.check(
  Schema.isPattern(/^[A-Za-z0-9_.-]{1,64}$/, { description: "1 to 64 letters, digits, _ . or -" })
)

/** What a plugin says of itself, before its tools are made. */
export const PluginManifest = Schema.Struct({
  /** The plugin's name: 1 to 64 letters, digits, `_`, `.` or `-`. */
  name: Word,
  /** Its version, for logs: 1 to 64 letters, digits, `_`, `.` or `-`. */
  version: Word,
  /** The version of this interface. */
  api_version: Schema.Literal("1"),
  /** The plugin's own namespaces. No other plugin may declare one of them. */
  namespaces: Schema.Array(Word).check(Schema.isMinLength(1), Schema.isMaxLength(32)),
  /** What it brings. Absent = tools. */
  provides: Schema.Array(Schema.Literal("tool")).pipe(
    Schema.withDecodingDefaultKey(Effect.succeed(["tool"] as const))
  ),
  /** Plugins load in ascending `order`; plugins of equal `order` load by name. */
  order: between(0, 10_000).pipe(Schema.withDecodingDefaultKey(Effect.succeed(5_000)))
})
export interface PluginManifest extends Schema.Schema.Type<typeof PluginManifest> {}

/** A family of tools under a manifest, for the option `shared`. */
export interface ToolPlugin<R = never, E = never, RX = never> {
  /** What the plugin says of itself. */
  readonly manifest: typeof PluginManifest.Encoded
  /** Its tools, all in its own namespaces. */
  readonly tools: Effect.Effect<ReadonlyArray<GovernedTool<R>>, E, RX>
}

/** A plugin was refused. The error has the plugin's name, the field at fault, and a message that says the fix. */
export class PluginRefused extends Schema.TaggedError<PluginRefused>()("PluginRefused", {
  /** The plugin's name. */
  plugin: Schema.String,
  /** The member at fault. */
  field: Schema.String,
  /** What is wrong with it, and what to do. */
  message: Schema.String
}) {}

const refuse = (plugin: string, field: string, problem: string, fix: string): PluginRefused =>
  new PluginRefused({
    plugin,
    field,
    message: `plugin "${plugin}", field "${field}": ${problem}. ${fix}.`
  })

const decodeManifest = Schema.decodeUnknownEffect(PluginManifest, { onExcessProperty: "error" })

const read = <R, E, RX>({ manifest, tools }: ToolPlugin<R, E, RX>) =>
  decodeManifest(manifest).pipe(
    Effect.mapError(({ issue }) => {
      const { message = "it cannot be read", path } = firstSchemaIssue(issue)
      const name = typeof manifest?.name === "string" ? truncateUnits(manifest.name, 64) : "?"
      return refuse(
        name,
        path.join(".") || "manifest",
        truncateUnits(message, 300),
        'A manifest has name, version, api_version "1", namespaces, and order from 0 to 10000'
      )
    }),
    Effect.map((read) => ({ manifest: read, tools }))
  )

/** A handler in any of the forms of `ToolHandler`. */
const isHandler = (handler: unknown): boolean =>
  typeof handler === "function" ||
  (typeof handler === "object" &&
    handler !== null &&
    "_tag" in handler &&
    (handler._tag === "Function" || handler._tag === "Intercepted"))

/** Whether the value is a tool that can be called. A spec without a handler is not, whatever its type says. */
const isCallable = (tool: unknown): boolean =>
  typeof tool === "object" &&
  tool !== null &&
  "spec" in tool &&
  "handler" in tool &&
  isHandler(tool.handler)

const admitted = <R>(
  { name, namespaces }: PluginManifest,
  tools: ReadonlyArray<GovernedTool<R>>
): Effect.Effect<ReadonlyArray<GovernedTool<R>>, PluginRefused> => {
  const bare = tools.findIndex((tool) => !isCallable(tool))
  if (bare !== -1) {
    const fix = "Return what tool() or govern() makes, and not its spec"
    return Effect.fail(refuse(name, `tools.${bare}`, "it cannot be called", fix))
  }
  const foreign = tools.find(({ spec }) => !namespaces.includes(spec.namespace))
  if (foreign !== undefined) {
    const fix = `Declare "${foreign.spec.namespace}", or register the tool in one of: ${namespaces.join(", ")}`
    const problem = `"${foreign.key}" is outside the namespaces that it declares`
    return Effect.fail(refuse(name, "namespaces", problem, fix))
  }
  return Effect.succeed(tools)
}

/**
 * The plugins in the order in which they load. Fails if a manifest cannot be read, or if two declare the same name or namespace.
 */
const ordered = Effect.fnUntraced(function* <R, E, RX>(
  plugins: ReadonlyArray<ToolPlugin<R, E, RX>>
) {
  const all = yield* Effect.forEach(plugins, read)
  all.sort((a, b) =>
    a.manifest.order === b.manifest.order
      ? a.manifest.name < b.manifest.name
        ? -1
        : 1
      : a.manifest.order - b.manifest.order
  )
  const names = new Set<string>()
  const owners = new Map<string, string>()
  for (const { manifest } of all) {
    if (names.has(manifest.name)) {
      const fix = "Leave one out, or rename it"
      return yield* refuse(manifest.name, "name", "two plugins have this name", fix)
    }
    names.add(manifest.name)
    for (const namespace of manifest.namespaces) {
      const owner = owners.get(namespace)
      if (owner !== undefined) {
        const problem = `"${namespace}" is declared by the plugin "${owner}"`
        return yield* refuse(manifest.name, "namespaces", problem, "Take a namespace of your own")
      }
      owners.set(namespace, manifest.name)
    }
  }
  return all
})

/** Adds the tools of these plugins to the registry, in the plugins' order. Fails with PluginRefused if one is refused. */
export const loadPlugins = Effect.fnUntraced(function* <R, R2, E, RX>(
  registry: Registry<R>,
  plugins: ReadonlyArray<ToolPlugin<R2, E, RX>>
): Effect.fn.Return<Registry<R | R2>, E | PluginRefused | DuplicateTool | EmptyFamily, RX> {
  let loaded: Registry<R | R2> = registry
  for (const { manifest, tools } of yield* ordered(plugins)) {
    const own = yield* admitted(manifest, yield* tools)
    loaded = yield* register(loaded, manifest.name, own)
  }
  return loaded
})
