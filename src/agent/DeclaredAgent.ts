/**
 * Declares an agent with what cannot be stored as data: the schema of a context that its messages pass to their runs, instructions
 * and tools that depend on it, and guards of its own.
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
import { InvalidInput } from "../schema/InvalidInput.ts"
import { cureOf, ownerOf } from "../schema/MisplacedValue.ts"
import { AgentSpec } from "./AgentSpec.ts"
import type { Guard } from "./Guard.ts"
import { ownGuardsProblem } from "./Guard.ts"

/** The facts of a turn's run that the functions of an agent may read. */
export interface TurnRun<Context = unknown> {
  /** The id of the run. */
  readonly run: RunId
  /** Whose run it is. */
  readonly tenant: Tenant
  /** The agent whose turn it is. */
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

/** The definition of an agent whose instructions, title and tools may be functions of the run. */
export interface AgentOptions<
  ContextSchema extends AnySchema,
  Name extends string = string
> extends Omit<Written, "instructions" | "name" | "tools"> {
  /** Messages name it: a lower-case letter and up to 63 of them, digits, `_` or `-`. Throws `InvalidInput` if it does not fit. */
  readonly name: Name
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
   * What a conversation is called that a message to this agent begins: a pure, quick function of the message, called for each
   * one that is accepted. At most 200 characters are kept. Absent, or where it throws or gives no text = the first words.
   */
  readonly title?: (message: { readonly text: string }) => string
  /**
   * Names of tools; or an object that says for each name whether a turn is offered that tool. One that is not registered ends
   * the start. Absent = none.
   */
  readonly tools?:
    | ReadonlyArray<string>
    | Readonly<Record<string, boolean | ((run: TurnRun<ContextOf<ContextSchema>>) => boolean)>>
  /**
   * Guards of this agent's texts, without `agents`: also as a specialist, and once a conversation was handed over to it. Those of
   * the start judge first. Several agents may share one. At most 16, with those of the start. Absent = those of the start alone.
   */
  readonly guards?: ReadonlyArray<Guard>
}

/** The parts of an agent that cannot be stored as data: a schema and functions. */
export interface Declared<
  ContextSchema extends AnySchema = AnySchema,
  Name extends string = string
> {
  /** The agent's name: types of messages look it up. */
  readonly name: Name
  readonly context: ContextSchema | undefined
  /** Undefined = the instructions of the spec. */
  readonly instructions: ((run: TurnRun<never>) => string) | undefined
  /** Undefined = the first words of a message. */
  readonly title: ((message: { readonly text: string }) => string) | undefined
  /**
   * Decides for a turn whether it is offered a tool, by the tool's name or key as the spec has it. Tools without an entry are
   * always offered.
   */
  readonly offers: Readonly<Record<string, (run: TurnRun<never>) => boolean>>
  /** Its own, in the order in which they judge. */
  readonly guards: ReadonlyArray<Guard>
}

const declared: unique symbol = Symbol("troupe/agent/Declared")

/** An agent's definition together with its functions. It can stand in `agents: [...]`, and can name the agent of a message. */
export interface DeclaredAgent<
  ContextSchema extends AnySchema = AnySchema,
  Name extends string = string
> extends AgentSpec {
  readonly [declared]: Declared<ContextSchema, Name>
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
export const agent = <ContextSchema extends AnySchema = never, const Name extends string = string>({
  context,
  guards = [],
  instructions,
  title,
  tools,
  ...rest
}: AgentOptions<ContextSchema, Name>): DeclaredAgent<ContextSchema, Name> => {
  const named: ReadonlyArray<string> = Array.isArray(tools) ? tools : []
  const byName: Readonly<Record<string, boolean | Declared["offers"][string]>> =
    tools === undefined || Array.isArray(tools) ? {} : { ...(tools as typeof byName) }
  const given = Object.entries(byName).filter(([, offer]) => offer !== false)
  const misguarded = ownGuardsProblem(guards)
  if (misguarded !== undefined) {
    const [field, reason] = misguarded
    throw new InvalidInput({ field, reason, owner: ownerOf("agent", rest) })
  }
  const odd = given.find(([, offer]) => offer !== true && typeof offer !== "function")
  if (odd !== undefined) {
    throw new InvalidInput({
      field: `tools.${odd[0]}`,
      reason: cureOf(odd[1]) ?? "Expected true, false or a function of the run",
      owner: ownerOf("agent", rest)
    })
  }
  const spec = AgentSpec.make({
    ...rest,
    instructions: typeof instructions === "function" ? "" : instructions,
    tools: [...named, ...given.map(([name]) => name)]
  })
  const offers = Object.fromEntries(
    given.filter((entry): entry is [string, Declared["offers"][string]] => entry[1] !== true)
  )
  const parts: Declared<ContextSchema, Name> = {
    name: rest.name,
    context,
    instructions: typeof instructions === "function" ? instructions : undefined,
    title,
    offers,
    guards: [...guards]
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
