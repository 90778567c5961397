/**
 * Which calls hold the keys of conversations and tenants, in one process. With 100,000 keys that have not expired no further one
 * is taken: to forget one could repeat a side effect.
 */
import { Effect, Layer } from "effect"
import type { KeyClaim, KeyHolder } from "../../services/IdempotencyKeys.ts"
import { IdempotencyKeys } from "../../services/IdempotencyKeys.ts"
import { StoreError } from "../../services/StoreError.ts"
import type { Tenant } from "../../src/value/Ids.ts"
import { offerRows } from "./EphemeralStore.ts"

const keys_max = 100_000

const person: ReadonlySet<string> = new Set(["by"])

const make = Effect.gen(function* () {
  const held = new Map<string, KeyClaim & Pick<KeyHolder, "freed">>()
  const placeOf = (tenant: Tenant, key: string) => `${key} ${tenant}`
  const standing = (place: string, now: number) => {
    const found = held.get(place)
    return found === undefined || found.expires_at <= now ? undefined : found
  }
  const removeExpired = (now: number) => {
    for (const [place, { expires_at }] of held) if (expires_at <= now) held.delete(place)
  }
  yield* offerRows("idempotency_keys", (tenant) =>
    [...held].flatMap(([place, holder]) =>
      holder.tenant !== tenant || holder.freed === undefined
        ? []
        : [
            {
              value: holder.freed,
              texts: person,
              remove: () => void held.delete(place),
              replace: (marked) =>
                void held.set(place, { ...holder, freed: marked as typeof holder.freed })
            }
          ]
    )
  )
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
      }),
    free: ({ call, run, tenant }, freed) =>
      Effect.sync(() => {
        for (const [place, holder] of held) {
          if (holder.tenant !== tenant || holder.run !== run || holder.call !== call) continue
          if (holder.freed !== undefined || holder.expires_at <= freed.at) return false
          held.set(place, { ...holder, freed })
          return true
        }
        return false
      })
  })
})

export const layer: Layer.Layer<IdempotencyKeys> = Layer.effect(IdempotencyKeys, make)
