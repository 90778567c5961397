/** The register of decisions: what was asked, who answered what, and how long it waited. */
import type { Approval, ApprovalStatus } from "../../src/approval/Approval.ts"
import type { ApprovalInsight } from "../../src/approval/ApprovalInsights.ts"
import { InsightGroup } from "../../src/approval/ApprovalInsights.ts"
import type * as ApprovalOperations from "../../src/operation/ApprovalOperations.ts"
import type { OutputOf } from "../../src/operation/Operation.ts"
import { cutText } from "../../src/value/CutText.ts"
import { apiPart } from "./ApiLine.ts"
import { chartLegend, columnChart, daysBetween } from "./Charts.ts"
import type { Child, Html } from "./Html.ts"
import { element } from "./Html.ts"
import type { View } from "./Shell.ts"
import { choices, downloads, emptyList, nextPage, page, table } from "./Shell.ts"
import { duration, moment, shortId } from "./Words.ts"

/** The rows of the page of insights. */
const insights_max = 200

/** What became of a question that waits no more. */
export const settled = [
  "decided",
  "expired",
  "cancelled"
] as const satisfies ReadonlyArray<ApprovalStatus>

/** The filters of the register as its address has them: days as `2026-11-30`, in UTC. */
export interface DecisionFilters {
  readonly status: (typeof settled)[number]
  readonly tool?: string
  readonly agent?: string
  readonly decided_by?: string
  readonly decision?: string
  readonly from?: string
  readonly until?: string
}

/** A page of the register, and where the next one begins. */
export interface Decisions {
  readonly items: ReadonlyArray<Approval>
  readonly next_after?: string
  readonly filters: DecisionFilters
  /** What asks the API for them. */
  readonly line: string
}

const field = (name: string, label: string, value = "", type = "text") =>
  element(
    "label",
    {},
    label,
    element("input", { name, value, type, maxlength: type === "text" ? 200 : undefined })
  )

const words = {
  "": "any",
  approve: "approved",
  deny: "denied",
  request_revision: "sent back",
  modify: "changed and approved"
} as const

const filterForm = ({ path }: View, filters: DecisionFilters): Html => {
  const { agent, decided_by, decision = "", from, status, tool, until } = filters
  const isDecided = status === "decided"
  return element(
    "form",
    { method: "get", action: `${path}/decisions`, class: "fields", role: "search" },
    element("input", { type: "hidden", name: "status", value: status }),
    field("tool", "Tool", tool),
    field("agent", "Agent", agent),
    isDecided && field("decided_by", "Decided by", decided_by),
    isDecided &&
      element(
        "label",
        {},
        "Decision",
        element(
          "select",
          { name: "decision" },
          Object.entries(words).map(([value, word]) =>
            element("option", { value, selected: value === decision }, word)
          )
        )
      ),
    field("from", "Asked from (UTC)", from, "date"),
    field("until", "Asked until (UTC)", until, "date"),
    element("button", {}, "Filter")
  )
}

const outcome = ({ decided_by, decided_via, decision, status }: Approval): Child => {
  if (decision === undefined) {
    return [element("span", { class: "tag" }, status), decided_by && ` by ${decided_by}`]
  }
  const { kind, said, word } = {
    Approve: { kind: "good", word: words.approve, said: decision },
    Deny: { kind: "bad", word: words.deny, said: decision },
    RequestRevision: { kind: "wait", word: words.request_revision, said: decision },
    Modify: { kind: "good", word: words.modify, said: decision }
  }[decision._tag]
  const text = said._tag === "Deny" ? said.reason : said.note
  return [
    element("span", { class: `tag ${kind}` }, word),
    ` by ${decided_by ?? "nobody"}`,
    decided_via !== undefined && ` through ${decided_via}`,
    text !== undefined && element("p", { class: "small quiet" }, `“${cutText(text, 200)}”`)
  ]
}

const row = (view: View, approval: Approval): Html => {
  const { asked_by, decided_at, expires_at, id, payload, requested_at, run_id, status } = approval
  const until = decided_at ?? (status === "expired" ? expires_at : undefined)
  return element(
    "tr",
    {},
    element(
      "td",
      { class: "wide" },
      element(
        "a",
        { href: `${view.path}/inbox/${id}` },
        cutText(payload.effect_description, 200) || "A call without words"
      ),
      element("p", { class: "small quiet" }, `${payload.agent_name}, ${payload.tool_name}`)
    ),
    element("td", { class: "wide" }, outcome(approval)),
    element("td", { class: "num" }, moment(requested_at, view.now)),
    element("td", { class: "num" }, until !== undefined && duration(until - requested_at)),
    element("td", {}, asked_by),
    element("td", {}, element("a", { href: `${view.path}/runs/${run_id}` }, shortId(run_id)))
  )
}

/** Questions that were settled, those that were asked last first. */
export const decisionsPage = (
  view: View,
  { filters, items, line, next_after }: Decisions
): Html => {
  const { decided_by: _, decision: __, ...others } = filters
  const href = (query: Readonly<Record<string, string>>) =>
    `${view.path}/decisions?${new URLSearchParams(query)}`
  const next = next_after === undefined ? undefined : href({ ...filters, after: next_after })
  return page(
    view,
    {
      title: "Decisions",
      current: "/decisions",
      aside: element(
        "a",
        { class: "right", href: `${view.path}/decisions/insights` },
        "How questions went"
      )
    },
    choices("Outcome", settled, filters.status, (status) => href({ ...others, status })),
    filterForm(view, filters),
    items.length > 0
      ? table(
          ["What", "Decision", "Asked", "Waited", "For", "Run"],
          items.map((each) => row(view, each))
        )
      : next === undefined
        ? emptyList(
            "Nothing was settled like this.",
            "Each question stands here once it was answered, has expired, or its run was cancelled."
          )
        : emptyList(
            "None of the questions that were looked at is like this.",
            "Older ones may be."
          ),
    nextPage(next),
    downloads(
      href({ ...filters }).replace("/decisions?", "/decisions.csv?"),
      href({ ...filters }).replace("/decisions?", "/decisions.json?")
    ),
    apiPart(line)
  )
}

/** What the page of insights shows. */
export interface Insights extends OutputOf<typeof ApprovalOperations.insights> {
  readonly by: InsightGroup
  readonly line: string
}

const share = ({ approve, deny, modify, request_revision }: ApprovalInsight): Child => {
  const answered = approve + modify + deny + request_revision
  return answered > 0 && `${Math.round((approve / answered) * 100)} %`
}

const insightRow = (insight: ApprovalInsight): Html => {
  const { approve, asked, cancelled, deny, expired, key, modify, pending } = insight
  const { request_revision, wait_median_ms: wait } = insight
  const numbers = [asked, approve, modify, request_revision, deny, expired, cancelled, pending]
  return element(
    "tr",
    {},
    element("td", { class: "wide" }, key),
    numbers.map((each) => element("td", { class: "num" }, each)),
    element("td", { class: "num" }, share(insight)),
    element("td", { class: "num" }, wait !== undefined && duration(wait))
  )
}

/** What became of questions, from the foot of a column up. */
const outcomes = [
  ["approve", "good", "approved"],
  ["modify", "tool", "changed and approved"],
  ["request_revision", "person", "sent back"],
  ["deny", "bad", "denied"],
  ["pending", "quiet", "waits, expired or cancelled"]
] as const

/** The shortest time that a picture of days has, in ms: two weeks. */
const days_min = 1_209_600_000

const units = [
  ["days", 86_400_000],
  ["hours", 3_600_000],
  ["minutes", 60_000]
] as const

/** The unit in which lengths of time up to this, in ms, are drawn. */
const unitOf = (longest: number) =>
  units.find(([, size]) => longest >= size) ?? (["seconds", 1_000] as const)

/** How long half of the questions of a day waited for their answer. */
const waitPicture = (
  days: ReadonlyMap<string, ApprovalInsight>,
  shown: ReadonlyArray<string>
): Child => {
  const waits = shown.map((day) => days.get(day)?.wait_median_ms)
  const [unit, size] = unitOf(Math.max(0, ...waits.map((wait) => wait ?? 0)))
  return columnChart(
    `How long half of the questions waited at most, in ${unit}, each day (UTC)`,
    shown.map((day, at) => {
      const wait = waits[at]
      return {
        name: day.slice(5),
        says: `${day}: ${wait === undefined ? "none was answered" : `half within ${duration(wait)}`}`,
        parts: wait === undefined ? [] : [{ kind: "person", value: wait / size }]
      }
    })
  )
}

const dayPicture = (insights: ReadonlyArray<ApprovalInsight>, now: number): Child => {
  const days = new Map(insights.map((each) => [each.key, each]))
  const [first] = insights
  const from = Math.min(now - days_min, first === undefined ? now : Date.parse(first.key))
  const shown = daysBetween(from, now)
  return [
    chartLegend(outcomes.map(([, kind, word]) => [kind, word])),
    columnChart(
      "Questions each day (UTC)",
      shown.map((day) => {
        const found = days.get(day)
        if (found === undefined) return { name: day.slice(5), says: `${day}: none`, parts: [] }
        const { cancelled, expired, pending } = found
        const counts = { ...found, pending: pending + expired + cancelled }
        const said = outcomes.filter(([name]) => counts[name] > 0)
        return {
          name: day.slice(5),
          says: `${day}: ${said.map(([name, , word]) => `${counts[name]} ${word}`).join(", ")}`,
          parts: outcomes.map(([name, kind]) => ({ kind, value: counts[name] }))
        }
      })
    ),
    waitPicture(days, shown)
  ]
}

const insightPart = (
  view: View,
  by: InsightGroup,
  items: ReadonlyArray<ApprovalInsight>
): Child => {
  const columns = [
    by,
    "Asked",
    "Approved",
    "Changed",
    "Sent back",
    "Denied",
    "Expired",
    "Cancelled",
    "Waits",
    "Approved as asked",
    "Half waited up to"
  ]
  // The last days, or those with the most questions.
  const shown = by === "day" ? items.slice(-insights_max) : items.slice(0, insights_max)
  return [
    by === "day" && dayPicture(items, view.now),
    table(columns, shown.map(insightRow), 1),
    items.length > insights_max &&
      element("p", { class: "quiet" }, `and ${items.length - insights_max} more, which the API has`)
  ]
}

/** How questions went, those that were asked last. */
export const insightsPage = (view: View, { by, is_cut, items, line }: Insights): Html =>
  page(
    view,
    {
      title: "How questions went",
      current: "/decisions",
      aside: element("a", { class: "right", href: `${view.path}/decisions` }, "Each of them")
    },
    choices(
      "By",
      InsightGroup.literals,
      by,
      (each) => `${view.path}/decisions/insights?by=${each}`
    ),
    element(
      "p",
      { class: "quiet group" },
      is_cut === true
        ? "The last questions are counted, 2,000 at most."
        : "All questions are counted.",
      " What is nearly always approved as it is may be authorised in advance."
    ),
    items.length === 0
      ? emptyList("No question was asked yet.", "What was answered, and how fast, stands here.")
      : insightPart(view, by, items),
    apiPart(line)
  )
