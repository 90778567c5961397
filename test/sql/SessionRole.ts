/** The role of the session that a statement would run in, which is asked without a transformer of statements. */
import { Effect } from "effect"
import { Statement } from "effect/sql"

export const sessionRole = (sql: Statement.Constructor) =>
  Effect.map(
    Effect.provideService(
      sql.unsafe<{ readonly role: string }>("SELECT current_user::text AS role"),
      Statement.CurrentTransformer,
      undefined
    ),
    ([found]) => found?.role ?? ""
  )
