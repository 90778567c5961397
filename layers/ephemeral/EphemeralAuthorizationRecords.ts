/**
 * What workspaces have authorised in advance, in one process. Of the authorisations that are no longer in force, it keeps the
 * newest 1,000 of each workspace.
 */
import { Effect, Layer } from "effect"
import { AuthorizationRecords } from "../../services/AuthorizationRecords.ts"
import type { AuthorizationQuery } from "../../services/AuthorizationRecords.ts"
import type { AuthorizationId, Tenant } from "../../src/value/Ids.ts"
import type { WorkspaceAgentAuthorization } from "../../src/permission/Authorization.ts"
import {
  AuthorizationNotFound,
  authorizations_max,
  covers,
  isInForce,
  TooManyAuthorizations
} from "../../src/permission/Authorization.ts"
import { offerRows } from "./EphemeralStore.ts"

const page_max = 500
/** The most authorisations of one workspace that are kept although they are no longer in force. */
const ended_max = 1_000

/** The members that hold the name of a person. */
const names: ReadonlySet<string> = new Set(["granted_by", "revoked_by"])

const isSought = (
  given: WorkspaceAgentAuthorization,
  { agents, in_force_at, tool_keys }: AuthorizationQuery
): boolean =>
  (agents === undefined || agents.includes(given.agent)) &&
  (tool_keys === undefined || tool_keys.includes(given.tool_key)) &&
  (in_force_at === undefined || isInForce(given, in_force_at))

const make = Effect.gen(function* () {
  /** In the order of granting. */
  const records = new Map<AuthorizationId, WorkspaceAgentAuthorization>()
  const ofTenant = (tenant: Tenant) =>
    [...records.values()].filter((each) => each.tenant === tenant)
  const find = (tenant: Tenant, id: AuthorizationId) => {
    const found = records.get(id)
    return found?.tenant === tenant
      ? Effect.succeed(found)
      : Effect.fail(new AuthorizationNotFound({ id }))
  }
  const keep = (record: WorkspaceAgentAuthorization) => {
    records.set(record.id, record)
    return record
  }
  yield* offerRows("authorizations", (tenant) =>
    ofTenant(tenant).map((record) => ({
      value: record,
      texts: names,
      remove: () => void records.delete(record.id),
      replace: (marked) => void keep(marked as typeof record)
    }))
  )
  return AuthorizationRecords.of({
    add: (given) =>
      Effect.suspend(() => {
        const { action, agent, granted_at, granted_by, tenant } = given
        const others = ofTenant(tenant)
        const same = others.filter(
          (each) => each.agent === agent && each.action === action && each.revoked_at === undefined
        )
        const standing = others.filter((each) => isInForce(each, granted_at))
        const left = standing.filter((each) => !same.includes(each))
        if (left.length >= authorizations_max) {
          return Effect.fail(new TooManyAuthorizations({ authorizations_max }))
        }
        for (const each of same) keep({ ...each, revoked_by: granted_by, revoked_at: granted_at })
        keep(given)
        const ended = ofTenant(tenant).filter((each) => !isInForce(each, granted_at))
        for (const { id } of ended.slice(0, -ended_max)) records.delete(id)
        return Effect.void
      }),
    get: (tenant, id) => Effect.suspend(() => find(tenant, id)),
    list: (query) =>
      Effect.sync(() => {
        const { after, limit, tenant } = query
        const newest = ofTenant(tenant).reverse()
        const at = after === undefined ? -1 : newest.findIndex(({ id }) => id === after)
        const behind = after !== undefined && at < 0 ? [] : newest.slice(at + 1)
        return behind.filter((each) => isSought(each, query)).slice(0, Math.min(limit, page_max))
      }),
    revoke: (tenant, id, by, at) =>
      Effect.suspend(() =>
        Effect.map(find(tenant, id), (found) =>
          found.revoked_at === undefined
            ? keep({ ...found, revoked_by: by, revoked_at: at })
            : found
        )
      ),
    use: (action, now) =>
      Effect.sync(() => {
        const found = ofTenant(action.tenant).find((each) => covers(each, action, now))
        return found === undefined
          ? undefined
          : keep({ ...found, uses: found.uses + 1, last_used_at: now })
      })
  })
})

/** Each build of the layer starts without records. */
export const layer: Layer.Layer<AuthorizationRecords> = Layer.effect(AuthorizationRecords, make)
