/**
 * Which calls hold the keys of conversations and tenants. A reservation is in the transaction of its call's dispatch, so that
 * neither is without the other, and the key of the table has a second one wait for the first. A store that is lost with its process
 * takes no further key while 100,000 hold: to forget one could repeat a side effect.
 */
import { Effect, Layer, Schema } from "effect"
import { IdempotencyKeys } from "../../services/IdempotencyKeys.ts"
import { Rows } from "../../services/Rows.ts"
import { CallId, RunId, Tenant } from "../../src/value/Ids.ts"
import { anyTenant, int4, int8, json, optional, table, tableRows, text, uuid } from "./TypedRows.ts"

/** The most expired keys that a reservation removes: more than it adds, so that none are left in the end. */
const removed_max = 4_000
/** Each of so many reservations of a process removes expired keys. */
const removed_each = 1_000

export const idempotencyKeys = table({
  name: "idempotency_keys",
  what: "holders of keys",
  key: ["tenant", "key"],
  columns: {
    tenant: text(Tenant),
    key: text(Schema.String),
    run: uuid(RunId),
    call: text(CallId),
    seq: int4,
    asked: text(Schema.String),
    at: int8,
    expires_at: int8,
    freed: optional(
      json(
        Schema.Struct({ by: Schema.String, via: Schema.optionalKey(Schema.String), at: Schema.Int })
      )
    )
  },
  erased: { marked: { freed: new Set(["by", "via"]) } },
  group: [],
  kept: {
    rows_max: 100_000,
    spares: ({ expires_at }, { at }) => Number(expires_at) > Number(at),
    refuses: "keys"
  }
})

const make = Effect.map(Rows, (driver) => {
  const rows = tableRows(driver, idempotencyKeys)
  let reservations = 0
  return IdempotencyKeys.of({
    find: (tenant, key, now) => rows.one({ tenant, key, expires_at: [">", now] }),
    reserve: Effect.fnUntraced(function* (claim, over) {
      const { at, call, key, run, tenant } = claim
      if (reservations++ % removed_each === 0) {
        yield* rows.remove({
          where: { tenant: anyTenant, expires_at: ["<", at + 1] },
          order: ["expires_at"],
          limit: removed_max,
          lock: "skip"
        })
      }
      if ((yield* rows.add([claim])) > 0) return true
      const given = over === undefined ? [] : [{ run: over.run, call: over.call, seq: over.seq }]
      const replaced = { expires_at: ["<", at + 1] } as const
      const written = yield* rows.set(
        { where: { tenant, key }, or: [replaced, { run, call }, ...given] },
        { ...claim, freed: undefined }
      )
      return written > 0
    }),
    free: ({ call, run, tenant }, freed) =>
      Effect.map(
        rows.set(
          { where: { tenant, run, call, freed: null, expires_at: [">", freed.at] } },
          { freed }
        ),
        (written) => written > 0
      )
  })
})

export const layer: Layer.Layer<IdempotencyKeys, never, Rows> = Layer.effect(IdempotencyKeys, make)
