/**
 * The variant of the row of disk use: messages through `send`, each in a conversation of its own and watched to its end.
 */
import { readdirSync, statSync } from "node:fs"
import { join } from "node:path"
import * as BareLog from "./BareLog.ts"
import { newDatabase } from "./NewDatabase.ts"
import { sendAndWatch, startReader } from "./Reader.ts"
import type { Sample } from "./Row.ts"

const clients = 64
const mb = 2 ** 20

/** Of the files of a directory and what is in it. */
const bytesIn = (directory: string): number =>
  readdirSync(directory, { recursive: true, withFileTypes: true }).reduce(
    (bytes, file) =>
      file.isFile() ? bytes + statSync(join(file.parentPath, file.name)).size : bytes,
    0
  )

const tables = `SELECT sum(pg_total_relation_size(c.oid)) AS bytes FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname = 'troupe' AND c.relkind = 'r'`
const events = `SELECT sum(octet_length(payload)) AS bytes FROM troupe.run_events`

export const kept = async (on: string, runs: string, steps: string): Promise<Sample> => {
  const script = { steps: Number(steps) }
  const store = await newDatabase(on)
  const troupe = await startReader(script, store)
  let left = Number(runs)
  const client = async () => {
    while (left > 0) {
      left--
      await sendAndWatch(troupe, script)
    }
  }
  await Promise.all(Array.from({ length: clients }, client))
  await troupe.stop()
  const directory_mb = "directory" in store ? bytesIn(store.directory) / mb : 0
  const { query } = await BareLog.connect(store)
  const bytesOf = async (statement: string) =>
    Number((await query(statement, []))[0]?.["bytes"]) / mb
  return { directory_mb, tables_mb: await bytesOf(tables), events_mb: await bytesOf(events) }
}
