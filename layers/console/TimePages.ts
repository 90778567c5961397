/** How the calls of tools went: how many failed and how long they took, by tool, and by day as a picture. */
import type { OutputOf } from "../../src/operation/Operation.ts"
import type * as ToolOperations from "../../src/operation/ToolOperations.ts"
import { cutText } from "../../src/value/CutText.ts"
import { behindChart, columnChart, daysBetween } from "./Charts.ts"
import type { Child, Html } from "./Html.ts"
import { element } from "./Html.ts"
import type { View } from "./Shell.ts"
import { row, table } from "./Shell.ts"
import { duration } from "./Words.ts"

type Times = OutputOf<typeof ToolOperations.times>

/** Calls by tool of the last day, and by day of the last two weeks. */
export interface CallTimes {
  readonly byTool: Times
  readonly byDay: Times
  /** When the days begin, in ms since 1970. */
  readonly from: number
}

const rows_max = 200

const timeRow = ({
  calls,
  failed,
  key,
  median_ms,
  refused,
  slow_ms
}: Times["items"][number]): Html =>
  row(
    1,
    cutText(key, 200),
    calls.toLocaleString("en"),
    calls === 0 ? "" : `${failed.toLocaleString("en")} (${Math.round((failed / calls) * 100)} %)`,
    refused.toLocaleString("en"),
    median_ms !== undefined && duration(median_ms),
    slow_ms !== undefined && duration(slow_ms)
  )

const columns = (name: string) => [name, "Ran", "Failed", "Refused", "Half within", "95 % within"]

const dayPicture = ({ byDay, from }: CallTimes, now: number): Child => {
  const days = new Map(byDay.items.map((each) => [each.key, each]))
  return [
    columnChart(
      "How long 95 % of the calls took at most, in seconds, each day (UTC)",
      daysBetween(from, now).map((day) => {
        const slow = days.get(day)?.slow_ms
        return {
          name: day.slice(5),
          says: `${day}: ${slow === undefined ? "none ran" : `95 % within ${duration(slow)}`}`,
          parts: slow === undefined ? [] : [{ kind: "tool", value: slow / 1_000 }]
        }
      })
    ),
    behindChart("The numbers", false, table(columns("Day"), byDay.items.map(timeRow), 1))
  ]
}

const cut = ({ is_cut }: Times): Child =>
  is_cut === true &&
  element("p", { class: "quiet small" }, "Of the last 2,000 calls; older ones were not looked at.")

/** How the calls went that were recorded. */
export const timesPart = ({ now }: View, times: CallTimes): Html =>
  element(
    "section",
    { class: "group" },
    element("h2", { class: "more" }, "How calls went"),
    times.byDay.items.length === 0
      ? element(
          "p",
          { class: "quiet" },
          "No call was recorded in the last two weeks. They are where the service was started with observe: { record: true }."
        )
      : [
          dayPicture(times, now),
          cut(times.byDay),
          element("h3", { class: "more" }, "In the last day"),
          times.byTool.items.length === 0
            ? element("p", { class: "quiet" }, "None was called.")
            : table(columns("Tool"), times.byTool.items.slice(0, rows_max).map(timeRow), 1),
          cut(times.byTool)
        ]
  )
