/**
 * The variants of the rows that go through `send` to a store.
 */
import * as BareAgent from "./BareAgent.ts"
import * as BareLog from "./BareLog.ts"
import * as BareReader from "./BareReader.ts"
import { inWindow } from "./Clients.ts"
import { newDatabase } from "./NewDatabase.ts"
import { sendAndWatch, startReader } from "./Reader.ts"
import type { Sample } from "./Row.ts"
import { compileSchemas, sized, sliced, steps_per_run } from "./Work.ts"

const script = { steps: steps_per_run }
const clients = sized(4, 64)
const window_ms = sized(50, 1_000)

/** Where the server's log ends, in bytes. Nobody else writes to the server meanwhile. */
const position = async (query: BareLog.Query): Promise<number> => {
  const [row] = await query(
    `SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 AS bytes`
  )
  return Number(row!["bytes"])
}

/** `once` sends and watches one message, and reports each event that is watched. */
const measured = (
  once: (seen: (tag: string) => void) => Promise<void>,
  /** Absent = the log is not measured. */
  log: BareLog.Query | undefined
): Promise<Sample> => {
  const total = { steps: 0, ms: 0, bytes: 0 }
  let steps = 0
  const seen = (tag: string) => {
    if (tag === "CallSettled") steps++
  }
  const slice = async () => {
    let began = { at: 0, steps: 0, bytes: 0 }
    await inWindow(
      {
        clients,
        window_ms,
        begin: async () => {
          const bytes = log === undefined ? 0 : await position(log)
          began = { at: performance.now(), steps, bytes }
        },
        end: async () => {
          total.ms += performance.now() - began.at
          total.steps += steps - began.steps
          if (log !== undefined) total.bytes += (await position(log)) - began.bytes
        }
      },
      () => once(seen)
    )
  }
  return sliced(
    {
      warm: async () => {
        await slice()
        Object.assign(total, { steps: 0, ms: 0, bytes: 0 })
      },
      slice,
      sample: () => ({
        steps_s: (total.steps * 1_000) / total.ms,
        wal: total.bytes / total.steps
      })
    },
    1
  )
}

export const bare = async (on: string): Promise<Sample> => {
  await compileSchemas()
  const { query } = await BareLog.connect(await newDatabase(on))
  await BareLog.prepare(query)
  const send = BareAgent.make({ model: BareReader.model(script), log: BareLog.make(query) })
  return measured(
    async (seen) => void (await BareReader.sendAndWatch(send, script, seen)),
    on === "pglite" ? undefined : query
  )
}

export const sent = async (on: string): Promise<Sample> => {
  const store = await newDatabase(on)
  const troupe = await startReader(script, store)
  return measured(
    (seen) => sendAndWatch(troupe, script, seen),
    "directory" in store ? undefined : (await BareLog.connect(store)).query
  )
}
