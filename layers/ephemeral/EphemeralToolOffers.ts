/**
 * The tools that the workers of an ephemeral queue offer, and the preliminary results of calls. Private to this room.
 */
import { Clock, Effect } from "effect"
import type { Announcement, ToolQueue } from "../../services/ToolQueue.ts"
import {
  announced_length_max,
  announced_tools_max,
  unavailable_listed_ms
} from "../../services/ToolQueue.ts"
import { isShowable } from "../../src/queue/ToolMessage.ts"
import type { Offering } from "../../src/queue/ToolOffer.ts"
import { offersOf } from "../../src/queue/ToolOffer.ts"
import { toolKeyOf } from "../../src/tool/ToolSpec.ts"

const workers_max = 1_000

const isTooLarge = ({ tools }: Announcement): boolean =>
  tools.length > announced_tools_max || JSON.stringify(tools).length > announced_length_max

export const makeOffers = (
  clock: Clock.Clock
): Pick<ToolQueue["Service"], "announce" | "renew" | "list"> => {
  const workers = new Map<string, Offering>()

  const announce = (offer: Announcement): void => {
    const now = clock.currentTimeMillisUnsafe()
    const keys = new Set(offer.tools.map(toolKeyOf))
    for (const [name, { expires_at, tools }] of workers) {
      const isReplaced = tools.every((spec) => keys.has(toolKeyOf(spec)))
      if (expires_at <= now && (isReplaced || expires_at <= now - unavailable_listed_ms))
        workers.delete(name)
    }
    workers.set(offer.worker, { ...offer, expires_at: now + offer.lease_ms })
  }

  return {
    announce: (offer) =>
      isTooLarge(offer)
        ? Effect.die(new RangeError("a worker offers too many tools"))
        : Effect.sync(() => announce(offer)),
    renew: (worker, lease_ms) =>
      Effect.sync(() => {
        const known = workers.get(worker)
        if (known === undefined) return false
        workers.set(worker, { ...known, expires_at: clock.currentTimeMillisUnsafe() + lease_ms })
        return true
      }),
    list: (keys) =>
      Effect.sync(() => {
        const latest = [...workers.values()].sort((a, b) => b.expires_at - a.expires_at)
        return offersOf(latest.slice(0, workers_max), clock.currentTimeMillisUnsafe(), keys)
      })
  }
}

export const makePreliminaryResults = (): Pick<ToolQueue["Service"], "show" | "onShown"> => {
  const listeners = new Map<string, Set<(json: string) => void>>()
  return {
    show: (id, json) =>
      Effect.sync(() => {
        if (isShowable(json)) for (const listener of listeners.get(id) ?? []) listener(json)
      }),
    onShown: (id, listener) =>
      Effect.acquireRelease(
        Effect.sync(() => {
          const those = listeners.get(id) ?? new Set()
          listeners.set(id, those.add(listener))
        }),
        () =>
          Effect.sync(() => {
            const those = listeners.get(id)
            those?.delete(listener)
            if (those?.size === 0) listeners.delete(id)
          })
      )
  }
}
