/**
 * The tools that workers offer, in PostgreSQL: one row for each worker, so that a renewal is a small write. Private to this room;
 * the queue of tool calls includes these methods.
 */
import { Clock, Effect, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { ToolQueue } from "../../../services/ToolQueue.ts"
import {
  announced_length_max,
  announced_tools_max,
  unavailable_listed_ms
} from "../../../services/ToolQueue.ts"
import { offersOf } from "../../../src/queue/ToolOffer.ts"
import { encodeToolSpec, toolKeyOf, ToolSpec } from "../../../src/tool/ToolSpec.ts"
import { readableRows } from "../engine/DecodedRows.ts"
import { toStoreError } from "../engine/SqlFailure.ts"
import { StoredText } from "../engine/StoredText.ts"

const decodeWorkers = readableRows(
  Schema.Struct({
    worker: Schema.String,
    provider: StoredText,
    tools: Schema.String,
    expires_at: Schema.Number
  }),
  "workers of tools"
)

const workers_max = 1_000

/** Specs that cannot be read, such as those of another release, are not listed. */
const readSpec = Schema.decodeUnknownOption(ToolSpec)
const readSpecs = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Array(Schema.Unknown)))

const specsIn = (tools: string): ReadonlyArray<ToolSpec> =>
  Option.getOrElse(readSpecs(tools), () => []).flatMap((each) => Option.toArray(readSpec(each)))

export const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  const announce: ToolQueue["Service"]["announce"] = Effect.fn("ToolQueue.announce")(function* ({
    lease_ms,
    provider,
    tools,
    worker
  }) {
    const encoded = yield* Effect.orDie(Effect.forEach(tools, (spec) => encodeToolSpec(spec)))
    const text = JSON.stringify(encoded)
    if (tools.length > announced_tools_max || text.length > announced_length_max) {
      return yield* Effect.die(new RangeError("a worker offers too many tools"))
    }
    const now = yield* Clock.currentTimeMillis
    const keys = tools.map(toolKeyOf)
    yield* sql`
      WITH gone AS (
        DELETE FROM troupe.tool_workers
        WHERE worker <> ${worker}::text AND expires_at <= ${now}::int8
          AND (keys <@ ${keys}::text[] OR expires_at <= ${now - unavailable_listed_ms}::int8)
      )
      INSERT INTO troupe.tool_workers (worker, provider, keys, tools, expires_at)
      VALUES (${worker}::text, ${JSON.stringify(provider)}::text, ${keys}::text[], ${text}::text,
        ${now + lease_ms}::int8)
      ON CONFLICT (worker) DO UPDATE SET provider = EXCLUDED.provider, keys = EXCLUDED.keys,
        tools = EXCLUDED.tools, expires_at = EXCLUDED.expires_at`
  }, Effect.mapError(toStoreError))

  const renew: ToolQueue["Service"]["renew"] = Effect.fnUntraced(function* (worker, lease_ms) {
    const now = yield* Clock.currentTimeMillis
    const rows = yield* sql`
      UPDATE troupe.tool_workers SET expires_at = ${now + lease_ms}::int8
      WHERE worker = ${worker}::text RETURNING 1`
    return rows.length > 0
  }, Effect.mapError(toStoreError))

  const list: ToolQueue["Service"]["list"] = Effect.fn("ToolQueue.list")(function* (keys) {
    const now = yield* Clock.currentTimeMillis
    const rows = yield* sql`
      SELECT worker, provider, tools, expires_at::float8 AS expires_at FROM troupe.tool_workers
      WHERE ${keys === undefined}::boolean OR keys && ${keys ?? []}::text[]
      ORDER BY expires_at DESC LIMIT ${workers_max}::int4`
    const workers = yield* decodeWorkers(rows)
    return offersOf(
      workers.map(({ tools, ...worker }) => ({ ...worker, tools: specsIn(tools) })),
      now,
      keys
    )
  }, Effect.mapError(toStoreError))

  return { announce, renew, list }
})
