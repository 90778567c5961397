/**
 * A PostgreSQL server of its own for one row.
 */
import { launch, password, user } from "../../test/sql/PostgresServer.ts"

/** Starts a server, and stops it when the work is done. */
export const withPostgres = async <A>(work: (url: string) => Promise<A>): Promise<A> => {
  const server = await launch()
  try {
    return await work(`postgres://${user}:${password}@127.0.0.1:${server.port}/postgres`)
  } finally {
    await server.stop()
  }
}
