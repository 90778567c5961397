/**
 * The database's shape, in numbered steps that are only ever appended to. All that are missing run in one transaction,
 * and of several processes that start together one runs them.
 */
import { Effect, Layer, Record } from "effect"
import { Migrator, SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql"
import { migration as runs } from "./migrations/0001_runs.ts"
import { migration as delivery } from "./migrations/0002_delivery.ts"
import { migration as append } from "./migrations/0003_append.ts"
import { migration as costs } from "./migrations/0004_costs.ts"
import { migration as tools } from "./migrations/0005_tools.ts"
import { migration as mcpPins } from "./migrations/0006_mcp_pins.ts"
import { migration as callRecords } from "./migrations/0007_call_records.ts"
import { migration as toolQueue } from "./migrations/0008_tool_queue.ts"
import { migration as claims } from "./migrations/0009_claims.ts"
import { migration as toolCosts } from "./migrations/0010_tool_costs.ts"
import { migration as toolWorkers } from "./migrations/0011_tool_workers.ts"
import { migration as tenants } from "./migrations/0012_tenants.ts"
import { migration as hosts } from "./migrations/0013_hosts.ts"
import { migration as owners } from "./migrations/0014_owners.ts"
import { migration as quarantine } from "./migrations/0015_quarantine.ts"
import { migration as conversationOwners } from "./migrations/0016_conversation_owners.ts"
import { migration as hosted } from "./migrations/0017_hosted.ts"
import { migration as runList } from "./migrations/0018_run_list.ts"
import { migration as turns } from "./migrations/0019_turns.ts"

/** The name begins with the number. */
const migrations = {
  "0001_runs": runs,
  "0002_delivery": delivery,
  "0003_append": append,
  "0004_costs": costs,
  "0005_tools": tools,
  "0006_mcp_pins": mcpPins,
  "0007_call_records": callRecords,
  "0008_tool_queue": toolQueue,
  "0009_claims": claims,
  "0010_tool_costs": toolCosts,
  "0011_tool_workers": toolWorkers,
  "0012_tenants": tenants,
  "0013_hosts": hosts,
  "0014_owners": owners,
  "0015_quarantine": quarantine,
  "0016_conversation_owners": conversationOwners,
  "0017_hosted": hosted,
  "0018_run_list": runList,
  "0019_turns": turns
}

/** A step may take longer than the statements of a run may. */
const patient = <E>(step: Effect.Effect<void, E, SqlClient.SqlClient>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql.unsafe("SET LOCAL statement_timeout = 0")
    yield* step
  })

/** Brings the database up to date; the numbers and names of what it ran. */
export const run: Effect.Effect<
  ReadonlyArray<readonly [id: number, name: string]>,
  Migrator.MigrationError | SqlError.SqlError,
  SqlClient.SqlClient
> = Migrator.make({})({
  loader: Migrator.fromRecord(Record.map(migrations, patient)),
  table: "troupe_migrations"
})

export const layer: Layer.Layer<
  never,
  Migrator.MigrationError | SqlError.SqlError,
  SqlClient.SqlClient
> = Layer.effectDiscard(run)
