/**
 * What workspaces have authorised in advance. A use locks its row, so that it sees every revocation that was acknowledged before
 * it. A store that is lost with its process keeps the newest 1,000 of a workspace that are no longer in force.
 */
import { Effect, Layer, Schema } from "effect"
import { AuthorizationRecords } from "../../services/AuthorizationRecords.ts"
import { Rows } from "../../services/Rows.ts"
import {
  AuthorizationNotFound,
  authorizations_max,
  covers,
  isInForce,
  TooManyAuthorizations,
  WorkspaceAgentAuthorization
} from "../../src/permission/Authorization.ts"
import { AuthorizationId, Tenant } from "../../src/value/Ids.ts"
import type { Stored } from "./TypedRows.ts"
import { int4, int8, optional, place, said, table, tableRows, text, uuid } from "./TypedRows.ts"

const page_max = 500

export const authorizations = table({
  name: "authorizations",
  what: "authorisations",
  key: ["authorization_id"],
  columns: {
    position: place,
    authorization_id: uuid(AuthorizationId),
    tenant: text(Tenant),
    agent: text(WorkspaceAgentAuthorization.fields.agent),
    action: text(Schema.String),
    tool_key: text(Schema.String),
    tool_digest: text(Schema.String),
    granted_by: said,
    granted_at: int8,
    expires_at: int8,
    uses_max: optional(int4),
    uses: int4,
    last_used_at: optional(int8),
    revoked_by: optional(said),
    revoked_at: optional(int8)
  },
  erased: { marked: { granted_by: "text", revoked_by: "text" } },
  kept: {
    rows_max: 1_000,
    spares: ({ expires_at, revoked_at, uses, uses_max }, { granted_at }) =>
      revoked_at === null &&
      Number(expires_at) > Number(granted_at) &&
      (uses_max === null || Number(uses) < Number(uses_max))
  }
})

const recordOf = ({
  authorization_id: id,
  position: _place,
  ...record
}: Stored<typeof authorizations.columns>): WorkspaceAgentAuthorization => ({ id, ...record })

const make = Effect.gen(function* () {
  const driver = yield* Rows
  const rows = tableRows(driver, authorizations)
  const standing = { revoked_at: null } as const
  const get = Effect.fnUntraced(function* (tenant: Tenant, id: AuthorizationId) {
    const found = yield* rows.one({ tenant, authorization_id: id })
    return found === undefined ? yield* new AuthorizationNotFound({ id }) : recordOf(found)
  })
  return AuthorizationRecords.of({
    add: Effect.fn("AuthorizationRecords.add")(function* ({ id, ...given }) {
      const { action, agent, granted_at: revoked_at, granted_by: revoked_by, tenant } = given
      // Of two grants for the same agent and action, the second replaces the first.
      yield* driver.alone(`troupe authorisations ${tenant}`)
      const same = { where: { tenant, agent, action, ...standing } }
      yield* rows.set(same, { revoked_by, revoked_at })
      const others = yield* rows.all({ where: { tenant, ...standing } })
      const held = others.filter((each) => isInForce(recordOf(each), revoked_at))
      if (held.length >= authorizations_max) {
        return yield* new TooManyAuthorizations({ authorizations_max })
      }
      yield* rows.add([{ authorization_id: id, ...given }])
    }, driver.transaction),
    get,
    list: ({ after, agents, in_force_at, limit, tenant, tool_keys }) =>
      Effect.map(
        rows.list(
          {
            where: {
              tenant,
              agent: agents === undefined ? undefined : ["in", agents],
              tool_key: tool_keys === undefined ? undefined : ["in", tool_keys],
              ...(in_force_at === undefined ? undefined : standing)
            },
            order: ["position"],
            descends: true,
            after: after === undefined ? undefined : { tenant, authorization_id: after },
            limit: Math.min(limit, page_max)
          },
          (row) => in_force_at === undefined || isInForce(recordOf(row), in_force_at)
        ),
        (found) => found.map(recordOf)
      ),
    revoke: Effect.fn("AuthorizationRecords.revoke")(function* (tenant, id, by, at) {
      const where = { tenant, authorization_id: id, ...standing }
      yield* rows.set({ where }, { revoked_by: by, revoked_at: at })
      return yield* get(tenant, id)
    }, driver.transaction),
    use: Effect.fnUntraced(function* (action, now) {
      const { agent, tenant, tool_digest, tool_key } = action
      const where = { tenant, agent, tool_key, tool_digest, ...standing }
      if ((yield* rows.count({ where })) === 0) return undefined
      return yield* driver.transaction(
        Effect.gen(function* () {
          const found = yield* rows.all({ where, lock: "wait" })
          const given = found.map(recordOf).find((each) => covers(each, action, now))
          if (given === undefined) return undefined
          const used = { uses: given.uses + 1, last_used_at: now }
          yield* rows.set({ where: { tenant, authorization_id: given.id } }, used)
          return { ...given, ...used }
        })
      )
    })
  })
})

export const layer: Layer.Layer<AuthorizationRecords, never, Rows> = Layer.effect(
  AuthorizationRecords,
  make
)
