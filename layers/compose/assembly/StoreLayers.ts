/**
 * The stores of a runtime: in memory, in a directory (PGlite), or on a PostgreSQL server. A driver is loaded only when
 * it is used.
 */
import { getHeapStatistics } from "node:v8"
import { Context, Effect, Layer, Redacted, Schema } from "effect"
import { withDefaults } from "../../../src/value/PlainObject.ts"
import { BlobBounds } from "../../../services/BlobStore.ts"
import { ofSoleWriter, StorePace } from "../../../services/StorePace.ts"
import type { AgentMemories } from "../../../services/AgentMemory.ts"
import type { Stores as DurableStores } from "../../../services/Stores.ts"
import * as GatewayAgentMemory from "../../memory/GatewayAgentMemory.ts"
import * as MemoryRetention from "../../memory/MemoryRetention.ts"
import { garbageCollection } from "../../runtime/tool/StoredParts.ts"
import { StoredUnitsMax } from "../../ephemeral/EphemeralStore.ts"
import * as EphemeralStores from "../../ephemeral/EphemeralStores.ts"
import type { DirectoryInUse, DirectoryUnusable } from "../../sql/engine/DirectoryLock.ts"
import { MayUpgrade } from "../../sql/engine/Upgrading.ts"
import type { Engine } from "../../sql/examination/ServerChecks.ts"
import type { PostgresSettings } from "../../sql/engine/Postgres.ts"
import type { SqlNotify } from "../../sql/engine/SqlNotify.ts"
import type { RetentionOptions } from "../../sql/retention/Retention.ts"
import type { Client, StartError } from "../../sql/stores/SqlStores.ts"
import * as ActorMemories from "./ActorMemories.ts"
import type { PostgresStore } from "../options/ServiceOptions.ts"

export type { Client } from "../../sql/stores/SqlStores.ts"
export type { RetentionOptions } from "../../sql/retention/Retention.ts"

/** The stores of a runtime, and the memory of each actor, which is built for its address. */
export type Stores = DurableStores | AgentMemories

/** A driver, which is an optional peer dependency, is not installed. */
export class DriverMissing extends Schema.TaggedError<DriverMissing>()("DriverMissing", {
  /** The command that installs it. */
  message: Schema.String
}) {}

const isAbsent = (error: unknown): boolean =>
  typeof error === "object" &&
  error !== null &&
  "code" in error &&
  error.code === "ERR_MODULE_NOT_FOUND"

/** Loads an engine and the packages that it needs. */
const engineOf = <A>(packages: string, load: () => Promise<A>): Effect.Effect<A, DriverMissing> =>
  Effect.catchDefect(Effect.promise(load), (error) =>
    isAbsent(error)
      ? Effect.fail(
          new DriverMissing({ message: `this store needs packages: npm install ${packages}` })
        )
      : Effect.die(error)
  )

/** Whether old memories and files are removed while the stores are used. */
const Sweeps = Context.Reference<boolean>("troupe/compose/Sweeps", { defaultValue: () => true })

const sweeps = Layer.unwrap(
  Effect.map(Sweeps, (on) =>
    on ? Layer.merge(MemoryRetention.layer, garbageCollection) : Layer.empty
  )
)

/** The memory of each address, over the store of all memories, and the sweeps that remove old memories and files. */
const memories = Layer.merge(ActorMemories.layer(GatewayAgentMemory.layer), sweeps)

/** Stores in memory, which are gone with the process. */
export const ephemeral: Layer.Layer<Stores> = memories.pipe(
  Layer.provideMerge(Layer.succeed(StorePace, ofSoleWriter)),
  Layer.provideMerge(EphemeralStores.layer),
  // A quarter of the heap: a unit has up to two bytes.
  Layer.provide(Layer.sync(StoredUnitsMax, () => getHeapStatistics().heap_size_limit / 8))
)

const sql = <E>(
  name: Engine,
  engine: Layer.Layer<Client | SqlNotify, E>
): Layer.Layer<Stores | Client, E | StartError> =>
  Layer.unwrap(
    Effect.map(
      Effect.promise(() => import("./SqlDatabase.ts")),
      ({ ServerChecks, SqlStores }) =>
        Layer.merge(memories, ServerChecks.layer(name)).pipe(Layer.provideMerge(SqlStores.layer))
    )
  ).pipe(Layer.provideMerge(engine))

/** Reports at once which processes that share the server have ended. */
const shared = <E>(stores: Layer.Layer<Stores | Client, E>): Layer.Layer<Stores | Client, E> =>
  Layer.unwrap(
    Effect.map(
      Effect.promise(() => import("../../sql/stores/SqlOwners.ts")),
      (SqlOwners) => SqlOwners.layer
    )
  ).pipe(Layer.provideMerge(stores))

/** Releases the claims of an earlier process before anything is read. */
const soleProcess = <E>(
  engine: Layer.Layer<Client | SqlNotify, E>
): Layer.Layer<Client | SqlNotify, E | StartError> =>
  Layer.unwrap(
    Effect.map(
      Effect.promise(() => import("../../sql/engine/Migrations.ts")),
      (Migrations) => Migrations.ofSoleProcess
    )
  ).pipe(Layer.provideMerge(engine))

/**
 * PGlite in this process; only one process may use a directory at a time. Also provides the `SqlClient` with which transactional
 * tools write.
 */
export const directory = (
  path: string
): Layer.Layer<Stores | Client, DirectoryInUse | DirectoryUnusable | DriverMissing | StartError> =>
  sql(
    "PGlite",
    soleProcess(
      Layer.unwrap(
        Effect.map(
          engineOf(
            "@electric-sql/pglite @effect/sql-pg",
            () => import("../../sql/engine/Pglite.ts")
          ),
          (Pglite) => Pglite.layer({ directory: path })
        )
      )
    )
  )

/** A PostgreSQL server, which any number of processes may share. */
export const postgres = (
  url: Redacted.Redacted,
  settings: PostgresSettings = {}
): Layer.Layer<Stores | Client, DriverMissing | StartError> =>
  shared(
    sql(
      "PostgreSQL",
      Layer.unwrap(
        Effect.map(
          engineOf("@effect/sql-pg", () => import("../../sql/engine/Postgres.ts")),
          (Postgres) => Postgres.layer({ ...settings, url })
        )
      )
    )
  )

/**
 * The stores without their sweeps, so that nothing is removed while they are used: for commands, which do not know how long their
 * service keeps its data.
 */
export const withoutSweeps = <A, E>(stores: Layer.Layer<A, E>): Layer.Layer<A, E> =>
  Layer.provide(stores, Layer.succeed(Sweeps, false))

/** Stores that must exist already, in this version or a newer one: none is created or migrated, and nothing is removed. */
export const existing = <A, E>(stores: Layer.Layer<A, E>): Layer.Layer<A, E> =>
  Layer.provide(withoutSweeps(stores), Layer.succeed(MayUpgrade, false))

/** The stores, with the removal of old data of finished work while they are used. */
export const withRetention = <E>(
  stores: Layer.Layer<Stores | Client, E>,
  options: RetentionOptions
): Layer.Layer<Stores | Client, E> =>
  Layer.unwrap(
    Effect.map(
      Effect.promise(() => import("../../sql/retention/Retention.ts")),
      (Retention) => Retention.layer(options)
    )
  ).pipe(Layer.provideMerge(stores))

export const postgresStore = ({ postgres: url, ...settings }: PostgresStore) =>
  postgres(Redacted.make(url), settings)

export type FileBounds = Partial<BlobBounds>

/** These bounds of files, with defaults for the rest. */
export const fileBounds = (given: FileBounds = {}): Layer.Layer<never> =>
  Layer.effect(
    BlobBounds,
    Effect.map(BlobBounds, (defaults) => withDefaults(defaults, given))
  )
