/** When what is sent or given back now is due. Private to this room. */
import type { SqlClient } from "effect/sql"

/**
 * Never later than the database's clock: what a process sends whose clock is ahead would wait for that time, whoever takes it and
 * however often it is sent again.
 */
export const dueAt = (sql: SqlClient.SqlClient, now: number) =>
  sql`least(${now}::int8, floor(extract(epoch FROM clock_timestamp()) * 1000)::int8)`
