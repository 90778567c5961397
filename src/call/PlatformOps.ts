/**
 * The operations of an Agenta platform, as data. Each is one existing endpoint. A runtime offers those that its configuration
 * names, and may be given others.
 */
import type { JsonObject } from "./BodyPath.ts"
import type { PlatformOp } from "./PlatformOp.ts"

const text = (description: string): JsonObject => ({ type: "string", description })
const closed = (properties: JsonObject, required: ReadonlyArray<string> = []): JsonObject => ({
  type: "object",
  properties,
  ...(required.length === 0 ? undefined : { required }),
  additionalProperties: false
})
const named = closed({ id: text("Its id."), slug: text("Its short name.") })

const find_capabilities: PlatformOp = {
  op: "find_capabilities",
  description:
    "Finds tools of third parties that fit what you want to do. Describe each use case in a sentence; the answer lists matching integrations, their actions and whether they are connected.",
  method: "POST",
  path: "/api/tools/discover",
  read_only: true,
  input_schema: closed(
    {
      use_cases: {
        type: "array",
        items: { type: "string", minLength: 1 },
        minItems: 1,
        description: "What you want to do, one sentence for each use case."
      },
      provider: { ...text("The provider whose catalogue is searched."), default: "composio" },
      limit_alternatives: {
        type: "integer",
        minimum: 0,
        default: 3,
        description: "Further matches for each use case."
      }
    },
    ["use_cases"]
  )
}

const query_workflows: PlatformOp = {
  op: "query_workflows",
  description:
    "Lists the project's workflows that match, newest first. Without a filter all of them.",
  method: "POST",
  path: "/api/workflows/query",
  read_only: true,
  input_schema: closed({
    workflow: {
      type: "object",
      description: "Members that a workflow has to have, such as flags."
    },
    workflow_refs: { type: "array", items: named, description: "Only these workflows." },
    include_archived: { type: "boolean", description: "Archived workflows too." },
    windowing: {
      type: "object",
      description: "The page: limit, order, and next, the cursor of the page before."
    }
  })
}

const commit_revision: PlatformOp = {
  op: "commit_revision",
  description:
    "Commits a new revision of the workflow variant that you run as. Give the whole data of the revision and a message that says what changed.",
  method: "POST",
  path: "/api/workflows/revisions/commit",
  bind: { "workflow_revision.workflow_variant_id": "$ctx.workflow.variant.id" },
  precondition: { "workflow_revision.expected_revision_id": "$ctx.workflow.latest_revision_id" },
  input_schema: closed(
    {
      workflow_revision: {
        type: "object",
        properties: {
          workflow_variant_id: text("The variant that the revision belongs to."),
          expected_revision_id: text("The variant's latest revision, as the sender knows it."),
          message: text("What changed, in a sentence."),
          data: { type: "object", description: "The data of the revision, whole." }
        },
        required: ["workflow_variant_id"]
      }
    },
    ["workflow_revision"]
  )
}

const annotate_trace: PlatformOp = {
  op: "annotate_trace",
  description: "Annotates the trace of this run with the outputs of an evaluator.",
  method: "POST",
  path: "/api/annotations/",
  args_into: "annotation",
  allow_nested_bind: true,
  bind: {
    "annotation.links.invocation.trace_id": "$ctx.trace.trace_id",
    "annotation.links.invocation.span_id": "$ctx.trace.span_id"
  },
  input_schema: closed(
    {
      references: closed(
        { evaluator: closed({ slug: text("The short name of the evaluator.") }, ["slug"]) },
        ["evaluator"]
      ),
      data: closed({ outputs: { type: "object", description: "What the evaluator found." } }, [
        "outputs"
      ]),
      links: closed(
        {
          invocation: closed({ trace_id: text("The trace."), span_id: text("Its span.") }, [
            "trace_id",
            "span_id"
          ])
        },
        ["invocation"]
      )
    },
    ["references", "data", "links"]
  )
}

const create_schedule: PlatformOp = {
  op: "create_schedule",
  description: "Creates a schedule that runs the workflow variant that you run as.",
  method: "POST",
  path: "/api/triggers/schedules/",
  args_into: "schedule",
  allow_nested_bind: true,
  bind: { "schedule.data.references.workflow_variant.id": "$ctx.workflow.variant.id" },
  input_schema: closed(
    {
      name: text("What the schedule is called."),
      description: text("What it is for."),
      data: closed(
        {
          event_key: text("The name of the event that each of its runs gets."),
          schedule: text("When it runs: five fields of cron, in UTC."),
          inputs_fields: { type: "object", description: "The inputs of its runs." },
          references: closed({
            workflow_variant: closed({ id: text("The variant that it runs.") })
          })
        },
        ["event_key", "schedule", "references"]
      )
    },
    ["name", "data"]
  )
}

const schedule_id = closed({ id: text("The id of the schedule.") }, ["id"])

const remove_schedule: PlatformOp = {
  op: "remove_schedule",
  description: "Removes a schedule for good.",
  method: "DELETE",
  path: "/api/triggers/schedules/{id}",
  input_schema: schedule_id
}

const pause_schedule: PlatformOp = {
  op: "pause_schedule",
  description: "Pauses a schedule: it runs nothing until it is resumed.",
  method: "POST",
  path: "/api/triggers/schedules/{id}/stop",
  input_schema: schedule_id
}

const rename_session: PlatformOp = {
  op: "rename_session",
  description: "Gives the session of this run a name, and a description if you like.",
  method: "POST",
  path: "/api/sessions/streams/header?session_id={session_id}",
  bind: { session_id: "$ctx.session.id" },
  input_schema: closed(
    {
      name: { type: "string", pattern: "\\S", maxLength: 200, description: "A name, not blank." },
      description: text("What the session is about.")
    },
    ["name"]
  )
}

export const platform_ops: ReadonlyArray<PlatformOp> = [
  find_capabilities,
  query_workflows,
  commit_revision,
  annotate_trace,
  create_schedule,
  remove_schedule,
  pause_schedule,
  rename_session
]
