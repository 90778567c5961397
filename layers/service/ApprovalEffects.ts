/** Questions to people, and their decisions. The approval desk checks who may decide. */
import { Effect } from "effect"
import { ApprovalDesk } from "../../services/ApprovalDesk.ts"
import { ApprovalRecords } from "../../services/ApprovalRecords.ts"
import { RunList } from "../../services/RunList.ts"
import type { StoreError } from "../../services/StoreError.ts"
import type { Approval, AnyDecision } from "../../src/approval/Approval.ts"
import { ApprovalNotFound, decisionNames, decisionOf } from "../../src/approval/Approval.ts"
import { insightsOf } from "../../src/approval/ApprovalInsights.ts"
import type { ApprovalFilters } from "../../src/operation/Filters.ts"
import * as ApprovalOperations from "../../src/operation/ApprovalOperations.ts"
import { limit_default } from "../../src/operation/Page.ts"
import { boundedPage } from "../../src/value/Pages.ts"
import { defined } from "../../src/value/PlainObject.ts"
import { ApprovalUrl } from "./ApprovalUrl.ts"
import { pageOf, serve } from "./Served.ts"

const linked = (approval: Approval, url: string | undefined): Approval => ({
  ...approval,
  link: `/v1/approvals/${approval.id}`,
  ...defined({ url: url?.replaceAll("{id}", approval.id) })
})

/** The maximum number of calls with an unknown outcome, next to a page of approvals. */
const unknown_max = 100

/** How many questions a page with filters looks at. */
const looked_max = 2_000
/** How many a page reads at a time: their arguments have at most 256 kB each, unless a tool says otherwise. */
const read_max = 64

type Filters = Omit<typeof ApprovalFilters.Type, "after" | "limit" | "order" | "run_id" | "status">

/** Whether a question is one of those that the filters are for. */
const keepsOf = ({
  agent,
  decided_by,
  decision,
  requested_from = -Infinity,
  requested_to = Infinity,
  tool
}: Filters): ((approval: Approval) => boolean) => {
  const has = (given: string | undefined, ...values: ReadonlyArray<string | undefined>) =>
    given === undefined || values.includes(given)
  return (each) =>
    each.requested_at >= requested_from &&
    each.requested_at < requested_to &&
    has(tool, each.payload.tool_name, each.tool_key) &&
    has(agent, each.payload.agent_name) &&
    has(decided_by, each.decided_by) &&
    has(decision, each.decision && decisionNames[each.decision._tag])
}

export const list = serve(
  ApprovalOperations.list,
  Effect.fnUntraced(function* (
    { after, limit = limit_default, order, run_id, status = "pending", ...filters },
    { tenant }
  ) {
    const records = yield* ApprovalRecords
    const found = boundedPage<Approval, StoreError>(
      limit,
      (last, limit) =>
        records.list({
          tenant,
          status,
          run_id,
          kind: "approval",
          order,
          limit,
          after: last?.id ?? after
        }),
      Object.keys(filters).length === 0
        ? { read_max }
        : { keeps: keepsOf(filters), looked_max, read_max }
    )
    // Approvers also see the calls that wait for an operator.
    const runs = run_id === undefined ? undefined : [run_id]
    const unknown =
      status === "pending"
        ? RunList.use((all) => all.unknown({ tenant, runs, limit: unknown_max }))
        : Effect.succeed([])
    const [page, unknown_calls] = yield* Effect.all([found, unknown], { concurrency: 2 })
    const url = yield* ApprovalUrl
    return {
      ...pageOf({ ...page, items: page.items.map((each) => linked(each, url)) }, "id"),
      ...(unknown_calls.length === 0 ? undefined : { unknown_calls })
    }
  })
)

export const insights = serve(
  ApprovalOperations.insights,
  Effect.fnUntraced(function* ({ by = "tool", ...times }, { tenant }) {
    const records = yield* ApprovalRecords
    const { items, last } = yield* boundedPage<Approval, StoreError>(
      looked_max,
      (last, limit) =>
        records.list({ tenant, kind: "approval", order: "newest", limit, after: last?.id }),
      { keeps: keepsOf(times), looked_max, read_max }
    )
    return {
      items: insightsOf(by, items),
      ...(last === undefined ? undefined : { is_cut: true as const })
    }
  })
)

export const get = serve(ApprovalOperations.get, ({ id }, by) =>
  Effect.map(
    Effect.all([ApprovalDesk.use((desk) => desk.get(id, by)), ApprovalUrl]),
    ([approval, url]) => linked(approval, url)
  )
)

export const decide = serve(
  ApprovalOperations.decide,
  Effect.fnUntraced(function* ({ id, ...decision }, by) {
    yield* ApprovalDesk.use((desk) => desk.decide(id, decisionOf(decision as AnyDecision), by))
    // A principal who may decide may also read what was decided, even a customer, who may read no other approval.
    const decided = yield* ApprovalRecords.use((records) => records.read(by.tenant, id))
    return decided === undefined
      ? yield* new ApprovalNotFound({ id })
      : linked(decided, yield* ApprovalUrl)
  })
)
