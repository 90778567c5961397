/**
 * What the functions of a declared agent give for a turn: its instructions, and which of its tools the turn is offered.
 */
import { Effect, Exit, Result } from "effect"
import type { Digest } from "effect/crypto"
import type { Declared, TurnRun } from "../../../src/agent/DeclaredAgent.ts"
import { contextFor } from "../../../src/run/RunContext.ts"
import type { ContextReader } from "../../../src/run/RunContext.ts"
import type { TurnInputs } from "../../../src/run/RunEvent.ts"
import { ignoreRejection } from "../../../src/value/IgnoredRejection.ts"
import type { AgentOfTurn, ResolvedAgent } from "../../../services/AgentDirectory.ts"
import { digestOf } from "../tool/CallDigests.ts"

/** The longest instructions that a function may give, in UTF-16 units. */
const instructions_units_max = 400_000
/** How many different turns of one agent are kept, so that what is counted of their prompts is counted once. */
const turns_max = 256

export interface TurnParts {
  readonly digest: Digest.Digest["Service"]
  readonly instructions: Declared["instructions"]
  /** By the plain names of tools. */
  readonly offers: ReadonlyMap<string, Declared["offers"][string]>
  /** Reads the context without its secrets. */
  readonly context: ContextReader | undefined
}

const instructionsOf = (write: (run: TurnRun<never>) => unknown, run: TurnRun): string => {
  const given = write(run as TurnRun<never>)
  if (typeof given !== "string" || given.length > instructions_units_max) {
    ignoreRejection(given)
    throw new TypeError(
      `its instructions are no text of at most ${instructions_units_max} characters`
    )
  }
  return given
}

const withheldBy = (offers: TurnParts["offers"], run: TurnRun): ReadonlyArray<string> =>
  [...offers].flatMap(([name, offer]) => {
    const given: unknown = offer(run as TurnRun<never>)
    if (typeof given !== "boolean") {
      ignoreRejection(given)
      throw new TypeError(`whether it offers "${name}" is neither true nor false`)
    }
    return given ? [] : [name]
  })

const turnOf = (
  { digest }: TurnParts,
  agent: ResolvedAgent,
  instructions: string,
  without: ReadonlyArray<string>
): AgentOfTurn => {
  const modelTools = agent.modelTools.filter(({ name }) => !without.includes(name))
  const shown = { instructions, tools: modelTools.map(({ name }) => name) }
  return {
    agent: { ...agent, spec: { ...agent.spec, instructions }, modelTools },
    inputs: Effect.map(digestOf(digest, shown), (digest): TurnInputs =>
      without.length === 0 ? { digest } : { digest, without }
    )
  }
}

/** The agents of turns, by what the functions give. The same one each time, as long as it is kept. */
export const make = (parts: TurnParts): NonNullable<ResolvedAgent["forTurn"]> => {
  const known = new WeakMap<ResolvedAgent, Map<string, AgentOfTurn>>()
  const { context: reader, instructions: write, offers } = parts
  return (agent, { context, ...judged }) => {
    const decoded =
      reader === undefined ? undefined : contextFor(reader, { context, secrets: undefined })
    if (decoded !== undefined && Exit.isFailure(decoded)) {
      throw new TypeError("the context of the run is not what the agent reads")
    }
    const run: TurnRun = { ...judged, agent: agent.spec.name, context: decoded?.value }
    const instructions = write === undefined ? agent.spec.instructions : instructionsOf(write, run)
    const without = withheldBy(offers, run).filter((name) => agent.tools.has(name))
    const key = JSON.stringify([instructions, without])
    let turns = known.get(agent)
    if (turns === undefined || turns.size >= turns_max) known.set(agent, (turns = new Map()))
    let turn = turns.get(key)
    if (turn === undefined) turns.set(key, (turn = turnOf(parts, agent, instructions, without)))
    return turn
  }
}

/** Why the functions cannot be called, as from JavaScript they may be anything; undefined = they can. */
export const misdeclaredPart = ({ context, instructions, offers, title }: Declared) =>
  Result.getOrElse(
    Result.try(() => {
      if (instructions !== undefined && typeof instructions !== "function") return "instructions"
      if (title !== undefined && typeof title !== "function") return "title"
      if (Object.values(offers).some((offer) => typeof offer !== "function")) return "tools"
      const isSchema = context === undefined || "~standard" in context || "ast" in context
      return isSchema ? undefined : "context"
    }),
    () => "context" as const
  )
