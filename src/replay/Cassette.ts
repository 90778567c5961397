/**
 * Recorded results by tool and arguments. A tool is identified by its registry key, and the arguments by the SHA-256 of their
 * canonical JSON. So the order of keys does not matter, and another version of a tool does not get this version's results.
 */
import { Schema } from "effect"
import type { Json } from "../value/Canonical.ts"
import { copyJson } from "../value/Canonical.ts"

/** One recorded result, with Stargraph's names. */
export const CassetteEntry = Schema.Struct({
  tool_id: Schema.String,
  args_hash: Schema.String,
  result: Schema.Json
})
export interface CassetteEntry extends Schema.Schema.Type<typeof CassetteEntry> {}

/** A cassette as JSON. Load it with `Cassette.of`. */
export const CassetteEntries = Schema.Array(CassetteEntry)

interface Kept {
  readonly results: Array<Json>
  /** How many of the results `take` has returned. */
  taken: number
}

const keyOf = (tool_id: string, args_hash: string): string => `${args_hash} ${tool_id}`

/**
 * The recorded results. It has no bound of its own, because the recorder limits it. Results are copied when they are stored and
 * when they are returned.
 */
export class Cassette {
  readonly #kept = new Map<string, Kept>()
  readonly #entries: Array<CassetteEntry> = []

  static of(entries: ReadonlyArray<CassetteEntry>): Cassette {
    const cassette = new Cassette()
    for (const { args_hash, result, tool_id } of entries)
      cassette.record(tool_id, args_hash, result)
    return cassette
  }

  record(tool_id: string, args_hash: string, result: Json): void {
    const own = copyJson(result)
    this.#entries.push({ tool_id, args_hash, result: own })
    const key = keyOf(tool_id, args_hash)
    const kept = this.#kept.get(key)
    if (kept === undefined) this.#kept.set(key, { results: [own], taken: 0 })
    else kept.results.push(own)
  }

  /**
   * Returns the results of exactly this call one after the other, in the order in which they were recorded, and then the newest
   * again and again; undefined if there is none.
   */
  take(tool_id: string, args_hash: string): Json | undefined {
    const kept = this.#kept.get(keyOf(tool_id, args_hash))
    if (kept === undefined) return undefined
    const result = kept.results[Math.min(kept.taken++, kept.results.length - 1)]
    return result === undefined ? undefined : copyJson(result)
  }

  /** All that was recorded, oldest first. */
  get entries(): ReadonlyArray<CassetteEntry> {
    return this.#entries.map((entry) => ({ ...entry, result: copyJson(entry.result) }))
  }
}
