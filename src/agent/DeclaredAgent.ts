/**
 * An agent whose runs are told a context by their messages: the schema of that context, and instructions and tools that depend
 * on it.
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
 * The functions are called once for each turn, have to be pure, and see no secret. The journal has a digest of what they gave.
 */
import type { AgentName, RunId, Tenant } from "../Ids.ts"
import type { Roles } from "../Principal.ts"
import type { Plain, Public } from "../run/ContextSecrets.ts"
import type { AnySchema, Decoded } from "../tool/ToolCodec.ts"
import { AgentSpec } from "./AgentSpec.ts"

/** The run of a turn, as the functions of its agent may read it. */
export interface TurnRun<Context = unknown> {
  readonly run: RunId
  readonly tenant: Tenant
  readonly agent: AgentName
  /** The principal whose message began the run. */
  readonly principal: string
  /** The roles that it had then. None where they are not known. */
  readonly roles: Roles
  /** What its message told the run, as the agent's `context` decodes it, without secrets. Undefined = the agent declares none. */
  readonly context: Context
}

type ContextOf<Told extends AnySchema> = [Told] extends [never] ? undefined : Public<Decoded<Told>>

type Written = Parameters<typeof AgentSpec.make>[0]

export interface AgentOptions<Told extends AnySchema> extends Omit<
  Written,
  "instructions" | "tools"
> {
  /**
   * What a message has to tell a run of this agent (`send({ context })`). One that does not, or says more, is refused. Members
   * that hold a `Redacted` are secrets: told to tools that declare them, and journaled nowhere. Absent = nothing.
   */
  readonly context?: Told
  readonly instructions: string | ((run: TurnRun<ContextOf<Told>>) => string)
  /** Names; or by name whether a turn is offered the tool. */
  readonly tools?:
    | ReadonlyArray<string>
    | Readonly<Record<string, boolean | ((run: TurnRun<ContextOf<Told>>) => boolean)>>
}

/** The parts of an agent that are no data. */
export interface Declared<Told extends AnySchema = AnySchema> {
  readonly context: Told | undefined
  /** Absent = those of the spec. */
  readonly instructions: ((run: TurnRun<never>) => string) | undefined
  /** By the name or key that the spec has. Of the others, each turn is offered all. */
  readonly offers: Readonly<Record<string, (run: TurnRun<never>) => boolean>>
}

const declared: unique symbol = Symbol("troupe/agent/Declared")

/** A definition with its functions, which stands in `agents: [...]` and names the agent of a message. */
export interface DeclaredAgent<Told extends AnySchema = AnySchema> extends AgentSpec {
  readonly [declared]: Declared<Told>
}

/** What a message tells a run of this agent, as JSON. */
export type ContextGiven<Told> = Told extends { readonly Encoded: unknown }
  ? Plain<Told["Encoded"]>
  : Told extends {
        readonly "~standard": { readonly types?: { readonly input: infer Input } | undefined }
      }
    ? Input
    : never

/** Declares an agent, as the head of this file shows. Throws where a member is not what its type says, as `AgentSpec.make` does. */
export const agent = <Told extends AnySchema = never>({
  context,
  instructions,
  tools,
  ...rest
}: AgentOptions<Told>): DeclaredAgent<Told> => {
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
  const parts: Declared<Told> = {
    context,
    instructions: typeof instructions === "function" ? instructions : undefined,
    offers
  }
  return { ...spec, [declared]: parts }
}

/** The definition alone, and its functions; undefined = it has none. */
export const declarationOf = (
  given: unknown
): { readonly spec: unknown; readonly declared: Declared | undefined } => {
  if (typeof given !== "object" || given === null || !(declared in given)) {
    return { spec: given, declared: undefined }
  }
  const { [declared]: parts, ...spec } = given as DeclaredAgent
  return { spec, declared: parts }
}
