/**
 * Examines a store without a service: its durability, schema, clock, limits and space, and the work in it that needs an operator.
 * Changes nothing, and runs no migration.
 */
import { Effect, Layer } from "effect"
import type { Redacted } from "effect"
import { fault, ok, unknown } from "../../../src/value/Finding.ts"
import type { OpenQuestion } from "../../service/ComparedQuestions.ts"
import { compareQuestions } from "../../service/ComparedQuestions.ts"
import { DirectoryInUse, DirectoryUnusable } from "../../sql/engine/DirectoryLock.ts"
import { PoolerUnusable } from "../../sql/engine/PoolerUnusable.ts"
import * as DirectoryChecks from "../../sql/examination/DirectoryChecks.ts"
import { orAway, orUnopened } from "../../sql/examination/ExaminationFailure.ts"
import type { Engine } from "../../sql/examination/ServerChecks.ts"
import * as WorkChecks from "../../sql/examination/WorkChecks.ts"
import type { App } from "./Replay.ts"
import { directoryOf } from "./Replay.ts"
import * as Stores from "../assembly/StoreLayers.ts"

export type { Finding } from "../../../src/value/Finding.ts"
export { worstOf } from "../../../src/value/Finding.ts"

const not_compared = "tools of these agents were not compared; --app names the module that has them"

const comparison = <E, R>(waiting: ReadonlyArray<OpenQuestion>, app: App<E, R>) =>
  Effect.provide(compareQuestions(waiting, not_compared), directoryOf(app))

const examine = Effect.fnUntraced(function* <E, R>(engine: Engine, app: App<E, R>) {
  const { ServerChecks } = yield* Effect.promise(() => import("../assembly/SqlDatabase.ts"))
  const { findings, isReadable } = yield* ServerChecks.examine(engine)
  if (!isReadable) return findings
  const work = yield* WorkChecks.examine(engine)
  const waiting = yield* WorkChecks.waiting
  return [...findings, ...work, ...(yield* comparison(waiting, app))]
})

/** Stores for tools that need them when they are made; no tool runs. */
const toolStores = Layer.fresh(Stores.ephemeral)

/** Examines a PostgreSQL server, even while services use it. */
export const examinePostgres = Effect.fnUntraced(function* <E, R>(
  url: Redacted.Redacted,
  app: App<E, R>
) {
  const Postgres = yield* Effect.promise(() => import("../../sql/engine/Postgres.ts"))
  const client = Postgres.layer({ url, connections_max: 5 })
  return yield* examine("PostgreSQL", app).pipe(
    Effect.provide(Layer.merge(client, toolStores)),
    orAway,
    Effect.catchIf(
      (error) => error instanceof PoolerUnusable,
      ({ message }) => Effect.succeed([fault("pooler", message)])
    )
  )
})

/** Examines a PGlite directory. If a process uses it, only its disk is examined. */
export const examineDirectory = Effect.fnUntraced(function* <E, R>(
  directory: string,
  app: App<E, R>
) {
  const Pglite = yield* Effect.promise(() => import("../../sql/engine/Pglite.ts"))
  const disk = yield* DirectoryChecks.examine(directory)
  const found = yield* examine("PGlite", app).pipe(
    Effect.map((findings) => [ok("lock", "no other process uses the directory"), ...findings]),
    Effect.provide(Layer.merge(Pglite.layer({ directory }), toolStores)),
    orUnopened,
    orAway,
    Effect.catchIf(
      (error) => error instanceof DirectoryUnusable || error instanceof DirectoryInUse,
      (error) =>
        Effect.succeed([
          error instanceof DirectoryUnusable
            ? fault("lock", error.message)
            : unknown(
                "lock",
                `process ${error.pid} uses the directory, and PGlite lets in one at a time: only its disk was looked at. Ask that process, or stop it first`
              )
        ])
    )
  )
  return [...disk, ...found]
})
