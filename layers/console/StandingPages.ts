/** How the service stands: who works on runs, and what waits. */
import type { OutputOf } from "../../src/operation/Operation.ts"
import { counted_max } from "../../src/operation/Page.ts"
import type * as StandingOperations from "../../src/operation/StandingOperations.ts"
import { cutText } from "../../src/value/CutText.ts"
import { apiPart } from "./ApiLine.ts"
import { behindChart, chartLegend, columnChart } from "./Charts.ts"
import type { Following } from "./Following.ts"
import type { Child, Html } from "./Html.ts"
import { element } from "./Html.ts"
import { listPage } from "./ListPage.ts"
import type { View } from "./Shell.ts"
import { emptyList, fact, page, row, table } from "./Shell.ts"
import { duration, moment, shortId } from "./Words.ts"

type Processes = OutputOf<typeof StandingOperations.processes>
type Checks = OutputOf<typeof StandingOperations.checks>

/** A number that is counted to a bound. */
const counted = (count: number): string =>
  count > counted_max ? `${counted_max.toLocaleString("en")} or more` : count.toLocaleString("en")

const total = (counts: ReadonlyArray<number>): string =>
  counted(counts.reduce((sum, count) => sum + count, 0))

const part = (
  name: string,
  said: string,
  columns: ReadonlyArray<string>,
  rows: ReadonlyArray<Html>,
  none: string
): Html =>
  element(
    "section",
    { class: "group" },
    element("h2", {}, name),
    element("p", { class: "quiet" }, rows.length === 0 ? none : said),
    rows.length > 0 && table(columns, rows, 2)
  )

const names_max = 5

const hostedText = ({ agents }: Processes["owners"][number]): string =>
  agents.length === 0
    ? "not noted"
    : agents.length <= names_max
      ? agents.join(", ")
      : `${agents.slice(0, names_max).join(", ")} and ${agents.length - names_max} more`

const ownerRow = ({ now }: View, owner: Processes["owners"][number]): Html => {
  const { id, lease_until, locks, runs, seen_at, since } = owner
  return row(
    2,
    shortId(id),
    hostedText(owner),
    moment(since, now),
    seen_at === undefined ? "its lock is held" : moment(seen_at, now),
    lease_until === undefined
      ? "none"
      : lease_until < now && locks
        ? "over, its lock is held"
        : moment(lease_until, now),
    counted(runs)
  )
}

const ageName = (ages: Processes["runs"]["ages"], at: number): string => {
  const { below_ms } = ages[at] ?? {}
  return below_ms === undefined
    ? `over ${duration(ages[at - 1]?.below_ms ?? 0)}`
    : `under ${duration(below_ms)}`
}

const agesPart = ({ runs: { ages } }: Processes): Child => {
  const named = ages.map((age, at) => ({ ...age, name: ageName(ages, at) }))
  return [
    columnChart(
      "Runs that are not over, by age",
      named.map(({ name, waiting, working }) => ({
        name,
        says: `${name}: ${counted(working)} go on, ${counted(waiting)} wait for people`,
        parts: [
          { kind: "model", value: working },
          { kind: "person", value: waiting }
        ]
      }))
    ),
    chartLegend([
      ["model", "go on"],
      ["person", "wait for people"]
    ]),
    behindChart(
      "The numbers",
      false,
      table(
        ["Age", "Go on", "Wait for people"],
        named.map(({ name, waiting, working }) => row(1, name, counted(working), counted(waiting))),
        1
      )
    )
  ]
}

const runsPart = (view: View, found: Processes): Html => {
  const { count, oldest_at, parked, unowned } = found.runs
  return element(
    "section",
    { class: "group" },
    element("h2", {}, "Runs that are not over"),
    count === 0
      ? emptyList("No run is at work or waits.", "By age they would stand here as a picture.")
      : [
          element(
            "dl",
            { class: "facts" },
            fact("All", counted(count)),
            fact("Wait for people", counted(parked)),
            fact("Without a living owner", counted(unowned)),
            fact("Oldest", oldest_at !== undefined && moment(oldest_at, view.now))
          ),
          agesPart(found)
        ]
  )
}

/** What a page follows, and what asks the API for what it shows. */
interface Followed {
  readonly follows: Following
  readonly line: string
}

/** Who works on runs, and what waits. */
export const processesPage = (view: View, found: Processes, { follows, line }: Followed): Html => {
  const { now } = view
  const { outbox, owners, queue, workers } = found
  return page(
    view,
    { title: "Processes", current: "/processes", follows },
    runsPart(view, found),
    part(
      "Owners",
      "Each holds what it has claimed, for as long as it lives. Runs are those of this tenant.",
      ["Owner", "Hosts", "Since", "Last seen", "Lease ends", "Runs"],
      owners.map((each) => ownerRow(view, each)),
      "Nobody has a lease: what waits is taken up by the next process that starts."
    ),
    part(
      "Messages to deliver",
      `${total(outbox.map(({ count }) => count))} wait. One that has failed is tried again, and becomes a dead letter in the end.`,
      ["Topic", "Last failure", "Wait", "Failed before", "Oldest"],
      outbox.map(({ count, failed, last_failure, oldest_at, topic }) =>
        row(
          2,
          topic,
          last_failure !== undefined && [
            cutText(last_failure.error, 200),
            " ",
            element("span", { class: "quiet" }, moment(last_failure.at, now))
          ],
          counted(count),
          counted(failed),
          moment(oldest_at, now)
        )
      ),
      "No message waits for its delivery."
    ),
    part(
      "Calls for workers",
      "A call waits until a worker claims it, and is over once its worker has acknowledged it.",
      ["Tool", "Oldest may be claimed", "Wait", "Claimed"],
      queue.map(({ claimed, due_at, tool, waiting }) =>
        row(
          2,
          tool,
          due_at === undefined ? "none waits" : moment(due_at, now),
          counted(waiting),
          counted(claimed)
        )
      ),
      "No call waits for a worker."
    ),
    part(
      "Workers",
      "They run tools in processes of their own.",
      ["Worker", "State", "Tools"],
      workers.map(({ available, id, provider, tools }) =>
        row(
          2,
          [shortId(id), ` ${cutText(provider, 100)}`],
          element(
            "span",
            { class: `tag ${available ? "good" : "bad"}` },
            available ? "available" : "gone"
          ),
          tools
        )
      ),
      "No worker has offered tools."
    ),
    apiPart(line)
  )
}

const levels = {
  ok: ["good", "well"],
  warning: ["wait", "warning"],
  fault: ["bad", "fault"],
  unknown: ["", "not known"]
} as const satisfies Record<Checks["level"], readonly [kind: string, word: string]>

const levelTag = (level: Checks["level"]): Html => {
  const [kind, word] = levels[level]
  return element("span", { class: `tag ${kind}` }, word)
}

/** What needs somebody comes first. */
const order: ReadonlyArray<Checks["level"]> = ["fault", "warning", "unknown", "ok"]

/** What an examination finds, the worst first. */
export const checksPage = (view: View, { findings, level }: Checks, line: string): Html =>
  page(
    view,
    { title: "Checks", current: "/checks", aside: levelTag(level) },
    element(
      "section",
      { class: "group" },
      element(
        "p",
        { class: "quiet" },
        "What is found of the database is for all tenants; of the waiting work, what is of this one."
      ),
      table(
        ["Found", "Check", "What it says"],
        findings
          .toSorted((a, b) => order.indexOf(a.level) - order.indexOf(b.level))
          .map(({ check, ids = [], level, message }) =>
            row(Infinity, levelTag(level), check, [
              message,
              ids.length > 0 && element("p", { class: "small quiet" }, ids.join(", "))
            ])
          )
      )
    ),
    apiPart(line)
  )

type Deliveries = OutputOf<typeof StandingOperations.deliveries>["items"]
type Settings = OutputOf<typeof StandingOperations.settings>["items"]

const deliveryRow = ({ now, path }: View, each: Deliveries[number]): Html => {
  const { dead, delivered_here, failed, failed_at, failure, oldest_at, topic, waiting } = each
  return row(
    2,
    [
      cutText(topic, 200),
      !delivered_here && element("p", { class: "small quiet" }, "no handler in this process")
    ],
    failed_at !== undefined && [
      element("span", { class: "tag bad" }, failure ?? "other"),
      " ",
      moment(failed_at, now)
    ],
    counted(waiting),
    counted(failed),
    oldest_at !== undefined && moment(oldest_at, now),
    dead > 0 ? element("a", { href: `${path}/dead-letters` }, counted(dead)) : "0"
  )
}

/** What is delivered, by topic: channels, webhooks, and what features deliver. */
export const channelsPage = (view: View, items: Deliveries, followed: Followed): Html =>
  listPage(view, {
    title: "Channels",
    current: "/channels",
    columns: ["Topic", "Last failure", "Wait", "Failed before", "Oldest", "Dead letters"],
    rows: items.map((each) => deliveryRow(view, each)),
    numbersFrom: 2,
    none: [
      "Nothing is delivered here.",
      "Channels, webhooks and what features deliver would stand here, with what waits."
    ],
    ...followed
  })

const settingText = ({ name, value }: Settings[number]): string => {
  if (typeof value === "boolean") return value ? "on" : "off"
  if (typeof value === "string") return value
  const exact = value.toLocaleString("en")
  return name.endsWith("_ms") && value >= 1_000 ? `${exact} (${duration(value)})` : exact
}

/** How the process that answers was started. */
export const settingsPage = (view: View, items: Settings, line: string): Html =>
  page(
    view,
    { title: "Settings", current: "/settings" },
    element(
      "section",
      { class: "group" },
      element(
        "p",
        { class: "quiet" },
        "Of the process that answers, for all tenants: numbers, words and switches. What is not listed has its default."
      ),
      items.length === 0
        ? emptyList("Nothing is known of the start.", "Its settings would stand here.")
        : table(
            ["Setting", "Value"],
            items.map((each) => row(1, each.name, settingText(each))),
            1
          )
    ),
    apiPart(line)
  )
