/**
 * What starts runs on the reference platform, in memory: schedules, and subscriptions to events of third parties, which are made
 * up. Nothing ever happens by itself here; a test of a subscription gives a made-up event.
 */
import { Schema } from "effect"
import type { Json } from "../../../src/value/Canonical.ts"
import type { JsonObject } from "../../../src/call/BodyPath.ts"
import { DiscoverBody, discovered } from "./Discovery.ts"
import type { Known } from "./Discovery.ts"
import type { Route } from "./Route.ts"
import { Id, Members, route } from "./Route.ts"
import { ok, problem } from "./Wire.ts"

/** The most of each kind that are kept. */
const kept_max = 10_000

const events: ReadonlyArray<Known & { readonly event_key: string; readonly payload: JsonObject }> =
  [
    {
      provider: "composio",
      integration: "github",
      name: "issue_opened",
      event_key: "github.issue_opened",
      connection: "connection-github",
      description: "An issue was opened in a repository.",
      payload: { issue: { number: 1, title: "Too warm" } }
    },
    {
      provider: "composio",
      integration: "slack",
      name: "message_received",
      event_key: "slack.message_received",
      description: "A message came in a channel.",
      payload: { text: "Hello" }
    }
  ]

const Inputs = Schema.Union([Members, Schema.String])
const References = Schema.Struct({ workflow_variant: Schema.Struct({ id: Id }) })
const Moment = Schema.String.check(
  Schema.makeFilter((text) => Number.isFinite(Date.parse(text)) || "it is no date and time")
)

const ScheduleBody = Schema.Struct({
  schedule: Schema.Struct({
    name: Schema.optionalKey(Id),
    description: Schema.optionalKey(Schema.String),
    data: Schema.Struct({
      event_key: Id,
      schedule: Schema.String.check(
        Schema.isPattern(/^\S+(?: \S+){4}$/, { description: "five fields of cron" })
      ),
      start_time: Schema.optionalKey(Moment),
      end_time: Schema.optionalKey(Moment),
      inputs_fields: Schema.optionalKey(Inputs),
      references: References
    })
  })
})

const event = { event_key: Id, trigger_config: Schema.optionalKey(Members) }
const SubscriptionBody = Schema.Struct({
  subscription: Schema.Struct({
    name: Schema.optionalKey(Id),
    description: Schema.optionalKey(Schema.String),
    connection_id: Id,
    data: Schema.Struct({
      ...event,
      inputs_fields: Schema.optionalKey(Inputs),
      references: References
    })
  })
})
const TestBody = Schema.Struct({
  subscription: Schema.Struct({
    name: Schema.optionalKey(Id),
    connection_id: Id,
    data: Schema.Struct(event)
  })
})

const Nothing = Schema.Struct({})

/** The event of a connection; undefined = it has none of this key. */
const eventOf = (connection: string, key: string) =>
  events.find((each) => each.connection === connection && each.event_key === key)

const noEvent = problem(404, "this connection has no such event")

interface Kept {
  readonly all: ReadonlyMap<string, JsonObject>
  /** Undefined = there are too many. */
  readonly add: (value: JsonObject) => JsonObject | undefined
  readonly routes: ReadonlyArray<Route>
}

/** Routes that list, remove, pause and resume what is kept under a path. `one` is its name in answers. */
const kept = (path: string, one: string): Kept => {
  const all = new Map<string, JsonObject>()
  let made = 0
  const none = problem(404, `there is no such ${one}`)
  const setActive = (verb: string, is_active: boolean) =>
    route("POST", `${path}/{id}/${verb}`, Nothing, (_, { params: { id = "" } }) => {
      const found = all.get(id)
      if (found === undefined) return none
      const changed = { ...found, is_active }
      all.set(id, changed)
      return ok({ count: 1, [one]: changed })
    })
  return {
    all,
    add: (value) => {
      if (all.size >= kept_max) return undefined
      const whole = { id: `${one}-${++made}`, ...value, is_active: true }
      all.set(whole.id, whole)
      return whole
    },
    routes: [
      route("GET", `${path}/`, Nothing, () =>
        ok({ count: all.size, [`${one}s`]: [...all.values()] })
      ),
      route("DELETE", `${path}/{id}`, Nothing, (_, { params: { id = "" } }) =>
        all.delete(id) ? ok({ count: 1 }) : none
      ),
      setActive("stop", false),
      setActive("start", true)
    ]
  }
}

const made = (one: string, value: JsonObject | undefined) =>
  value === undefined ? problem(507, `there are too many ${one}s`) : ok({ count: 1, [one]: value })

export const routes = (): ReadonlyArray<Route> => {
  const schedules = kept("/api/triggers/schedules", "schedule")
  const subscriptions = kept("/api/triggers/subscriptions", "subscription")
  const deliveries: Array<Json> = []
  const connections = events.flatMap(({ connection, integration, provider }) =>
    connection === undefined ? [] : [{ id: connection, provider, integration, is_active: true }]
  )
  return [
    route("POST", "/api/triggers/discover", DiscoverBody, (body) =>
      discovered(body, events, "event")
    ),
    route("POST", "/api/triggers/connections/query", Nothing, () =>
      ok({ count: connections.length, connections })
    ),
    route("GET", "/api/triggers/deliveries", Nothing, () =>
      ok({ count: deliveries.length, deliveries: [...deliveries] })
    ),
    route("POST", "/api/triggers/schedules/", ScheduleBody, ({ schedule }) =>
      made("schedule", schedules.add(schedule as unknown as JsonObject))
    ),
    // Before the routes of one subscription: `test` is no id.
    route("POST", "/api/triggers/subscriptions/test", TestBody, ({ subscription }) => {
      const found = eventOf(subscription.connection_id, subscription.data.event_key)
      if (found === undefined) return noEvent
      if (deliveries.length >= kept_max) return problem(507, "there are too many deliveries")
      const { event_key, payload } = found
      const delivery = {
        id: `delivery-${deliveries.length + 1}`,
        is_test: true,
        event_key,
        payload
      }
      deliveries.push(delivery)
      return ok({ count: 1, delivery })
    }),
    route("POST", "/api/triggers/subscriptions/", SubscriptionBody, ({ subscription }) =>
      eventOf(subscription.connection_id, subscription.data.event_key) === undefined
        ? noEvent
        : made("subscription", subscriptions.add(subscription as unknown as JsonObject))
    ),
    ...schedules.routes,
    ...subscriptions.routes
  ]
}
