/**
 * Workspaces in SQL: their frameworks, configuration, systems and errors, and their view of worlds. A change commits with the
 * transaction of the call that makes it. Of two changes to the same version, the second is refused.
 */
import { Clock, Effect, Schema } from "effect"
import type { WorkspaceReader } from "../../../../services/spectral/platform/WorkspaceReader.ts"
import type { WorkspaceSettings } from "../../../../services/spectral/platform/WorkspaceSettings.ts"
import type { WorldViews } from "../../../../services/spectral/platform/WorldViews.ts"
import type { Tenant } from "../../../../src/value/Ids.ts"
import { changedFramework, Framework } from "../../../../src/spectral/platform/Framework.ts"
import { frameworks_max } from "../../../../src/spectral/platform/PlatformRecords.ts"
import {
  changedWorkspace,
  ErrorSource,
  Workspace,
  WorkspaceError
} from "../../../../src/spectral/platform/Workspace.ts"
import { SystemCard } from "../../../../src/spectral/platform/contracts/SystemCard.ts"
import { WorldVersionPublished } from "../../../../src/spectral/worlds/contracts/WorldVersionPublished.ts"
import { readableRows, rowDecoder } from "../../engine/DecodedRows.ts"
import { inTransaction, orStoreError, toStoreError } from "../../engine/SqlFailure.ts"
import { firstOf, oneOf, pageReader } from "./RecordRows.ts"
import type { RecordReads } from "./RecordRows.ts"

const decodeWorkspaces = rowDecoder(
  Schema.Struct({ workspace: Schema.fromJsonString(Workspace) }),
  "workspaces"
)
const decodeFrameworks = rowDecoder(
  Schema.Struct({ framework: Schema.fromJsonString(Framework) }),
  "frameworks"
)
const decodeCards = rowDecoder(
  Schema.Struct({ card: Schema.fromJsonString(SystemCard) }),
  "system cards"
)
const readErrors = readableRows(
  Schema.Struct({ error: Schema.fromJsonString(WorkspaceError) }),
  "errors"
)
const decodeWorlds = rowDecoder(
  Schema.Struct({ world: Schema.fromJsonString(WorldVersionPublished) }),
  "views of worlds"
)

const workspace_text = "SELECT workspace FROM troupe.platform_workspaces WHERE tenant = $1::text"
const framework_text =
  "SELECT framework FROM troupe.platform_frameworks WHERE tenant = $1::text AND framework_id = $2::text"

export const errorSource = (source: ErrorSource): number => ErrorSource.literals.indexOf(source)

export const workspaces = (of: RecordReads): WorkspaceReader["Service"] => {
  const { reads, sql } = of
  const errors = pageReader(of, {
    table: "platform_errors",
    columns: "error",
    id: "error_id",
    order: ["at", "error_id"],
    direction: "DESC",
    filters: [
      ["source", "int2"],
      ["scan_id", "text"]
    ],
    read: readErrors
  })
  const framework = oneOf(of, framework_text, decodeFrameworks, "framework")
  const card = oneOf(
    of,
    "SELECT card FROM troupe.platform_systems WHERE tenant = $1::text AND system_id = $2::text",
    decodeCards,
    "system"
  )
  return {
    workspace: (tenant) =>
      reads
        .of(tenant)(sql.unsafe(workspace_text, [tenant]))
        .pipe(
          Effect.flatMap(decodeWorkspaces),
          Effect.flatMap((rows) => firstOf(rows, "workspace", tenant)),
          Effect.mapBoth({ onSuccess: (row) => row.workspace, onFailure: orStoreError })
        ),
    frameworks: (tenant) =>
      reads
        .of(tenant)(
          sql.unsafe(
            `SELECT framework FROM troupe.platform_frameworks WHERE tenant = $1::text
           ORDER BY framework_id LIMIT ${frameworks_max}`,
            [tenant]
          )
        )
        .pipe(
          Effect.flatMap(decodeFrameworks),
          Effect.mapBoth({
            onSuccess: (rows) => rows.map((row) => row.framework),
            onFailure: orStoreError
          })
        ),
    framework: (tenant, id) =>
      Effect.mapBoth(framework(tenant, id), {
        onSuccess: (row) => row.framework,
        onFailure: orStoreError
      }),
    systemCard: (tenant, id) =>
      Effect.mapBoth(card(tenant, id), {
        onSuccess: (row) => row.card,
        onFailure: orStoreError
      }),
    errors: (tenant, { scan_id, source, ...page }) =>
      Effect.map(
        errors(tenant, page, source === undefined ? undefined : errorSource(source), scan_id),
        (rows) => rows.map(({ error }) => error)
      )
  }
}

export const settings = (of: RecordReads): WorkspaceSettings["Service"] => {
  const { sql } = of
  const locked = Effect.fnUntraced(function* (tenant: Tenant, lock: "FOR SHARE" | "FOR UPDATE") {
    const rows = yield* sql.unsafe(`${workspace_text} ${lock}`, [tenant])
    const { workspace } = yield* firstOf(yield* decodeWorkspaces(rows), "workspace", tenant)
    return workspace
  })
  return {
    lockWorkspace: (tenant) => Effect.mapError(locked(tenant, "FOR SHARE"), orStoreError),
    updateFramework: Effect.fnUntraced(
      function* (tenant, change, by) {
        const now = yield* Clock.currentTimeMillis
        const { framework_id: id } = change
        const one = oneOf(of, `${framework_text} FOR UPDATE`, decodeFrameworks, "framework")
        const { framework } = yield* one(tenant, id)
        const next = yield* Effect.fromResult(changedFramework(framework, change, by, now))
        yield* sql.unsafe(
          "UPDATE troupe.platform_frameworks SET framework = $3::text WHERE tenant = $1::text AND framework_id = $2::text",
          [tenant, id, JSON.stringify(next)]
        )
        return next
      },
      inTransaction(sql),
      Effect.mapError(orStoreError)
    ),
    changeConfiguration: Effect.fnUntraced(
      function* (tenant, change, by) {
        const now = yield* Clock.currentTimeMillis
        const workspace = yield* locked(tenant, "FOR UPDATE")
        const next = yield* Effect.fromResult(changedWorkspace(workspace, change, by, now))
        yield* sql.unsafe(
          "UPDATE troupe.platform_workspaces SET workspace = $2::text WHERE tenant = $1::text",
          [tenant, JSON.stringify(next)]
        )
        return next
      },
      inTransaction(sql),
      Effect.mapError(orStoreError)
    )
  }
}

export const worldViews = (of: RecordReads): WorldViews["Service"] => {
  const one = oneOf(
    of,
    "SELECT world FROM troupe.platform_worlds WHERE tenant = $1::text AND world_id = $2::text",
    decodeWorlds,
    "world"
  )
  return {
    view: (tenant, world) =>
      Effect.mapBoth(one(tenant, world), {
        onSuccess: (row) => row.world,
        onFailure: orStoreError
      }),
    observe: (tenant, published) =>
      of.sql
        .unsafe(
          `INSERT INTO troupe.platform_worlds AS w (tenant, world_id, version, world)
           VALUES ($1::text, $2::text, $3::int4, $4::text)
           ON CONFLICT (tenant, world_id) DO UPDATE SET version = excluded.version, world = excluded.world
           WHERE w.version < excluded.version`,
          [tenant, published.world_id, published.version, JSON.stringify(published)]
        )
        .pipe(Effect.asVoid, Effect.mapError(toStoreError))
  }
}
