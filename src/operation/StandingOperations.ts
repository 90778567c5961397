/**
 * The operations on how a service stands: who works on its runs, and what waits. They answer with what is of the caller's tenant, and
 * with what names no tenant.
 */
import { Schema } from "effect"
import { DeliveryFailure } from "../delivery/OutboxMessage.ts"
import { Finding, Level } from "../value/Finding.ts"
import { AgentName } from "../value/Ids.ts"
import { operation } from "./Operation.ts"
import { Moment } from "./Page.ts"

/** How many there are; 1,001 = more than 1,000. */
const Count = Schema.Int

const Owner = Schema.Struct({
  id: Schema.String,
  /** When it registered, in ms since 1970, by the store's clock. */
  since: Moment,
  /** When it last extended its lease. Absent = it has none, but a lock. */
  seen_at: Schema.optionalKey(Moment),
  lease_until: Schema.optionalKey(Moment),
  /** It holds a lock, by which others know at once that it is gone. */
  locks: Schema.Boolean,
  /** The agents that it hosts, at most 100; none where its store has no other process. */
  agents: Schema.Array(AgentName),
  /** Runs of the tenant that it holds, of those that were counted. */
  runs: Count
})

const Worker = Schema.Struct({
  id: Schema.String,
  /** The name of its provider, the same at each start. */
  provider: Schema.String,
  available: Schema.Boolean,
  /** How many tools it offers. */
  tools: Schema.Int
})

/** Runs by the age of their messages. */
const Age = Schema.Struct({
  /** They are younger than this, in ms, and no younger than the ages before. Absent = older than those. */
  below_ms: Schema.optionalKey(Schema.Int),
  /** Runs that a process goes on with. */
  working: Count,
  /** Runs that wait for people. */
  waiting: Count
})

export const processes = operation({
  id: "processes",
  name: "processes",
  method: "GET",
  path: "/v1/processes",
  success: Schema.Struct({
    /** Those who hold work, such as the runtime of a process; at most 100, those that hold most runs of the tenant first. */
    owners: Schema.Array(Owner),
    /** Processes that run tools for others; at most 100. */
    workers: Schema.Array(Worker),
    /** Runs that are not over; of the first 1,001 that were found. */
    runs: Schema.Struct({
      count: Count,
      /** Those that wait for people. */
      parked: Count,
      /** Those whose last owner does not live. They go on when another process takes them. */
      unowned: Count,
      /** When the message of the oldest was accepted. Absent = there is none. */
      oldest_at: Schema.optionalKey(Moment),
      ages: Schema.Array(Age)
    }),
    /** Messages that wait for their delivery, by topic; of the first 1,001 that were found. */
    outbox: Schema.Array(
      Schema.Struct({
        topic: Schema.String,
        count: Count,
        /** Those that failed before. */
        failed: Count,
        oldest_at: Moment,
        last_failure: Schema.optionalKey(DeliveryFailure)
      })
    ),
    /** Calls for workers, by tool. */
    queue: Schema.Array(
      Schema.Struct({
        tool: Schema.String,
        waiting: Count,
        /** Those that a worker has claimed. */
        claimed: Count,
        /** Since when the oldest that waits may be claimed. Absent = none waits. */
        due_at: Schema.optionalKey(Moment)
      })
    )
  }),
  right: "inspect",
  summary: "Who works on runs, and what waits",
  description:
    "Processes are for all tenants; what they hold and what waits is counted for the caller's tenant alone, to 1,000. More is said as 1,001."
})

export const checks = operation({
  id: "checks",
  name: "checks",
  method: "GET",
  path: "/v1/checks",
  success: Schema.Struct({
    /** The worst level that was found. */
    level: Level,
    findings: Schema.Array(Finding)
  }),
  right: "inspect",
  summary: "What an examination of the store and of the waiting work finds",
  description:
    "As `troupe doctor`, of a service at work: the work is that of the caller's tenant, and what is said of the database names nobody. Changes nothing."
})

const Delivery = Schema.Struct({
  /** `channel.slack` for a channel called slack, `webhook.deliver` for webhooks. */
  topic: Schema.String,
  /** The process that answers delivers such messages. */
  delivered_here: Schema.Boolean,
  /** Messages that wait. */
  waiting: Count,
  /** Those of them that failed before. */
  failed: Count,
  oldest_at: Schema.optionalKey(Moment),
  /** Dead letters that nobody has settled. */
  dead: Count,
  /** When an attempt last failed, of those that wait or are dead. */
  failed_at: Schema.optionalKey(Moment),
  /** Why, as a code: a status such as 503, a name such as ECONNREFUSED, or `other`. Dead letters have the sentence. */
  failure: Schema.optionalKey(Schema.String)
})

export const deliveries = operation({
  id: "deliveries",
  name: "deliveries",
  method: "GET",
  path: "/v1/deliveries",
  success: Schema.Struct({ items: Schema.Array(Delivery) }),
  right: "inspect",
  gives: "items",
  summary: "What is delivered, by topic: what waits, what failed, and what is dead",
  description: "Of the caller's tenant; each number is counted to 1,000, and more is said as 1,001."
})

export const settings = operation({
  id: "settings",
  name: "settings",
  method: "GET",
  path: "/v1/settings",
  success: Schema.Struct({
    items: Schema.Array(
      Schema.Struct({
        /** Its place among the options of the start, such as `retention.runs_ms`. */
        name: Schema.String,
        value: Schema.Union([Schema.Finite, Schema.Boolean, Schema.String])
      })
    )
  }),
  right: "administer",
  gives: "items",
  summary: "How the process that answers was started: numbers, words and switches",
  description: "The same for all tenants. Keys, addresses and texts are none of these."
})
