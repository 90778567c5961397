/**
 * The platform's operations on what starts runs: schedules, and subscriptions to the events of third parties.
 */
import type { JsonObject } from "./BodyPath.ts"
import { closed, open, searched, text } from "./PlatformOpSchemas.ts"
import type { PlatformOp } from "./PlatformOp.ts"

const inputs_fields: JsonObject = {
  description:
    "What its runs are given: a template, in which a text that begins with $ or / is a place in the event. Left out = the whole event.",
  anyOf: [{ type: "object" }, { type: "string" }]
}
const references = closed({ workflow_variant: closed({ id: text("The variant that it runs.") }) })
const moment = (description: string): JsonObject => ({
  type: "string",
  format: "date-time",
  description
})
const event_key = text("The event, as discover_triggers gives it.")
const trigger_config: JsonObject = {
  type: "object",
  description: "The event's own settings, by the schema that discover_triggers gives."
}
const connection_id = text(
  "The connection at which the event happens, as list_connections gives it."
)

const discover_triggers: PlatformOp = {
  op: "discover_triggers",
  description:
    "Finds events of third parties that could start you. Describe each use case in a sentence; the answer lists matching events with their keys and settings, and whether they are connected.",
  method: "POST",
  path: "/api/triggers/discover",
  read_only: true,
  input_schema: searched("What should start you")
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
          start_time: moment("When it begins, in UTC."),
          end_time: moment("When it ends, in UTC."),
          inputs_fields,
          references
        },
        ["event_key", "schedule", "references"]
      )
    },
    ["data"]
  )
}

const create_subscription: PlatformOp = {
  op: "create_subscription",
  description:
    "Subscribes the workflow variant that you run as to an event of a third party: each such event runs it.",
  method: "POST",
  path: "/api/triggers/subscriptions/",
  args_into: "subscription",
  allow_nested_bind: true,
  bind: { "subscription.data.references.workflow_variant.id": "$ctx.workflow.variant.id" },
  input_schema: closed(
    {
      name: text("What the subscription is called."),
      description: text("What it is for."),
      connection_id,
      data: closed({ event_key, trigger_config, inputs_fields, references }, [
        "event_key",
        "references"
      ])
    },
    ["connection_id", "data"]
  )
}

const test_subscription: PlatformOp = {
  op: "test_subscription",
  description:
    "Waits for one event of a subscription that you are about to create, and shows it. Nothing is run by it.",
  method: "POST",
  path: "/api/triggers/subscriptions/test",
  args_into: "subscription",
  input_schema: open(
    {
      name: text("What the test is called."),
      connection_id,
      data: open({ event_key, trigger_config }, ["event_key"])
    },
    ["connection_id", "data"]
  )
}

const listed = (op: string, path: string, description: string): PlatformOp => ({
  op,
  description,
  method: "GET",
  path,
  read_only: true,
  input_schema: open({})
})

const list_connections: PlatformOp = {
  op: "list_connections",
  description: "Lists the project's connections to third parties, at which events can happen.",
  method: "POST",
  path: "/api/triggers/connections/query",
  read_only: true,
  input_schema: open({})
}

const onOne = (
  op: string,
  method: "DELETE" | "POST",
  path: string,
  description: string
): PlatformOp => ({
  op,
  description,
  method,
  path,
  input_schema: open({ id: text("Its id.") }, ["id"])
})

const schedule = "/api/triggers/schedules/{id}"
const subscription = "/api/triggers/subscriptions/{id}"

export const trigger_ops: ReadonlyArray<PlatformOp> = [
  discover_triggers,
  create_schedule,
  create_subscription,
  listed("list_schedules", "/api/triggers/schedules/", "Lists the project's schedules."),
  listed(
    "list_subscriptions",
    "/api/triggers/subscriptions/",
    "Lists the project's subscriptions."
  ),
  listed(
    "list_deliveries",
    "/api/triggers/deliveries",
    "Lists what schedules and subscriptions have started, and what became of it."
  ),
  list_connections,
  test_subscription,
  onOne("remove_schedule", "DELETE", schedule, "Removes a schedule for good."),
  onOne("remove_subscription", "DELETE", subscription, "Removes a subscription for good."),
  onOne(
    "pause_schedule",
    "POST",
    `${schedule}/stop`,
    "Pauses a schedule: it runs nothing until it is resumed."
  ),
  onOne("resume_schedule", "POST", `${schedule}/start`, "Lets a paused schedule run again."),
  onOne(
    "pause_subscription",
    "POST",
    `${subscription}/stop`,
    "Pauses a subscription: its events run nothing until it is resumed."
  ),
  onOne(
    "resume_subscription",
    "POST",
    `${subscription}/start`,
    "Lets the events of a paused subscription run it again."
  )
]
