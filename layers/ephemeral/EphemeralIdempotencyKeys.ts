/**
 * Which calls hold the keys of conversations and tenants, in one process. With 100,000 keys that have not expired no further one
 * is taken: to forget one could repeat a side effect.
 */
import { Effect, Layer } from "effect"
import type { KeyClaim } from "../../services/IdempotencyKeys.ts"
import { IdempotencyKeys } from "../../services/IdempotencyKeys.ts"
import { StoreError } from "../../services/StoreError.ts"
import type { Tenant } from "../../src/Ids.ts"

const keys_max = 100_000

const make = Effect.sync(() => {
  const held = new Map<string, KeyClaim>()
  const placeOf = (tenant: Tenant, key: string) => `${key} ${tenant}`
  const standing = (place: string, now: number) => {
    const found = held.get(place)
    return found === undefined || found.expires_at <= now ? undefined : found
  }
  const removeExpired = (now: number) => {
    for (const [place, { expires_at }] of held) if (expires_at <= now) held.delete(place)
  }
  return IdempotencyKeys.of({
    find: (tenant, key, now) => Effect.sync(() => standing(placeOf(tenant, key), now)),
    reserve: (claim, over) =>
      Effect.suspend(() => {
        const { at, call, key, run, tenant } = claim
        const place = placeOf(tenant, key)
        const holder = standing(place, at)
        const isFree =
          holder === undefined ||
          (holder.run === run && holder.call === call) ||
          (holder.run === over?.run && holder.call === over.call && holder.seq === over.seq)
        if (!isFree) return Effect.succeed(false)
        if (held.size >= keys_max) removeExpired(at)
        if (held.size >= keys_max && !held.has(place)) {
          return Effect.fail(new StoreError({ message: `${keys_max} keys are held` }))
        }
        held.set(place, claim)
        return Effect.succeed(true)
      })
  })
})

export const layer: Layer.Layer<IdempotencyKeys> = Layer.effect(IdempotencyKeys, make)
