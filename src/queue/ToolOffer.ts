/**
 * The tools that workers of a queue offer to run, and how a runtime that calls them reads these offers.
 */
import { canonical } from "../value/Canonical.ts"
import type { ToolListing } from "../tool/Registry.ts"
import { toolListings } from "../tool/Registry.ts"
import type { ToolSpec } from "../tool/ToolSpec.ts"
import { toolKeyOf } from "../tool/ToolSpec.ts"

/** An offer of one worker to run one tool. */
export interface ToolOffer {
  /** The worker's name, which is different for each start of a worker. */
  readonly worker: string
  /** The name of the worker's provider, which is the same at each start. */
  readonly provider: string
  readonly spec: ToolSpec
  /** False = the worker has stopped, or its offer has expired. */
  readonly available: boolean
}

/** A worker and the tools that it runs. `expires_at` is until when it counts as available, in ms since 1970. */
export interface Offering extends Pick<ToolOffer, "worker" | "provider"> {
  readonly tools: ReadonlyArray<ToolSpec>
  readonly expires_at: number
}

/** The offers sorted by tool key. Offers for the same tool are in the order of the workers, available ones first. */
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

/**
 * One line for each tool that is not deprecated, sorted by name, as a registry lists them. A tool is available if one worker
 * that offers it is.
 */
export const discoverOffers = (offers: ReadonlyArray<ToolOffer>): ReadonlyArray<ToolListing> => {
  const best = new Map<string, ToolOffer>()
  for (const offer of offers) {
    const key = toolKeyOf(offer.spec)
    const known = best.get(key)
    if (known === undefined || (offer.available && !known.available)) best.set(key, offer)
  }
  return toolListings([...best].map(([key, offer]) => ({ ...offer, key })))
}

/**
 * The fields that must be equal at both ends of a call. A sender that took a write for a read, for example, would send it again.
 */
const alike = ["input_schema", "output_schema", "side_effects", "idempotent"] as const

/** The fields in which an offered tool differs from its declaration; empty if they agree. */
export const differingFields = (declared: ToolSpec, offered: ToolSpec): ReadonlyArray<string> =>
  alike.filter((field) => canonical(declared[field]) !== canonical(offered[field]))
