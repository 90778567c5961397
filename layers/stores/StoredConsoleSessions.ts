/** Sessions of the console. Each request looks its session up, so that a sign-out takes effect in every process at once. */
import { Clock, Effect, Layer, Schema } from "effect"
import { ConsoleSessions, Provided } from "../../services/ConsoleSessions.ts"
import { Rows } from "../../services/Rows.ts"
import { Tenant } from "../../src/value/Ids.ts"
import { anyTenant, flag, int8, json, optional, table, tableRows, text } from "./TypedRows.ts"

/** The most of a tenant, and those of one token, so that nobody signs the others out. */
const sessions_max = 10_000
const sessions_token_max = 100

export const sessions = table({
  name: "console_sessions",
  what: "sessions of the console",
  key: ["sha256"],
  columns: {
    sha256: text(Schema.String),
    tenant: text(Tenant),
    token_sha256: text(Schema.String),
    is_link: flag,
    ends_at: int8,
    provided: optional(json(Provided))
  },
  erased: { removed: ["provided"] },
  kept: { rows_max: sessions_max }
})

export const migrations = {
  "0001_sessions": [
    `CREATE TABLE troupe.console_sessions (
      -- Of the session's id, in hex.
      sha256 text PRIMARY KEY,
      tenant text NOT NULL,
      -- Of the token that the session stands for.
      token_sha256 text NOT NULL,
      is_link boolean NOT NULL,
      ends_at int8 NOT NULL
    )`,
    "CREATE INDEX console_sessions_ends ON troupe.console_sessions (tenant, ends_at)"
  ],
  // Whom an identity provider signed in: its issuer, and the principal's id and roles, as JSON.
  "0002_provided": ["ALTER TABLE troupe.console_sessions ADD COLUMN provided text"]
}

const make = Effect.gen(function* () {
  const driver = yield* Rows
  const rows = tableRows(driver, sessions)
  const inForce = (sha256: string, is_link: boolean) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) =>
      rows.one({ tenant: anyTenant, sha256, is_link, ends_at: [">", now] })
    )
  const remove = (sha256: string, is_link: boolean) =>
    rows.remove({ where: { tenant: anyTenant, sha256, is_link } })
  return ConsoleSessions.of({
    add: Effect.fn("ConsoleSessions.add")(function* (sha256, session, kind) {
      const { tenant, token_sha256 } = session
      const now = yield* Clock.currentTimeMillis
      yield* rows.remove({ where: { tenant, ends_at: ["<", now + 1] } })
      const oldest = { order: ["ends_at", "sha256"], descends: true } as const
      yield* rows.remove({
        where: { tenant, token_sha256 },
        ...oldest,
        skip: sessions_token_max - 1
      })
      yield* rows.remove({ where: { tenant }, ...oldest, skip: sessions_max - 1 })
      yield* rows.add([{ ...session, sha256, is_link: kind === "link" }])
    }, driver.transaction),
    find: (sha256, kind) => inForce(sha256, kind === "link"),
    use: Effect.fn("ConsoleSessions.use")(function* (sha256) {
      const found = yield* inForce(sha256, true)
      return (yield* remove(sha256, true)) === 1 ? found : undefined
    }, driver.transaction),
    end: (sha256) => Effect.asVoid(remove(sha256, false))
  })
})

export const layer: Layer.Layer<ConsoleSessions, never, Rows> = Layer.effect(ConsoleSessions, make)
