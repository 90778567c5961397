/**
 * Warnings at the start of a runtime about the workers that its remote tools need. They are only warnings, because workers
 * may start later. Private to the remote tool.
 */
import { Effect } from "effect"
import { differingFields } from "../../../src/queue/ToolOffer.ts"
import type { ToolOffer } from "../../../src/queue/ToolOffer.ts"
import type { ToolSpec } from "../../../src/tool/ToolSpec.ts"
import { toolKeyOf } from "../../../src/tool/ToolSpec.ts"
import type { ToolQueue } from "../../../services/ToolQueue.ts"

const warningOf = (
  spec: ToolSpec,
  offers: ReadonlyArray<ToolOffer>,
  wait_ms: number
): string | undefined => {
  const available = offers.filter(({ available }) => available)
  if (available.length === 0) {
    return `no worker offers the tool "${toolKeyOf(spec)}" now; each call of it waits up to ${wait_ms} ms for one`
  }
  const differences = available.flatMap(({ provider, spec: offered }) => {
    const fields = differingFields(spec, offered)
    return fields.length === 0 ? [] : [`"${provider}" in ${fields.join(", ")}`]
  })
  return differences.length === 0
    ? undefined
    : `the tool "${toolKeyOf(spec)}" is declared here unlike at the worker ${[...new Set(differences)].join(" and ")}. Declare it alike at both ends`
}

/** Warns where no worker offers the tool now, or one offers it with other fields than are declared here. Never fails. */
export const warnOfMissingWorkers = (
  queue: ToolQueue["Service"],
  spec: ToolSpec,
  wait_ms: number
): Effect.Effect<void> =>
  queue.list([toolKeyOf(spec)]).pipe(
    Effect.map((offers) => warningOf(spec, offers, wait_ms)),
    Effect.catch(({ message }) =>
      Effect.succeed(`what workers offer of the tool "${toolKeyOf(spec)}" is not known: ${message}`)
    ),
    Effect.flatMap((warning) => (warning === undefined ? Effect.void : Effect.logWarning(warning)))
  )
