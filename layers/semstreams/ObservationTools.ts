/**
 * `list_components`, `monitor_flow` and `read_loop_result` over the stores of loops, flows and components. The tenant is
 * the run's; the model cannot name one.
 */
import { Effect } from "effect"
import {
  completionKey,
  countOf,
  endedAt,
  page_bytes_default,
  pageOf,
  parseRecord,
  recent_default,
  flowSummaryBuilder
} from "../../src/semstreams/LoopRecord.ts"
import { observationGovernance, ObservationTools } from "../../src/semstreams/Observation.ts"
import { entityInstance } from "../../src/semstreams/Triple.ts"
import type { Tenant } from "../../src/value/Ids.ts"
import { forEachPage } from "../../src/value/Pages.ts"
import { storeUnavailable, ToolTerminalError, ToolUserError } from "../../src/error/ToolError.ts"
import type { GovernedTool, MisdeclaredTool } from "../../src/tool/GovernedTool.ts"
import { callOf, govern } from "../../src/tool/GovernedTool.ts"
import { ComponentCatalog } from "../../services/semstreams/ComponentCatalog.ts"
import { FlowState } from "../../services/semstreams/FlowState.ts"
import type { StoredLoop } from "../../services/semstreams/LoopStore.ts"
import { LoopStore } from "../../services/semstreams/LoopStore.ts"

/** Records of one read of the store. */
const scan_page = 500

const storeFailed = () => storeUnavailable("the store", "network")

const shown = (id: string): string => JSON.stringify(id.slice(0, 200))

/** Sums the records of a flow's loops, a page at a time. */
const sumLoops = Effect.fnUntraced(function* (
  loops: LoopStore["Service"],
  tenant: Tenant,
  flow_id: string,
  recent_max: number
) {
  const sums = flowSummaryBuilder(flow_id, recent_max)
  yield* forEachPage(
    scan_page,
    (last: StoredLoop | undefined) => loops.scan(tenant, flow_id, last?.key, scan_page),
    (page) => {
      for (const { key, value } of page) sums.add(key, value)
      return undefined
    }
  ).pipe(Effect.mapError(storeFailed))
  return sums
})

/** The record of a loop that has ended. */
const completedLoop = Effect.fnUntraced(function* (
  loops: LoopStore["Service"],
  tenant: Tenant,
  loop_id: string
) {
  const id = entityInstance(loop_id)
  const text = yield* Effect.mapError(loops.get(tenant, completionKey(loop_id)), storeFailed)
  if (text === undefined) {
    return yield* new ToolUserError({
      kind: "not_found",
      reason: "LOOP_NOT_FOUND",
      message: `no result of loop ${shown(id)}: it may still be running, or never existed`
    })
  }
  const record = parseRecord(text)
  if (record === undefined) {
    return yield* new ToolTerminalError({
      kind: "internal",
      reason: "LOOP_RECORD_MALFORMED",
      message: `the record of loop ${shown(id)} cannot be read`
    })
  }
  return { id, record }
})

const handlers = Effect.gen(function* () {
  const loops = yield* LoopStore
  const flows = yield* FlowState
  const catalog = yield* ComponentCatalog
  return ObservationTools.of({
    list_components: Effect.fnUntraced(function* ({ type_filter }) {
      const all = yield* Effect.mapError(catalog.all, storeFailed)
      if (typeof type_filter !== "string" || type_filter === "") return all
      const found = all.filter(({ id }) => id === type_filter)
      if (found.length > 0) return found
      return yield* new ToolUserError({
        kind: "not_found",
        reason: "COMPONENT_NOT_FOUND",
        message: `component type ${shown(type_filter)} not found; list_components without type_filter gives all ids`
      })
    }),

    monitor_flow: Effect.fnUntraced(function* ({ flow_id, recent_limit }, context) {
      const { tenant } = callOf(context)
      const sums = yield* sumLoops(loops, tenant, flow_id, countOf(recent_limit, recent_default))
      // Whether the flow runs is in another store: when that store fails, the sums of the loops are still an answer.
      const state = yield* Effect.orElseSucceed(flows.get(tenant, flow_id), () => undefined)
      return sums.summary(state ?? "unknown")
    }),

    read_loop_result: Effect.fnUntraced(function* ({ loop_id, max_bytes, offset }, context) {
      const { tenant } = callOf(context)
      const { id, record } = yield* completedLoop(loops, tenant, loop_id)
      const { text: content, ...position } = pageOf(
        record.result ?? "",
        countOf(offset, 0),
        countOf(max_bytes, page_bytes_default)
      )
      return {
        content,
        metadata: {
          loop_id: id,
          role: record.role ?? "",
          outcome: record.outcome ?? "",
          completed_at: endedAt(record),
          ...position,
          task_id: record.task_id ?? ""
        }
      }
    })
  })
})

/** For a registry. */
export const tools: Effect.Effect<
  ReadonlyArray<GovernedTool>,
  MisdeclaredTool,
  ComponentCatalog | FlowState | LoopStore
> = govern(ObservationTools, observationGovernance, handlers)
