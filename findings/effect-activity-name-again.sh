#!/usr/bin/env bash
# Two activities of one name in a workflow of effect 4.1.0.
# A workflow books each of two orders in an activity "book", as a loop over a list would write it. Nothing fails or restarts.
# One would guess that both bodies run, since Temporal and DBOS tell calls apart by their order, or that the second name is refused.
# Seen: one body runs. The second activity gives the first one's result, within the same execution and without a warning, on both
# engines. The name has to hold the order.
# Source: activityExecute in src/workflow/WorkflowEngine.ts and src/cluster/ClusterWorkflowEngine.ts of the package stores results
# under execution, name and attempt; no page says that a name may be used once.
# Output, 2026-12-01:
#   in memory:  booked 1, given booking of order 1, booking of order 1
#   cluster:    booked 1, given booking of order 1, booking of order 1
#   guess:      booked 1,2, given booking of order 1, booking of order 2
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{ "private": true }' >package.json
packages=(effect@4.1.0)
node --eval 'process.exit(parseInt(process.versions.node) < 22 ? 1 : 0)' || packages+=(node@24.21.0)
npm install --silent --no-audit --no-fund "${packages[@]}"
PATH=$folder/node_modules/.bin:$PATH
cat >look.mjs <<'END'
import { Effect, Layer, Schema } from "effect"
import { ClusterWorkflowEngine, TestRunner } from "effect/cluster"
import { Activity, Workflow, WorkflowEngine } from "effect/workflow"

const Bookings = Workflow.make("Bookings", {
  payload: { orders: Schema.Array(Schema.Number) },
  success: Schema.Array(Schema.String),
  idempotencyKey: ({ orders }) => orders.join()
})
const go = async (what, engine) => {
  const booked = []
  const layer = Bookings.toLayer(({ orders }) =>
    Effect.forEach(orders, (order) =>
      Activity.make({
        name: "book",
        success: Schema.String,
        execute: Effect.sync(() => {
          booked.push(order)
          return `booking of order ${order}`
        })
      })
    )
  )
  const given = await Effect.runPromise(
    Bookings.execute({ orders: [1, 2] }).pipe(Effect.provide(Layer.provideMerge(layer, engine)))
  )
  const seen = `booked ${booked.join()}, given ${given.join(", ")}`
  console.log(`${`${what}:`.padEnd(11)} ${seen}`)
  return seen
}
const cluster = Layer.provide(ClusterWorkflowEngine.layer, TestRunner.layer)
const seen = [await go("in memory", WorkflowEngine.layerMemory), await go("cluster", cluster)]
console.log("guess:      booked 1,2, given booking of order 1, booking of order 2")
if (seen.some((each) => each !== "booked 1, given booking of order 1, booking of order 1")) {
  console.error("No longer so: an activity whose name was used before runs, or is refused.")
  process.exit(1)
}
process.exit(0)
END
node look.mjs
