/**
 * Checks what a message tells its run, before it is accepted: its agent, and each tool that declares a context, have to be able
 * to read it. What they make secret is kept apart, so that it is written nowhere.
 */
import { Cause, Effect, Exit, Result } from "effect"
import { truncateUnits } from "../../../src/value/CutText.ts"
import { memoised } from "../../../src/value/Memoised.ts"
import { InvalidInput } from "../../../src/schema/InvalidInput.ts"
import type { ContextReader, RunContext } from "../../../src/run/RunContext.ts"
import {
  addSecretTexts,
  contextFor,
  no_context,
  separateSecrets
} from "../../../src/run/RunContext.ts"
import { refusalPath, refusalText } from "../../../src/schema/SchemaIssues.ts"
import type { KeptSecrets } from "../tool/RunSecrets.ts"
import type { AgentDirectory, ResolvedAgent } from "../../../services/AgentDirectory.ts"

/** Whoever reads the contexts of an agent's runs, and the members that any of them makes secret. */
interface Readers {
  readonly all: ReadonlyArray<{ readonly who: string; readonly reader: ContextReader }>
  readonly secrets: ReadonlySet<string>
}

/** The agent, its tools, and those of the agents that may take part in its runs. */
const readersOf = (directory: AgentDirectory["Service"], agent: ResolvedAgent): Readers => {
  const seen = new Set([agent])
  // Iterating a set also visits what is added meanwhile: the other agents may name others.
  for (const { handoffs, specialists } of seen) {
    for (const name of [...specialists.values(), ...(handoffs?.values() ?? [])]) {
      const other = directory.get(name)
      if (other !== undefined) seen.add(other)
    }
  }
  const all = [...seen].flatMap(({ context, spec, tools }) => [
    ...(context === undefined
      ? []
      : [
          {
            who: `the agent "${spec.name}"`,
            // The context is meant for all of them, so it may have members that this agent does not read.
            reader: seen.size === 1 ? context : { ...context, decode: context.decodeWithExcess }
          }
        ]),
    ...[...tools.values()].flatMap(({ context, spec }) =>
      context === undefined ? [] : [{ who: `the tool "${spec.name}"`, reader: context }]
    )
  ])
  return { all, secrets: new Set(all.flatMap(({ reader }) => reader.secrets)) }
}

/** The refusal names the member. What is said of a secret, or of a whole with secrets in it, may quote it, and is left out. */
const refused = (who: string, error: unknown, secrets: ReadonlySet<string>): InvalidInput => {
  const path = refusalPath(error)
  const mayQuote = path[0] === undefined ? secrets.size > 0 : secrets.has(path[0])
  const why = mayQuote ? "it is not what is expected" : refusalText(error)
  return new InvalidInput({
    field: ["message.context", ...path.map((part) => truncateUnits(part, 64))].join("."),
    reason: truncateUnits(`${who} reads it: ${why}`, 300)
  })
}

const read = (
  { all, secrets }: Readers,
  given: RunContext | undefined
): Result.Result<ReadContext, InvalidInput> => {
  const separated = separateSecrets(given ?? no_context, secrets)
  const { context, secrets: members } = separated
  const texts = new Set<string>()
  for (const { reader, who } of all) {
    const decoded = contextFor(reader, separated)
    if (Exit.isFailure(decoded))
      return Result.fail(refused(who, Cause.squash(decoded.cause), secrets))
    if (members !== undefined) addSecretTexts(members, decoded.value, texts)
  }
  if (given === undefined) return Result.succeed(nothing)
  return Result.succeed({
    context,
    secrets: members === undefined ? undefined : { members, texts: [...texts] }
  })
}

/** A context that was read: what is journaled, and what is kept for its run. */
interface ReadContext {
  readonly context: RunContext | undefined
  readonly secrets: KeptSecrets | undefined
}

const nothing: ReadContext = { context: undefined, secrets: undefined }

/** Checks the context of a message to an agent. Fails where the agent, or a tool that may take part, cannot read it. */
export const contextReaders = (directory: AgentDirectory["Service"]) => {
  const readersFor = memoised((agent: ResolvedAgent) => readersOf(directory, agent))
  return (
    agent: ResolvedAgent,
    context: RunContext | undefined
  ): Effect.Effect<ReadContext, InvalidInput> => {
    const readers = readersFor(agent)
    return context === undefined && readers.all.length === 0
      ? Exit.succeed(nothing)
      : Effect.fromResult(read(readers, context))
  }
}
