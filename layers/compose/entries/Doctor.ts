/**
 * Examines a store without a service: its durability, schema, clock, limits and space, and the work in it that needs an operator.
 * Changes nothing, and runs no migration.
 */
import { Effect, Layer } from "effect"
import type { Redacted } from "effect"
import { AgentDirectory } from "../../../services/AgentDirectory.ts"
import { DirectoryInUse, DirectoryUnusable } from "../../sql/engine/DirectoryLock.ts"
import { PoolerUnusable } from "../../sql/engine/PoolerUnusable.ts"
import * as DirectoryChecks from "../../sql/examination/DirectoryChecks.ts"
import type { Finding } from "../../sql/examination/Finding.ts"
import { fault, ok, unknown, warning, orAway, orUnopened } from "../../sql/examination/Finding.ts"
import type { Engine } from "../../sql/examination/ServerChecks.ts"
import * as ServerChecks from "../../sql/examination/ServerChecks.ts"
import * as WorkChecks from "../../sql/examination/WorkChecks.ts"
import type { App } from "./Replay.ts"
import { directoryOf } from "./Replay.ts"
import * as Stores from "../assembly/StoreLayers.ts"

export type { Finding } from "../../sql/examination/Finding.ts"
export { worstOf } from "../../sql/examination/Finding.ts"

const ids_max = 20

const findingsOf = (
  waiting: ReadonlyArray<WorkChecks.WaitingApproval>,
  message: (n: number) => string
): ReadonlyArray<Finding> =>
  waiting.length === 0
    ? []
    : [
        {
          ...warning("tools", message(waiting.length)),
          ids: waiting.slice(0, ids_max).map(({ run_id, tool_key }) => `${run_id} ${tool_key}`)
        }
      ]

/** Finds open questions whose tool no longer exists, or whose agent had other tools when the run was accepted. */
const compare = Effect.fnUntraced(function* (
  waiting: ReadonlyArray<WorkChecks.WaitingApproval>
): Effect.fn.Return<ReadonlyArray<Finding>, never, AgentDirectory> {
  const directory = yield* AgentDirectory
  const groups = Map.groupBy(waiting, ({ agent, asked_by, pins, tool_key }) => {
    const [own, asking] = [directory.get(agent), directory.get(asked_by)]
    if (own === undefined || asking === undefined) return "strange"
    if (![...asking.tools.values()].some(({ key }) => key === tool_key)) return "gone"
    const isSame = own.pins.tools === pins.tools && own.pins.definition === pins.definition
    return isSame ? "same" : "changed"
  })
  const strange = new Set((groups.get("strange") ?? []).map(({ agent }) => agent))
  const findings = [
    ...findingsOf(
      groups.get("gone") ?? [],
      (n) => `${n} open questions are about tools that their agents do not have any more`
    ),
    ...findingsOf(
      groups.get("changed") ?? [],
      (n) => `${n} open questions are of agents or tools that were changed since they were asked`
    )
  ]
  if (strange.size > 0) {
    const names = [...strange].sort().slice(0, ids_max)
    const left = `tools of these agents were not compared; --app names the module that has them`
    return [...findings, { ...ok("tools", left), ids: names }]
  }
  return findings.length > 0
    ? findings
    : [ok("tools", `the tools of all ${waiting.length} open questions are as they were`)]
})

const comparison = <E, R>(waiting: ReadonlyArray<WorkChecks.WaitingApproval>, app: App<E, R>) =>
  Effect.provide(compare(waiting), directoryOf(app))

const examine = Effect.fnUntraced(function* <E, R>(engine: Engine, app: App<E, R>) {
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
