/**
 * Lists as files: CSV for a spreadsheet, with as many rows as 100 pages have, and JSON as the API has one page. Whoever may see the
 * page may have the file.
 */
import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import type { Approval } from "../../src/approval/Approval.ts"
import { decisionNames } from "../../src/approval/Approval.ts"
import type { CostTotal } from "../../src/cost/TurnCost.ts"
import * as ApprovalOperations from "../../src/operation/ApprovalOperations.ts"
import * as CostOperations from "../../src/operation/CostOperations.ts"
import * as RunOperations from "../../src/operation/RunOperations.ts"
import type { RunItem } from "../../src/run/RunItem.ts"
import type { Cell } from "../../src/value/Csv.ts"
import { csvOf } from "../../src/value/Csv.ts"
import { defined } from "../../src/value/PlainObject.ts"
import { operations } from "../service/ServiceOperations.ts"
import { jsonFile } from "./ApiLine.ts"
import { costQuery, decisionQuery, runQuery } from "./ListQueries.ts"
import type { Asked, Page } from "./SignedPages.ts"
import { perform, signedPage } from "./SignedPages.ts"
import { isoOf } from "./Words.ts"

const pages_max = 100

type Row = ReadonlyArray<Cell>

/** The rows of a list, page by page. `isCut`: there are more. */
export const rowsOf = Effect.fnUntraced(function* <Item, After extends string, E, R>(
  pageAfter: (
    after: After | undefined
  ) => Effect.Effect<{ readonly items: ReadonlyArray<Item>; readonly next_after?: After }, E, R>,
  rowsFor: (item: Item) => ReadonlyArray<Row>,
  after: After | undefined
) {
  const rows: Array<Row> = []
  let next = after
  for (let pages = 0; pages < pages_max; pages++) {
    const page = yield* pageAfter(next)
    for (const item of page.items) rows.push(...rowsFor(item))
    next = page.next_after
    if (next === undefined) return { rows, isCut: false }
  }
  return { rows, isCut: true }
})

/** The file says in its name that it is only the beginning. */
export const csvFile = (
  name: string,
  header: ReadonlyArray<string>,
  { isCut, rows }: { readonly rows: ReadonlyArray<Row>; readonly isCut: boolean }
) =>
  HttpServerResponse.text(csvOf(header, rows), {
    contentType: "text/csv; charset=utf-8",
    headers: {
      "content-disposition": `attachment; filename="${name}${isCut ? `-first-${rows.length}` : ""}.csv"`
    }
  })

const optionalTime = (at: number | undefined) => (at === undefined ? undefined : isoOf(at))

const runHeader = [
  "run",
  "conversation",
  "agent",
  "handed_to",
  "status",
  "reason",
  "by",
  "via",
  "message",
  "created_at"
]

const runRow = (run: RunItem): ReadonlyArray<Row> => [
  [
    run.id,
    run.conversation,
    run.agent,
    run.handed_to,
    run.quarantined === true ? "quarantined" : run.status,
    run.reason,
    run.by,
    run.via,
    run.message,
    isoOf(run.created_at)
  ]
]

const runsCsv = signedPage(
  Effect.fnUntraced(function* (asked: Asked) {
    const { after, ...query } = yield* runQuery(asked)
    const found = yield* rowsOf(
      (next: typeof after) =>
        perform(operations.runs, { ...query, ...defined({ after: next }) }, asked),
      runRow,
      after
    )
    return csvFile("runs", runHeader, found)
  })
)

const runsJson = signedPage(
  Effect.fnUntraced(function* (asked: Asked) {
    const found = yield* perform(operations.runs, yield* runQuery(asked), asked)
    return yield* jsonFile(RunOperations.list.success, found, "runs")
  })
)

const decisionHeader = [
  "question",
  "asked_at",
  "agent",
  "tool",
  "effect",
  "asked_by",
  "status",
  "decision",
  "decided_by",
  "decided_via",
  "decided_at",
  "said",
  "run"
]

const decisionRow = (approval: Approval): ReadonlyArray<Row> => {
  const { decision, payload } = approval
  const said = decision?._tag === "Deny" ? decision.reason : decision?.note
  return [
    [
      approval.id,
      isoOf(approval.requested_at),
      payload.agent_name,
      approval.tool_key,
      payload.effect_description,
      approval.asked_by,
      approval.status,
      decision && decisionNames[decision._tag],
      approval.decided_by,
      approval.decided_via,
      optionalTime(approval.decided_at),
      said,
      approval.run_id
    ]
  ]
}

const decisionsCsv = signedPage(
  Effect.fnUntraced(function* (asked: Asked) {
    const { after, ...query } = (yield* decisionQuery(asked)).query
    const found = yield* rowsOf(
      (next: typeof after) =>
        perform(operations.approvals, { ...query, ...defined({ after: next }) }, asked),
      decisionRow,
      after
    )
    return csvFile("decisions", decisionHeader, found)
  })
)

const decisionsJson = signedPage(
  Effect.fnUntraced(function* (asked: Asked) {
    const { query } = yield* decisionQuery(asked)
    const found = yield* perform(operations.approvals, query, asked)
    return yield* jsonFile(ApprovalOperations.list.success, found, "decisions")
  })
)

const costHeader = [
  "key",
  "currency",
  "amount",
  "turns",
  "unpriced_turns",
  "input_tokens",
  "output_tokens",
  "cached_tokens",
  "cache_write_tokens",
  "reasoning_tokens"
]

/** A row for each currency; the counts stand in the first, so that their sums are right. */
const costRows = (total: CostTotal): ReadonlyArray<Row> => {
  const counts = [
    total.turns,
    total.unpriced_turns,
    total.input_tokens,
    total.output_tokens,
    total.cached_tokens,
    total.cache_write_tokens,
    total.reasoning_tokens
  ]
  const [first, ...others] = total.amounts
  return [
    [total.key, first?.currency, first?.amount, ...counts],
    ...others.map(({ amount, currency }) => [total.key, currency, amount])
  ]
}

const costsCsv = signedPage(
  Effect.fnUntraced(function* (asked: Asked) {
    const { after, ...query } = (yield* costQuery(asked)).query
    const found = yield* rowsOf(
      (next: typeof after) =>
        perform(operations.costs, { ...query, ...defined({ after: next }) }, asked),
      costRows,
      after
    )
    return csvFile(`costs-by-${query.by}`, costHeader, found)
  })
)

const costsJson = signedPage(
  Effect.fnUntraced(function* (asked: Asked) {
    const { query } = yield* costQuery(asked)
    const found = yield* perform(operations.costs, query, asked)
    return yield* jsonFile(CostOperations.list.success, found, `costs-by-${query.by}`)
  })
)

/** Runs, decisions and costs as files. */
export const files: ReadonlyArray<Page> = [
  { method: "GET", path: "/console/runs.csv", answer: runsCsv },
  { method: "GET", path: "/console/runs.json", answer: runsJson },
  { method: "GET", path: "/console/decisions.csv", answer: decisionsCsv },
  { method: "GET", path: "/console/decisions.json", answer: decisionsJson },
  { method: "GET", path: "/console/costs.csv", answer: costsCsv },
  { method: "GET", path: "/console/costs.json", answer: costsJson }
]
