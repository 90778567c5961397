/**
 * The record of an ended loop under `COMPLETE_{loop_id}`, pages of its result, and sums over a flow's records. A run of
 * this runtime counts as a loop, and the name of its agent as the flow.
 */
import { Option, Schema } from "effect"
import type { JournalEntry } from "../run/RunEvent.ts"
import { entityInstance } from "./Triple.ts"

const complete_prefix = "COMPLETE_"

/** The key of a loop's record. Takes the bare id, or the full id of its entity. */
export const completionKey = (loop_id: string): string => complete_prefix + entityInstance(loop_id)

/** The loop's id in a key; undefined if the key is not that of a record. */
export const loopIdOf = (key: string): string | undefined =>
  key.startsWith(complete_prefix) ? key.slice(complete_prefix.length) : undefined

const Count = Schema.Finite

/** One shape for the records of complete, failed and cancelled loops, which name their time differently. */
export const LoopRecord = Schema.Struct({
  loop_id: Schema.optionalKey(Schema.String),
  task_id: Schema.optionalKey(Schema.String),
  workflow_slug: Schema.optionalKey(Schema.String),
  role: Schema.optionalKey(Schema.String),
  outcome: Schema.optionalKey(Schema.String),
  result: Schema.optionalKey(Schema.String),
  error: Schema.optionalKey(Schema.String),
  iterations: Schema.optionalKey(Count),
  tokens_in: Schema.optionalKey(Count),
  tokens_out: Schema.optionalKey(Count),
  completed_at: Schema.optionalKey(Schema.String),
  failed_at: Schema.optionalKey(Schema.String),
  cancelled_at: Schema.optionalKey(Schema.String)
})
export interface LoopRecord extends Schema.Schema.Type<typeof LoopRecord> {}

const decode = Schema.decodeUnknownOption(Schema.fromJsonString(LoopRecord))

/** Parses a stored record; undefined if the text is not one. */
export const parseRecord = (text: string): LoopRecord | undefined =>
  Option.getOrUndefined(decode(text))

/** When the loop ended, in ISO 8601; empty if the record has no time. */
export const endedAt = ({ cancelled_at, completed_at, failed_at }: LoopRecord): string =>
  completed_at ?? failed_at ?? cancelled_at ?? ""

/** The flow of a stored record; undefined if the text is not a record or has no flow. */
export const flowOf = (text: string): string | undefined => parseRecord(text)?.workflow_slug

const outcomes = { complete: "success", failed: "failed", cancelled: "cancelled" } as const
const times = { complete: "completed_at", failed: "failed_at", cancelled: "cancelled_at" } as const

/** The record of a run of this runtime, from its events; undefined until it has ended. */
export const recordOf = (
  loop_id: string,
  entries: ReadonlyArray<JournalEntry>
): LoopRecord | undefined => {
  const last = entries.at(-1)
  const first = entries[0]
  if (last?.event._tag !== "RunEnded" || first?.event._tag !== "RunAccepted") return undefined
  const { reason, status, text } = last.event
  const { agent } = first.event.address
  let [iterations, tokens_in, tokens_out] = [0, 0, 0]
  for (const { event } of entries) {
    if (event._tag !== "ModelTurned") continue
    iterations++
    tokens_in += event.usage?.input_tokens ?? 0
    tokens_out += event.usage?.output_tokens ?? 0
  }
  return {
    loop_id,
    task_id: loop_id,
    workflow_slug: agent,
    role: agent,
    outcome: outcomes[status],
    result: text,
    ...(status === "complete" ? undefined : { error: reason }),
    iterations,
    tokens_in,
    tokens_out,
    [times[status]]: new Date(last.at).toISOString()
  }
}

export const page_bytes_default = 4_096
/** The largest page, in bytes; a larger request is cut to it. */
const page_bytes_max = 1_000_000

/** A count from outside, truncated to an integer; the fallback where it is negative or not a number. */
export const countOf = (given: unknown, fallback: number): number =>
  typeof given === "number" && Number.isFinite(given) && given >= 0
    ? Math.min(Math.trunc(given), Number.MAX_SAFE_INTEGER)
    : fallback

/** A page of a text. Offsets count bytes of UTF-8; a page never splits a character. */
export interface Page {
  readonly text: string
  readonly total_bytes: number
  readonly returned_bytes: number
  readonly offset: number
  readonly has_more: boolean
  readonly next_offset: number
}

const isInside = (bytes: Uint8Array, at: number): boolean => ((bytes[at] ?? 0) & 0xc0) === 0x80

/**
 * At most `most` bytes of a text from `offset`. A page that would end inside a character ends before it; a first character
 * that does not fit is returned whole, so that paging always advances. An offset inside a character moves to its start.
 */
export const pageOf = (text: string, offset: number, most: number): Page => {
  const bytes = new TextEncoder().encode(text)
  const total_bytes = bytes.length
  let start = Math.min(offset, total_bytes)
  while (isInside(bytes, start)) start--
  let end = Math.min(start + Math.min(most, page_bytes_max), total_bytes)
  while (end > start && isInside(bytes, end)) end--
  if (end === start && most > 0 && start < total_bytes) {
    end++
    while (isInside(bytes, end)) end++
  }
  return {
    text: new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes.subarray(start, end)),
    total_bytes,
    returned_bytes: end - start,
    offset: start,
    has_more: end < total_bytes,
    next_offset: end
  }
}

export const recent_default = 20
export const recent_max = 500

/** One loop in a flow's list. */
const RecentLoop = Schema.Struct({
  loop_id: Schema.String,
  role: Schema.String,
  outcome: Schema.String,
  completed_at: Schema.String,
  iterations: Count,
  tokens_in: Count,
  tokens_out: Count
})
interface RecentLoop extends Schema.Schema.Type<typeof RecentLoop> {}

/** Sums over the ended loops of a flow, and its newest. */
export const FlowSummary = Schema.Struct({
  flow_id: Schema.String,
  /** `unknown` where no state was set. */
  runtime_state: Schema.String,
  total_loops: Count,
  by_outcome: Schema.Record(Schema.String, Count),
  by_role: Schema.Record(Schema.String, Count),
  total_tokens_in: Count,
  total_tokens_out: Count,
  /** Newest first. */
  recent: Schema.Array(RecentLoop)
})
export interface FlowSummary extends Schema.Schema.Type<typeof FlowSummary> {}

const known: ReadonlySet<string> = new Set(Object.values(outcomes))

const newestFirst = (a: RecentLoop, b: RecentLoop): number => {
  const [one, other] = [Date.parse(a.completed_at), Date.parse(b.completed_at)]
  const difference = (Number.isNaN(other) ? 0 : other) - (Number.isNaN(one) ? 0 : one)
  return difference !== 0 ? difference : a.loop_id < b.loop_id ? -1 : 1
}

/** Sums records as they are added, and keeps only as many of them as the list of recent ones needs. */
export const flowSummaryBuilder = (flow_id: string, recent_limit: number) => {
  const limit = Math.min(recent_limit, recent_max)
  const by_outcome = new Map<string, number>()
  const by_role = new Map<string, number>()
  let [total_loops, total_tokens_in, total_tokens_out] = [0, 0, 0]
  let recent: Array<RecentLoop> = []
  const trim = () => {
    recent = recent.sort(newestFirst).slice(0, limit)
  }
  return {
    /** Ignores a record that cannot be parsed, is of another flow or has an unknown outcome. */
    add: (key: string, text: string | undefined): void => {
      const loop_id = loopIdOf(key)
      const record = text === undefined ? undefined : parseRecord(text)
      if (loop_id === undefined || record?.workflow_slug !== flow_id) return
      const { iterations = 0, outcome = "", role = "", tokens_in = 0, tokens_out = 0 } = record
      if (!known.has(outcome)) return
      total_loops++
      by_outcome.set(outcome, (by_outcome.get(outcome) ?? 0) + 1)
      if (role !== "") by_role.set(role, (by_role.get(role) ?? 0) + 1)
      total_tokens_in += tokens_in
      total_tokens_out += tokens_out
      recent.push({
        loop_id: record.loop_id ?? loop_id,
        role,
        outcome,
        completed_at: endedAt(record),
        iterations,
        tokens_in,
        tokens_out
      })
      if (recent.length > 2 * limit + 100) trim()
    },
    summary: (runtime_state: string): FlowSummary => {
      trim()
      return {
        flow_id,
        runtime_state,
        total_loops,
        by_outcome: Object.fromEntries(by_outcome),
        by_role: Object.fromEntries(by_role),
        total_tokens_in,
        total_tokens_out,
        recent
      }
    }
  }
}
