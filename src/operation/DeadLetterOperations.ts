/**
 * The operations on dead letters: messages of the outbox that could not be delivered.
 */
import { Schema } from "effect"
import { DeadLetter } from "../delivery/OutboxMessage.ts"
import { MessageId } from "../value/Ids.ts"
import { LetterFilters } from "./Filters.ts"
import { operation } from "./Operation.ts"
import { Reason } from "./Page.ts"

const params = Schema.Struct({ event_id: MessageId })
const resolving = {
  params,
  payload: Schema.Struct({ reason: Reason }),
  problems: [404, 409]
} as const

export const list = operation({
  id: "list",
  name: "deadLetters",
  method: "GET",
  path: "/v1/dead-letters",
  query: LetterFilters,
  success: Schema.Struct({ items: Schema.Array(DeadLetter) }),
  right: "inspect",
  gives: "items",
  summary: "Dead letters, newest first"
})

export const get = operation({
  id: "get",
  name: "deadLetter",
  method: "GET",
  path: "/v1/dead-letters/:event_id",
  params,
  success: DeadLetter,
  problems: [404],
  right: "inspect",
  args: ["event_id"],
  summary: "A dead letter with its failures"
})

export const replay = operation({
  id: "replay",
  name: "replayDeadLetter",
  method: "POST",
  path: "/v1/dead-letters/:event_id/replay",
  ...resolving,
  right: "redeliver",
  args: ["event_id", "reason"],
  summary: "Send a dead letter again"
})

export const discard = operation({
  id: "discard",
  name: "discardDeadLetter",
  method: "POST",
  path: "/v1/dead-letters/:event_id/discard",
  ...resolving,
  right: "redeliver",
  args: ["event_id", "reason"],
  summary: "Give a dead letter up"
})
