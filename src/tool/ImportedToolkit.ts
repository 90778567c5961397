/**
 * Tools that a program in Effect has already: a `Toolkit` of `effect/ai` with the Layer of its handlers. What governs each tool is
 * said by its annotations of `effect/ai`, by `Governed`, and by a table, each before the one before it. A tool of which nothing is
 * said acts outside, and waits for a person.
 *
 * ```ts
 * const tools = importToolkit(Kit, KitLive, {
 *   namespace: "shop",
 *   tools: { refund: { approvers: ["boss"], failures: { OutOfStock: "ToolUserError" } } }
 * })
 * ```
 */
import { Context, Effect, Layer, Option, Schema, Scope } from "effect"
import type { Toolkit } from "effect/ai"
import type * as Tool from "effect/ai/Tool"
import { didYouMean } from "../value/Nearest.ts"
import { defined } from "../value/PlainObject.ts"
import type {
  EffectHandler,
  FamilyGovernance,
  GovernedContext,
  GovernedTool,
  ToolkitBody
} from "./GovernedTool.ts"
import { bindToolkitTool, handlerIn } from "./GovernedTool.ts"
import type { MisdeclaredTool } from "./MisdeclaredTool.ts"
import { misdeclared } from "./MisdeclaredTool.ts"
import type { AnyFailures, Failures } from "./ToolkitFailures.ts"
import { failureReader, misdeclaredFailures } from "./ToolkitFailures.ts"
import { effectsOfTool } from "./ToolkitHints.ts"

/** What governs an imported tool; what is left out follows from its annotations. */
export interface ImportedGovernance<Args = never, Failure = never> extends Partial<
  FamilyGovernance<Args>
> {
  /** The classes of its failures. Absent = those of its toolkit. */
  readonly failures?: Failures<Failure>
}

/** As `ImportedGovernance`, for a tool of which no type is known. */
export interface AnnotatedGovernance extends Partial<FamilyGovernance> {
  /** The classes of its failures. Absent = those of its toolkit. */
  readonly failures?: AnyFailures
}

/** Annotates a tool with what governs it here: `Tool.make("refund", ...).annotate(Governed, { side_effects: "external" })`. */
export const Governed: Context.Reference<AnnotatedGovernance> =
  Context.Reference<AnnotatedGovernance>("troupe/tool/Governed", { defaultValue: () => ({}) })

/** What governs the tools of a toolkit. */
export interface ImportOptions<Tools extends Record<string, Tool.Any>> {
  /** The first part of their keys `namespace.name@version`: 1 to 64 letters, digits, `_` or `-`. */
  readonly namespace: string
  /** The classes of failures that a tool does not classify itself. Absent = none is known. */
  readonly failures?: Failures<Tool.Failure<Tools[keyof Tools]>>
  /** What governs each tool, by its name; it comes before annotations. Absent = annotations alone. */
  readonly tools?: {
    readonly [Name in keyof Tools]?: ImportedGovernance<
      Tool.Parameters<Tools[Name]>,
      Tool.Failure<Tools[Name]>
    >
  }
}

type Plain<Tools extends Record<string, Tool.Any>> = {
  readonly [Name in keyof Tools]: [Tool.SchemaServices<Tools[Name]>] extends [never]
    ? Tools[Name]
    : never
}

/** The second argument of the handler: what it shows is shown as its result would be. */
const contextOf = (context: GovernedContext, encode: (result: unknown) => unknown) => ({
  get toolCallId() {
    return context.toolCallId
  },
  get call() {
    return context.call
  },
  ...defined({ stopped: context.stopped }),
  preliminary: (result: unknown) => Effect.suspend(() => context.preliminary(encode(result)))
})

/** Encodes a preliminary result. Throws where it does not fit its schema, which is a defect of the handler. */
const encoderOf = ({ successSchema }: Tool.Any) => {
  let encode: ((result: unknown) => unknown) | undefined
  return (result: unknown): unknown => {
    encode ??= Schema.encodeUnknownSync(Schema.toCodecJson(successSchema as Schema.Codec<unknown>))
    return encode(result)
  }
}

const handlerOf = (
  tool: Tool.Any,
  { handler }: ToolkitBody,
  tables: ReadonlyArray<AnyFailures | undefined>
): EffectHandler => {
  const classified = failureReader(tool, tables)
  const encode = encoderOf(tool)
  return (args, context) =>
    Effect.mapError(handler(args, contextOf(context, encode) as GovernedContext), classified)
}

interface Given {
  readonly namespace: string
  readonly failures?: AnyFailures
  readonly tools?: Readonly<Record<string, AnnotatedGovernance | undefined>>
}

const importedTool = Effect.fnUntraced(function* (
  tool: Tool.Any,
  { failures: of_all, namespace, tools = {} }: Given,
  body: ToolkitBody | undefined
): Effect.fn.Return<GovernedTool, MisdeclaredTool> {
  const { name } = tool
  const said = {
    ...defined(Context.get(tool.annotations, Governed)),
    ...defined((Object.hasOwn(tools, name) ? tools[name] : undefined) ?? {})
  } as AnnotatedGovernance
  const { failures, ...governance } = said
  const wrong = misdeclaredFailures(name, failures) ?? misdeclaredFailures(name, of_all)
  if (wrong !== undefined) return yield* wrong
  return yield* bindToolkitTool(
    tool,
    { ...effectsOfTool(tool), namespace, ...governance } as FamilyGovernance,
    body && { ...body, handler: handlerOf(tool, body, [failures, of_all]) }
  )
})

const no_scope = "an imported toolkit is built by a runtime: list it in its tools"

/**
 * The tools of a toolkit, run by the handlers of `layer`, which is built with the runtime and ends with it: what the Layer and the
 * tools' `dependencies` need, the runtime's Layer needs. Fails with `MisdeclaredTool` where a tool cannot be governed.
 */
export const importToolkit = <Tools extends Record<string, Tool.Any>, E, R>(
  toolkit: Toolkit.Toolkit<Tools> & { readonly tools: Plain<Tools> },
  layer: Layer.Layer<Tool.HandlersFor<Tools>, E, R>,
  options: ImportOptions<Tools>
): Effect.Effect<
  ReadonlyArray<GovernedTool>,
  E | MisdeclaredTool,
  R | Tool.Requirements<Tools[keyof Tools]>
> =>
  Effect.gen(function* () {
    // Families are built in the scope of the runtime's Layer.
    const scope = yield* Effect.serviceOption(Scope.Scope)
    if (Option.isNone(scope)) return yield* Effect.die(new Error(no_scope))
    const given = options as unknown as Given
    const tools = Object.values<Tool.Any>(toolkit.tools)
    const names = tools.map(({ name }) => name)
    const stray = Object.keys(given.tools ?? {}).find((name) => !names.includes(name))
    if (stray !== undefined) {
      const fix = `It has ${names.join(", ") || "none"}.${didYouMean(stray, names)}`
      return yield* misdeclared(stray, "tools", "the toolkit has no such tool", fix)
    }
    const needed = yield* Effect.context<Tool.Requirements<Tools[keyof Tools]>>()
    const built: Context.Context<never> = yield* Layer.buildWithScope(layer, scope.value)
    return yield* Effect.forEach(tools, (tool) => {
      const body = handlerIn(built, tool)
      return importedTool(
        tool,
        given,
        body && { ...body, context: Context.merge(needed, body.context) }
      )
    })
  })
