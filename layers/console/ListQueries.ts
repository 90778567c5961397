/** What the addresses of lists choose, for their pages and for their files. */
import { Effect, Schema } from "effect"
import * as ApprovalOperations from "../../src/operation/ApprovalOperations.ts"
import * as CostOperations from "../../src/operation/CostOperations.ts"
import * as RunOperations from "../../src/operation/RunOperations.ts"
import { defined } from "../../src/value/PlainObject.ts"
import type { CostChoice } from "./CostPages.ts"
import { groups, measures, spans } from "./CostPages.ts"
import type { DecisionFilters } from "./RegisterPages.ts"
import { settled } from "./RegisterPages.ts"
import type { Asked } from "./SignedPages.ts"
import { decoded, nothingHere, page_max, queryOf } from "./SignedPages.ts"

const day_ms = 86_400_000

const RunQuery = Schema.Struct({
  after: RunOperations.list.query.fields.after,
  status: RunOperations.list.query.fields.status
})

/** The runs of one status, or all. */
export const runQuery = (asked: Asked) =>
  Effect.map(
    decoded(RunQuery, queryOf(asked, Object.keys(RunQuery.fields)), nothingHere),
    (query) => ({ ...query, limit: page_max })
  )

const { after, agent, model, tool } = CostOperations.list.query.fields

const CostQuery = Schema.Struct({
  by: Schema.optionalKey(Schema.Literals(groups)),
  days: Schema.optionalKey(Schema.Literals(spans.map(String))),
  show: Schema.optionalKey(Schema.Literals(measures)),
  after,
  agent,
  model,
  tool
})

/** Costs of a time, as the page chooses them and as the operation does. */
export const costQuery = Effect.fnUntraced(function* (asked: Asked) {
  const given = queryOf(asked, Object.keys(CostQuery.fields))
  const read = yield* decoded(CostQuery, given, nothingHere)
  const { after, by = "agent", days = "30", show = "cost", ...only } = read
  const chosen: CostChoice = { by, days: Number(days), show, ...only }
  const from = Math.max(0, asked.view.now - chosen.days * day_ms)
  return { chosen, query: { by, from, limit: page_max, ...only, ...defined({ after }) } }
})

const Day = Schema.String.check(Schema.isPattern(/^\d{4}-\d{2}-\d{2}$/))

const DecisionQuery = Schema.Struct({
  status: Schema.optionalKey(Schema.Literals(settled)),
  from: Schema.optionalKey(Day),
  until: Schema.optionalKey(Day),
  tool: Schema.optionalKey(Schema.String),
  agent: Schema.optionalKey(Schema.String),
  decided_by: Schema.optionalKey(Schema.String),
  decision: Schema.optionalKey(Schema.String),
  after: Schema.optionalKey(Schema.String)
})

const unfit = {
  status: 422,
  title: "No such filter",
  detail:
    "A filter of the register does not fit. Go back, and look at the agent's name and the days."
}

const momentOf = (day: string | undefined) =>
  day === undefined ? undefined : Date.parse(`${day}T00:00:00Z`)

/** Questions that were settled, as the page's filters choose them and as the operation does. */
export const decisionQuery = Effect.fnUntraced(function* (asked: Asked) {
  const given = queryOf(asked, Object.keys(DecisionQuery.fields))
  const { after, ...rest } = yield* decoded(DecisionQuery, given, unfit)
  const filters: DecisionFilters = { status: "decided", ...rest }
  const { from, until, ...others } = filters
  const end = momentOf(until)
  const query = yield* decoded(
    ApprovalOperations.list.query,
    {
      ...others,
      ...defined({
        after,
        requested_from: momentOf(from),
        requested_to: end === undefined ? undefined : end + day_ms
      }),
      order: "newest",
      limit: page_max
    },
    unfit
  )
  return { filters, query }
})
