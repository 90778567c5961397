/**
 * The operations on runs in quarantine, whose journal cannot be folded: to read the stored rows, and to release a run after its
 * repair.
 */
import { Schema } from "effect"
import { RunId } from "../value/Ids.ts"
import { QuarantinedRun, RawEvent } from "../run/Quarantine.ts"
import { operation } from "./Operation.ts"
import { After, Limit } from "./Page.ts"

const params = Schema.Struct({ id: RunId })

export const list = operation({
  id: "list",
  name: "quarantined",
  method: "GET",
  path: "/v1/quarantine",
  query: Schema.Struct({ limit: Schema.optionalKey(Limit), after: Schema.optionalKey(RunId) }),
  success: Schema.Struct({
    items: Schema.Array(QuarantinedRun),
    next_after: Schema.optionalKey(RunId)
  }),
  right: "repair",
  gives: "items",
  summary: "Runs whose journal does not fold"
})

export const events = operation({
  id: "events",
  name: "rawEvents",
  method: "GET",
  path: "/v1/quarantine/:id/events",
  params,
  query: Schema.Struct({
    limit: Schema.optionalKey(Limit),
    /** The page contains rows with a greater `seq` than this. */
    after: Schema.optionalKey(After)
  }),
  success: Schema.Struct({
    items: Schema.Array(RawEvent),
    next_after: Schema.optionalKey(After)
  }),
  problems: [404],
  right: "repair",
  args: ["id"],
  gives: "items",
  summary: "A run's rows as they are stored"
})

export const release = operation({
  id: "release",
  name: "releaseRun",
  method: "POST",
  path: "/v1/quarantine/:id/release",
  params,
  problems: [404, 409],
  right: "repair",
  args: ["id"],
  summary: "Fold a run again, and let it go on if it does"
})
