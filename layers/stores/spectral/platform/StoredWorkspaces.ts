/**
 * Workspaces: their frameworks, configuration, systems and errors, and their view of worlds. A change commits with the
 * transaction of the call that makes it. Of two changes to the same version, the second is refused.
 */
import { Clock, Effect } from "effect"
import type { RowQuery, Rows } from "../../../../services/Rows.ts"
import type { WorkspaceReader } from "../../../../services/spectral/platform/WorkspaceReader.ts"
import type { WorkspaceSettings } from "../../../../services/spectral/platform/WorkspaceSettings.ts"
import type { WorldViews } from "../../../../services/spectral/platform/WorldViews.ts"
import type { Tenant } from "../../../../src/value/Ids.ts"
import { changedFramework } from "../../../../src/spectral/platform/Framework.ts"
import { frameworks_max } from "../../../../src/spectral/platform/PlatformRecords.ts"
import { changedWorkspace } from "../../../../src/spectral/platform/Workspace.ts"
import { tableRows } from "../../TypedRows.ts"
import * as Tables from "./PlatformTables.ts"
import { orNotFound, pageLimit } from "./PlatformTables.ts"

type Lock = RowQuery["lock"]

const workspaceIn = (driver: Rows["Service"]) => {
  const rows = tableRows(driver, Tables.workspaces)
  return (tenant: Tenant, lock?: Lock) =>
    rows.one({ tenant }, lock).pipe(
      orNotFound("workspace", tenant),
      Effect.map(({ workspace }) => workspace)
    )
}

export const frameworkIn = (driver: Rows["Service"]) => {
  const rows = tableRows(driver, Tables.frameworks)
  return (tenant: Tenant, framework_id: string, lock?: Lock) =>
    rows.one({ tenant, framework_id }, lock).pipe(
      orNotFound("framework", framework_id),
      Effect.map(({ framework }) => framework)
    )
}

export const systemIn = (driver: Rows["Service"]) => {
  const rows = tableRows(driver, Tables.systems)
  return (tenant: Tenant, system_id: string, lock?: Lock) =>
    rows.one({ tenant, system_id }, lock).pipe(orNotFound("system", system_id))
}

export const workspaces = (driver: Rows["Service"]): WorkspaceReader["Service"] => {
  const frameworks = tableRows(driver, Tables.frameworks)
  const errors = tableRows(driver, Tables.errors)
  const [workspace, framework, system] = [
    workspaceIn(driver),
    frameworkIn(driver),
    systemIn(driver)
  ]
  return {
    workspace: (tenant) => workspace(tenant),
    frameworks: (tenant) =>
      Effect.map(
        frameworks.all({ where: { tenant }, order: ["framework_id"], limit: frameworks_max }),
        (found) => found.map((row) => row.framework)
      ),
    framework: (tenant, id) => framework(tenant, id),
    systemCard: (tenant, id) => Effect.map(system(tenant, id), ({ card }) => card),
    errors: (tenant, { after, limit, scan_id, source }) =>
      Effect.map(
        errors.list({
          where: { tenant, scan_id, source },
          order: ["at", "error_id"],
          descends: true,
          after: after === undefined ? undefined : { tenant, error_id: after },
          limit: pageLimit(limit)
        }),
        (found) => found.map(({ error }) => error)
      )
  }
}

export const settings = (driver: Rows["Service"]): WorkspaceSettings["Service"] => {
  const workspaces = tableRows(driver, Tables.workspaces)
  const frameworks = tableRows(driver, Tables.frameworks)
  const [workspace, framework] = [workspaceIn(driver), frameworkIn(driver)]
  return {
    lockWorkspace: (tenant) => workspace(tenant, "share"),
    updateFramework: Effect.fnUntraced(function* (tenant, change, by) {
      const now = yield* Clock.currentTimeMillis
      const { framework_id } = change
      const before = yield* framework(tenant, framework_id, "wait")
      const next = yield* Effect.fromResult(changedFramework(before, change, by, now))
      yield* frameworks.set({ where: { tenant, framework_id } }, { framework: next })
      return next
    }, driver.transaction),
    changeConfiguration: Effect.fnUntraced(function* (tenant, change, by) {
      const now = yield* Clock.currentTimeMillis
      const before = yield* workspace(tenant, "wait")
      const next = yield* Effect.fromResult(changedWorkspace(before, change, by, now))
      yield* workspaces.set({ where: { tenant } }, { workspace: next })
      return next
    }, driver.transaction)
  }
}

export const worldViews = (driver: Rows["Service"]): WorldViews["Service"] => {
  const rows = tableRows(driver, Tables.views)
  return {
    view: (tenant, world_id) =>
      rows.one({ tenant, world_id }).pipe(
        orNotFound("world", world_id),
        Effect.map(({ world }) => world)
      ),
    observe: Effect.fnUntraced(function* (tenant, world) {
      const { version, world_id } = world
      const added = yield* rows.add([{ tenant, world_id, version, world }])
      if (added > 0) return
      yield* rows.set({ where: { tenant, world_id, version: ["<", version] } }, { version, world })
    })
  }
}
