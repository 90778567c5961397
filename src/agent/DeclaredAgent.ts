/**
 * Declares an agent whose messages pass a context to their runs: the schema of that context, and instructions and tools that
 * depend on it.
 *
 * ```ts
 * const shop = agent({
 *   name: "shop",
 *   context: Schema.Struct({ customer: Schema.String, plan: Schema.String }),
 *   instructions: ({ context }) => `Help customer ${context.customer}.`,
 *   tools: { orders: true, refund: ({ context }) => context.plan === "gold" }
 * })
 * await troupe.send({ agent: shop, text: "Where is it?", context: { customer: "1003", plan: "gold" } })
 * ```
 *
 * The functions are called once for each turn, have to be pure, and see no secrets. The journal has a digest of their results.
 */
import type { AgentName, RunId, Tenant } from "../value/Ids.ts"
import type { Roles } from "../principal/Principal.ts"
import type { Plain, Public } from "../run/RunContext.ts"
import type { AnySchema, Decoded } from "../tool/ToolCodec.ts"
import { AgentSpec } from "./AgentSpec.ts"

/** The facts of a turn's run that the functions of an agent may read. */
export interface TurnRun<Context = unknown> {
  readonly run: RunId
  readonly tenant: Tenant
  readonly agent: AgentName
  /** The principal whose message began the run. */
  readonly principal: string
  /** The roles that this principal had when it sent the message. Empty where they are not known. */
  readonly roles: Roles
  /**
   * The context that the message passed to the run, decoded by the agent's `context` schema, without secrets. Undefined = the
   * agent declares no context.
   */
  readonly context: Context
}

type ContextOf<ContextSchema extends AnySchema> = [ContextSchema] extends [never]
  ? undefined
  : Public<Decoded<ContextSchema>>

type Written = Parameters<typeof AgentSpec.make>[0]

export interface AgentOptions<ContextSchema extends AnySchema> extends Omit<
  Written,
  "instructions" | "tools"
> {
  /**
   * The schema of the context that each message to this agent has to pass (`send({ context })`). A message whose context lacks a
   * member or has another one is refused. Members that hold a `Redacted` are secrets: they reach only tools that declare them
   * and are never journaled. Absent = no context.
   */
  readonly context?: ContextSchema
  /**
   * The system prompt of its turns: a text, or a pure function of the run that is called once for each turn. A function that
   * throws fails the frame (`agent_function`).
   */
  readonly instructions: string | ((run: TurnRun<ContextOf<ContextSchema>>) => string)
  /**
   * Names of tools; or an object that says for each name whether a turn is offered that tool. One that is not registered ends
   * the start. Absent = none.
   */
  readonly tools?:
    | ReadonlyArray<string>
    | Readonly<Record<string, boolean | ((run: TurnRun<ContextOf<ContextSchema>>) => boolean)>>
}

/** The parts of an agent that cannot be stored as data: a schema and functions. */
export interface Declared<ContextSchema extends AnySchema = AnySchema> {
  readonly context: ContextSchema | undefined
  /** Undefined = the instructions of the spec. */
  readonly instructions: ((run: TurnRun<never>) => string) | undefined
  /**
   * Decides for a turn whether it is offered a tool, by the tool's name or key as the spec has it. Tools without an entry are
   * always offered.
   */
  readonly offers: Readonly<Record<string, (run: TurnRun<never>) => boolean>>
}

const declared: unique symbol = Symbol("troupe/agent/Declared")

/** An agent's definition together with its functions. It can stand in `agents: [...]`, and can name the agent of a message. */
export interface DeclaredAgent<ContextSchema extends AnySchema = AnySchema> extends AgentSpec {
  readonly [declared]: Declared<ContextSchema>
}

/** The context that a message to this agent passes, in its encoded (JSON) form. */
export type ContextInput<ContextSchema> = ContextSchema extends { readonly Encoded: unknown }
  ? Plain<ContextSchema["Encoded"]>
  : ContextSchema extends {
        readonly "~standard": { readonly types?: { readonly input: infer Input } | undefined }
      }
    ? Input
    : never

/** Declares an agent, as the head of this file shows. Throws, as `AgentSpec.make` does, if a member does not fit its type. */
export const agent = <ContextSchema extends AnySchema = never>({
  context,
  instructions,
  tools,
  ...rest
}: AgentOptions<ContextSchema>): DeclaredAgent<ContextSchema> => {
  const named: ReadonlyArray<string> = Array.isArray(tools) ? tools : []
  const byName: Readonly<Record<string, boolean | Declared["offers"][string]>> =
    tools === undefined || Array.isArray(tools) ? {} : { ...(tools as typeof byName) }
  const given = Object.entries(byName).filter(([, offer]) => offer !== false)
  const spec = AgentSpec.make({
    ...rest,
    instructions: typeof instructions === "function" ? "" : instructions,
    tools: [...named, ...given.map(([name]) => name)]
  })
  const offers = Object.fromEntries(
    given.filter((entry): entry is [string, Declared["offers"][string]] => entry[1] !== true)
  )
  const parts: Declared<ContextSchema> = {
    context,
    instructions: typeof instructions === "function" ? instructions : undefined,
    offers
  }
  return { ...spec, [declared]: parts }
}

/** Splits a definition into its plain spec and its functions. `declared` is undefined where it was not made by `agent`. */
export const declarationOf = (
  given: unknown
): { readonly spec: unknown; readonly declared: Declared | undefined } => {
  if (typeof given !== "object" || given === null || !(declared in given)) {
    return { spec: given, declared: undefined }
  }
  const { [declared]: parts, ...spec } = given as DeclaredAgent
  return { spec, declared: parts }
}
