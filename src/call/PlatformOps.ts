/**
 * The operations of an Agenta platform, as data. Each is one request to one existing endpoint, or to the gateway, where the
 * platform answers it by a handler of its own. A runtime offers those that its configuration names, and may be given others.
 */
import type { JsonObject } from "./BodyPath.ts"
import type { PlatformOp } from "./PlatformOp.ts"
import { closed, open, orNull, searched, text, titled } from "./PlatformOpSchemas.ts"
import { trigger_ops } from "./PlatformTriggerOps.ts"

const discover_tools: PlatformOp = {
  op: "discover_tools",
  description:
    "Finds tools of third parties that fit what you want to do. Describe each use case in a sentence; the answer lists matching integrations, their actions and whether they are connected.",
  method: "POST",
  path: "/api/tools/discover",
  read_only: true,
  input_schema: searched("What you want to do")
}

/** The name that `discover_tools` had first. */
const find_capabilities: PlatformOp = { ...discover_tools, op: "find_capabilities" }

const query_workflows: PlatformOp = {
  op: "query_workflows",
  description:
    "Lists the project's workflows that match, newest first. Without a filter all of them.",
  method: "POST",
  path: "/api/workflows/query",
  read_only: true,
  input_schema: open({
    workflow: {
      type: "object",
      description: "Members that a workflow has to have, such as flags."
    },
    workflow_refs: {
      type: "array",
      items: open({ id: text("Its id."), slug: text("Its short name.") }),
      description: "Only these workflows."
    },
    include_archived: { type: "boolean", description: "Archived workflows too." },
    windowing: {
      type: "object",
      description: "The page: limit, order, and next, the cursor of the page before."
    }
  })
}

const ref = (name: string): JsonObject => ({ $ref: `#/$defs/${name}` })
const nullable = (type: string, more: JsonObject = {}): JsonObject => orNull({ type, ...more })

const span_operators =
  "is is_not eq neq gt lt gte lte btwn startswith endswith contains matches like in not_in has has_not exists not_exists"

const span_schemas: JsonObject = {
  condition: closed(
    {
      field: text("What of a span: trace_id, span_name, span_type, status_code, attributes, ..."),
      key: nullable("string", { description: "Which member of a field that is an object." }),
      value: { description: "What it is compared with." },
      operator: orNull({
        type: "string",
        enum: span_operators.split(" "),
        description: "Left out = is."
      }),
      options: nullable("object", {
        description: "case_sensitive and exact_match for texts, all for lists."
      })
    },
    ["field"]
  ),
  filtering: closed({
    operator: {
      type: "string",
      enum: ["and", "or", "not", "nand", "nor"],
      description: "How the conditions are joined. Left out = and."
    },
    conditions: { type: "array", items: { anyOf: [ref("condition"), ref("filtering")] } }
  }),
  windowing: closed({
    newest: nullable("string", { format: "date-time", description: "The end of the time." }),
    oldest: nullable("string", { format: "date-time", description: "The begin of the time." }),
    next: nullable("string", { format: "uuid", description: "The cursor of the page before." }),
    limit: nullable("integer", { description: "The most spans of a page." }),
    order: nullable("string", { enum: ["ascending", "descending"] }),
    interval: nullable("integer"),
    rate: nullable("number")
  }),
  reference: closed({
    id: nullable("string", { format: "uuid" }),
    slug: nullable("string"),
    version: nullable("string")
  })
}

const query_spans: PlatformOp = {
  op: "query_spans",
  description:
    "Lists spans of the project's traces that match, such as those of one trace_id, to see what a run did and whether it ended without an error.",
  method: "POST",
  path: "/api/spans/query",
  read_only: true,
  input_schema: {
    ...closed({
      filtering: { ...orNull(ref("filtering")), description: "Only spans that fit." },
      windowing: { ...orNull(ref("windowing")), description: "The page, and the time." },
      query_ref: { ...orNull(ref("reference")), description: "A stored query." },
      query_variant_ref: { ...orNull(ref("reference")), description: "A variant of one." },
      query_revision_ref: { ...orNull(ref("reference")), description: "A revision of one." }
    }),
    $defs: span_schemas
  }
}

const own_variant = text("The workflow variant that you run as.")

const read_config: PlatformOp = {
  op: "read_config",
  description:
    "Reads the configuration of the workflow variant that you run as, or a part of it, with the id of its latest revision. A part that is too large is refused with the names of its own parts.",
  handler: "tools.agenta.read_config",
  timeout_ms: 15_000,
  read_only: true,
  bind: {
    "target.workflow_variant_id": "$ctx.workflow.variant.id",
    "target.run_is_draft": "$ctx.workflow.is_draft"
  },
  input_schema: closed(
    {
      target: closed({
        workflow_variant_id: own_variant,
        run_is_draft: { type: "boolean", description: "Whether it is a draft." },
        path: {
          type: "array",
          maxItems: 12,
          items: {
            anyOf: [
              { type: "string", minLength: 1 },
              closed(
                { list: { type: "string", minLength: 1 }, key: { type: "string", minLength: 1 } },
                ["list", "key"]
              )
            ]
          },
          description:
            "The place: names of members, and { list, key } for an entry of a list, such as a skill by its name. Left out = everything."
        }
      }),
      max_bytes: {
        type: "integer",
        minimum: 1_024,
        maximum: 262_144,
        description: "The most bytes of an answer. Left out = 65536."
      }
    },
    ["target"]
  )
}

const test_run: PlatformOp = {
  op: "test_run",
  description:
    "Runs the configuration that you run as once, with these messages, and with changes that are not committed if you give some. Its tools really act. The answer has its output, its trace and a verdict.",
  handler: "tools.agenta.test_run",
  timeout_ms: 120_000,
  bind: { "target.workflow_variant_id": "$ctx.workflow.variant.id" },
  input_schema: closed(
    {
      target: closed({ workflow_variant_id: own_variant }, ["workflow_variant_id"]),
      inputs: closed(
        { messages: { "x-ag-type-ref": "messages", description: "What it is told." } },
        ["messages"]
      ),
      delta: closed({
        set: { type: "object", description: "Members that are merged into the configuration." },
        remove: {
          type: "array",
          items: { type: "string" },
          description: "Dotted places that are taken out of it."
        }
      }),
      expectations: closed({ terminal_tool: text("The tool with which it should end.") })
    },
    ["target", "inputs"]
  )
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
      workflow_revision: open(
        {
          workflow_variant_id: text("The variant that the revision belongs to."),
          expected_revision_id: text("The variant's latest revision, as the sender knows it."),
          message: text("What changed, in a sentence."),
          data: { type: "object", description: "The data of the revision, whole." }
        },
        ["workflow_variant_id"]
      )
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

const rename_session: PlatformOp = {
  op: "rename_session",
  description: "Gives the session of this run a name, and a description if you like.",
  method: "POST",
  path: "/api/sessions/streams/header?session_id={session_id}",
  bind: { session_id: "$ctx.session.id" },
  input_schema: closed(titled, ["name"])
}

const rename_agent: PlatformOp = {
  op: "rename_agent",
  description: "Gives the workflow that you run as a name, and a description if you like.",
  method: "PUT",
  path: "/api/workflows/{workflow_id}",
  args_into: "workflow",
  allow_nested_bind: true,
  bind: {
    workflow_id: "$ctx.workflow.artifact.id",
    "workflow.id": "$ctx.workflow.artifact.id"
  },
  input_schema: closed({ ...titled, id: text("The workflow that you run as.") }, ["name", "id"])
}

export const platform_ops: ReadonlyArray<PlatformOp> = [
  find_capabilities,
  discover_tools,
  query_workflows,
  query_spans,
  read_config,
  test_run,
  commit_revision,
  annotate_trace,
  rename_session,
  rename_agent,
  ...trigger_ops
]
