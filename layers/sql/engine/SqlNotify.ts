/**
 * Wakeups between processes: what `pg_notify` sent reaches every listener once its transaction has committed. A wakeup only tells
 * a listener to read again: after a lost connection some wakeups may be missing. Private to this room.
 */
import { Context } from "effect"
import type { Effect, Scope } from "effect"
import type { SqlError } from "effect/sql"

export class SqlNotify extends Context.Service<
  SqlNotify,
  {
    /**
     * Calls back with each payload until the scope closes. It gets everything that commits after it returned, except
     * while it reconnects; then it calls back once with `undefined`, because something may have been missed.
     */
    listen(
      channel: string,
      callback: (payload: string | undefined) => void
    ): Effect.Effect<void, SqlError.SqlError, Scope.Scope>
  }
>()("troupe/layers/sql/engine/SqlNotify") {}
