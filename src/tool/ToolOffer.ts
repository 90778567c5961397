/**
 * What workers of a queue offer to run, and what a runtime that calls their tools makes of it.
 */
import { canonical } from "../Canonical.ts"
import type { ToolListing } from "./Registry.ts"
import { toolListings } from "./Registry.ts"
import type { ToolSpec } from "./ToolSpec.ts"
import { toolKeyOf } from "./ToolSpec.ts"

/** One tool of one worker. */
export interface ToolOffer {
  /** A name of its own for each worker that starts. */
  readonly worker: string
  /** Who runs it: the same at each start. */
  readonly provider: string
  readonly spec: ToolSpec
  /** False: the worker has stopped, or its offer has expired. */
  readonly available: boolean
}

/** A worker, what it runs, and until when it counts as available, in ms since 1970. */
export interface Offering extends Pick<ToolOffer, "worker" | "provider"> {
  readonly tools: ReadonlyArray<ToolSpec>
  readonly expires_at: number
}

/** Tool by tool, by key; of workers as they are ordered, but those available first. */
export const offersOf = (
  workers: ReadonlyArray<Offering>,
  now: number,
  keys?: ReadonlyArray<string>
): ReadonlyArray<ToolOffer> =>
  workers
    .flatMap(({ expires_at, provider, tools, worker }) =>
      tools.map((spec) => ({
        key: toolKeyOf(spec),
        offer: { worker, provider, spec, available: expires_at > now }
      }))
    )
    .filter(({ key }) => keys === undefined || keys.includes(key))
    .sort((a, b) =>
      a.key === b.key
        ? Number(b.offer.available) - Number(a.offer.available)
        : a.key < b.key
          ? -1
          : 1
    )
    .map(({ offer }) => offer)

/** One line for each tool that is not deprecated, sorted by name, as a registry has them; available if one worker is. */
export const discoverOffers = (offers: ReadonlyArray<ToolOffer>): ReadonlyArray<ToolListing> => {
  const best = new Map<string, ToolOffer>()
  for (const offer of offers) {
    const key = toolKeyOf(offer.spec)
    const known = best.get(key)
    if (known === undefined || (offer.available && !known.available)) best.set(key, offer)
  }
  return toolListings([...best].map(([key, offer]) => ({ ...offer, key })))
}

/** What both ends of a call have to say alike: a sender that takes a write for a read would send it again. */
const alike = ["input_schema", "output_schema", "side_effects", "idempotent"] as const

/** The fields in which a tool is offered otherwise than it is declared; empty if the two fit. */
export const differingFields = (declared: ToolSpec, offered: ToolSpec): ReadonlyArray<string> =>
  alike.filter((field) => canonical(declared[field]) !== canonical(offered[field]))
