/** What an examination finds of a service at work: of its database, and of what waits for the caller's tenant. */
import { Clock, Effect } from "effect"
import { AgentDirectory, hostedBy } from "../../services/AgentDirectory.ts"
import { ApprovalRecords } from "../../services/ApprovalRecords.ts"
import { OutboxReader } from "../../services/OutboxReader.ts"
import { RunList } from "../../services/RunList.ts"
import { RunQuarantine } from "../../services/RunQuarantine.ts"
import { RunReader } from "../../services/RunReader.ts"
import { StoreExamination } from "../../services/StoreExamination.ts"
import { StoreSpace } from "../../services/StoreSpace.ts"
import * as StandingOperations from "../../src/operation/StandingOperations.ts"
import type { Finding } from "../../src/value/Finding.ts"
import { fault, ids_max, noneExpected, ok, warning, worstOf } from "../../src/value/Finding.ts"
import type { Tenant } from "../../src/value/Ids.ts"
import { compareQuestions } from "./ComparedQuestions.ts"
import { serve } from "./Served.ts"
import { policy } from "./ToolEffects.ts"

/** The oldest open questions that are compared, each of which takes a read. */
const questions_max = 100
/** A message that waits for longer is late, in ms. A living process takes it within seconds. */
const late_ms = 300_000

/** One more than are named, which tells that there are more. */
const limit = ids_max + 1

const listed = (check: Parameters<typeof noneExpected>[0], ids: ReadonlyArray<string>): Finding =>
  noneExpected(check, ids, ids.length > ids_max ? `more than ${ids_max}` : ids.length)

/** What an operator has to settle, of what there should be none. */
const unsettled = Effect.fnUntraced(function* (tenant: Tenant) {
  const broken = yield* RunQuarantine.use((all) => all.quarantined({ tenant, limit }))
  const unknown = yield* RunList.use((all) => all.unknown({ tenant, limit }))
  const letters = yield* OutboxReader.use((all) => all.matching({ tenant, limit }))
  return [
    listed(
      "quarantine",
      broken.map(({ run_id }) => run_id)
    ),
    listed(
      "unknown",
      unknown.map(({ call, run_id }) => `${run_id} ${call}`)
    ),
    listed("dead_letters", letters)
  ]
})

/** What no living process takes up. */
const stuck = Effect.fnUntraced(function* (tenant: Tenant) {
  const hosted = hostedBy((yield* AgentDirectory).all)
  const unhosted = yield* RunList.use((runs) => runs.unhosted({ tenant, hosted }))
  const needs = unhosted.map(
    ({ agent, count, tool, version }) =>
      `${agent}${version === undefined ? "" : `@${version}`}${tool === undefined ? "" : `/${tool}`}: ${count}`
  )
  const waiting = unhosted.reduce((sum, { count }) => sum + count, 0)
  const before = (yield* Clock.currentTimeMillis) - late_ms
  const late = (yield* OutboxReader.use((reader) => reader.undelivered(tenant))).filter(
    ({ oldest_at }) => oldest_at < before
  )
  const minutes = late_ms / 60_000
  return [
    needs.length === 0
      ? ok("hosts", "no run waits for a process")
      : {
          ...warning("hosts", `${waiting} runs wait, and no living process hosts what they need`),
          ids: needs.slice(0, ids_max)
        },
    late.length === 0
      ? ok("outbox", "no message is late")
      : {
          ...warning("outbox", `messages of these topics have waited for over ${minutes} minutes`),
          ids: late.slice(0, ids_max).map(({ topic }) => topic)
        }
  ]
})

/** Open questions of which the agents or tools were changed since. */
const questions = Effect.fnUntraced(function* (tenant: Tenant) {
  const open = yield* ApprovalRecords.use((records) =>
    records.list({ tenant, status: "pending", kind: "approval", limit: questions_max })
  )
  const reader = yield* RunReader
  const first = yield* Effect.forEach(open, ({ payload, run_id, tool_key }) =>
    Effect.map(
      // A run in quarantine is found above.
      Effect.orElseSucceed(reader.readFor(tenant, run_id, 0, 1), () => []),
      ([entry]) =>
        entry?.event._tag === "RunAccepted"
          ? [
              {
                run_id,
                tool_key,
                agent: entry.event.address.agent,
                asked_by: payload.agent_name,
                pins: entry.event.pins
              }
            ]
          : []
    )
  )
  return yield* compareQuestions(
    first.flat(),
    "the process that answers does not have these agents: their tools were not compared"
  )
})

const space = StoreSpace.use(({ check }) =>
  Effect.match(check, {
    onSuccess: () => ok("space", "there is room where the store writes"),
    onFailure: () => fault("space", "there is no room left where the store writes, or soon none")
  })
)

export const checks = serve(
  StandingOperations.checks,
  Effect.fnUntraced(function* (_, by) {
    const { tenant } = by
    const { warnings } = yield* policy.perform(Effect.succeed({}), by)
    const findings: ReadonlyArray<Finding> = [
      yield* space,
      ...(yield* StoreExamination.use((store) => store.findings)),
      ...(yield* unsettled(tenant)),
      ...(yield* stuck(tenant)),
      ...(yield* questions(tenant)),
      ...(warnings.length === 0
        ? [ok("policy", "every entry of the policy has an effect")]
        : warnings.slice(0, ids_max).map((each) => warning("policy", each)))
    ]
    return { level: worstOf(findings), findings }
  })
)
