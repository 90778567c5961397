/**
 * Recorded results by tool and arguments, and what happens to a call when its run is replayed: it gets its recorded result, its
 * body runs, or it fails. A tool is identified by its registry key, and the arguments by the SHA-256 of their canonical JSON, so
 * the order of keys does not matter, and another version of a tool does not get this version's results.
 */
import { Schema } from "effect"
import type { Json } from "../value/Canonical.ts"
import { copyJson } from "../value/Canonical.ts"
import type { ReplayPolicy, SideEffects } from "../tool/SideEffects.ts"

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

/** `stub` and `recorded` give what was recorded, `run` runs the body, `fail` ends the replay. */
export type ReplayRoute = "stub" | "recorded" | "run" | "fail"

export interface Situation {
  readonly replay_policy: ReplayPolicy
  readonly side_effects: SideEffects
  /** Whether there is a recorded result for this tool and these arguments. */
  readonly recorded: boolean
}

/** The route of a call. Every combination of facts has one. */
export const routeOf = ({ recorded, replay_policy, side_effects }: Situation): ReplayRoute => {
  switch (replay_policy) {
    case "fail-loud":
      return "fail"
    case "must-stub":
      return recorded ? "stub" : "fail"
    case "recorded-result":
      if (recorded) return "recorded"
      return side_effects === "none" || side_effects === "read" ? "run" : "fail"
  }
}

/** Why a replay stopped at a call. The message says what would fix it. */
export class ReplayError extends Schema.TaggedError<ReplayError>()("ReplayError", {
  tool: Schema.String,
  /** `erased`: the recorded result was erased later. */
  reason: Schema.Literals(["fail_loud", "no_recording", "erased"]),
  message: Schema.String
}) {}

/** The error of a call whose route is `fail`. */
export const refusedReplay = (tool: string, { replay_policy }: Situation): ReplayError =>
  replay_policy === "fail-loud"
    ? new ReplayError({
        tool,
        reason: "fail_loud",
        message: `${tool} may not be replayed: its replay_policy is fail-loud.`
      })
    : new ReplayError({
        tool,
        reason: "no_recording",
        message: `nothing is recorded for this call of ${tool}, and its body may not run in a replay (${replay_policy}).`
      })

export const erasedReplay = (tool: string): ReplayError =>
  new ReplayError({
    tool,
    reason: "erased",
    message: `the recorded result of ${tool} was erased: this run can no longer be replayed past it.`
  })
