/**
 * The variant of the row of resident memory: messages through `send`, each in a conversation of its own and watched to its end.
 */
import type { Store } from "troupe/embed"
import { newDatabase } from "./NewDatabase.ts"
import { sendAndWatch, startReader } from "./Reader.ts"
import type { Sample } from "./Row.ts"
import { median } from "./Row.ts"
import { sized } from "./Work.ts"

const script = { steps: 1 }
const clients = 64
/** How often the memory is read, garbage collected before. */
const readings = sized(10, 100)

export const sent = async (on: string, warm: string, total: string): Promise<Sample> => {
  const store: Store = on === "ephemeral" ? on : await newDatabase(on)
  const troupe = await startReader(script, store)
  const messages = Number(total)
  const resident: Array<number> = []
  let begun = -Number(warm)
  let ended = begun
  const client = async () => {
    while (begun < messages) {
      begun++
      await sendAndWatch(troupe, script)
      if (++ended <= 0 || ended % (messages / readings) !== 0) continue
      globalThis.gc?.()
      resident.push(process.memoryUsage.rss())
    }
  }
  await Promise.all(Array.from({ length: clients }, client))
  const tenth = readings / 10
  return {
    first_mb: median(resident.slice(0, tenth)) / 2 ** 20,
    last_mb: median(resident.slice(-tenth)) / 2 ** 20
  }
}
