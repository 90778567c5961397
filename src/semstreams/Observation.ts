/**
 * Tools with which an agent observes the platform: the kinds of components, the outcomes of a flow's loops, and the result
 * of one loop.
 */
import { Schema } from "effect"
import * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import { ToolError } from "../error/ToolError.ts"
import type { Governance } from "../tool/GovernedTool.ts"
import { semstreams_namespace } from "./Coordination.ts"
import { FlowSummary, page_bytes_default, recent_default, recent_max } from "./LoopRecord.ts"

const Line = Schema.String.check(Schema.isMaxLength(500))

/** A kind of component from which flows are built. `schema` is the JSON Schema of its configuration. */
export const Component = Schema.Struct({
  id: Line.check(Schema.isMinLength(1)),
  name: Line,
  type: Line,
  protocol: Line,
  domain: Line,
  description: Schema.String.check(Schema.isMaxLength(4_000)),
  version: Line,
  category: Line,
  schema: Schema.Json
})
export interface Component extends Schema.Schema.Type<typeof Component> {}

/** The most components in the catalogue. */
export const components_max = 1_000

/** Accepts any value; one of the wrong type counts as left out, because small models send such values. */
const lenient = (description: string) => Schema.optionalKey(Schema.Json.annotate({ description }))

const ListComponents = Tool.make("list_components", {
  description:
    "The kinds of components that flows are built of, with the schemas of their configuration. Give type_filter to see one only.",
  parameters: Schema.Struct({
    type_filter: lenient("A string: the id of one component type. Left out = all of them.")
  }),
  success: Schema.Array(Component),
  failure: ToolError
})

const Id = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(500))

const MonitorFlow = Tool.make("monitor_flow", {
  description:
    "How the loops of a flow ended: counts by outcome and by role, tokens, and the newest ones.",
  parameters: Schema.Struct({
    flow_id: Id.annotate({
      description: "The flow, by the name that its loops were started with."
    }),
    recent_limit: lenient(
      `An integer: at most so many of the newest loops, up to ${recent_max}; ${recent_default} if left out.`
    )
  }),
  success: FlowSummary,
  failure: ToolError
})

/** The metadata of a page of a loop's result. */
const PageMetadata = Schema.Struct({
  loop_id: Schema.String,
  role: Schema.String,
  outcome: Schema.String,
  completed_at: Schema.String,
  total_bytes: Schema.Int,
  returned_bytes: Schema.Int,
  offset: Schema.Int,
  has_more: Schema.Boolean,
  next_offset: Schema.Int,
  task_id: Schema.String
})

const ReadLoopResult = Tool.make("read_loop_result", {
  description:
    "What a loop that ended said, as text, a page at a time: call again with offset = next_offset while has_more is true.",
  parameters: Schema.Struct({
    loop_id: Id.annotate({ description: "The loop's id, or its entity's full id." }),
    offset: lenient("An integer: the byte to begin at; 0 if left out."),
    max_bytes: lenient(
      `An integer: at most so many bytes of text; ${page_bytes_default} if left out.`
    )
  }),
  success: Schema.Struct({ content: Schema.String, metadata: PageMetadata }),
  failure: ToolError
})

export const ObservationTools = Toolkit.make(ListComponents, MonitorFlow, ReadLoopResult)

export const observationGovernance = {
  list_components: { namespace: semstreams_namespace, side_effects: "read", timeout_ms: 15_000 },
  monitor_flow: { namespace: semstreams_namespace, side_effects: "read", timeout_ms: 60_000 },
  read_loop_result: { namespace: semstreams_namespace, side_effects: "read", timeout_ms: 15_000 }
} as const satisfies Record<string, Governance>
