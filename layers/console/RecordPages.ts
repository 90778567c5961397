/** Records of features: lists of them, and one with all that it says and what may be done with it. */
import type { ArgumentPart } from "./ArgumentFields.ts"
import { partRow } from "./ArgumentForm.ts"
import { apiPart } from "./ApiLine.ts"
import type { Child, Html } from "./Html.ts"
import { element } from "./Html.ts"
import { jsonBlock } from "./QuestionPages.ts"
import type { Leaf, RecordAct, RecordList } from "./RecordLists.ts"
import { inWords, isMoment, parameterOf } from "./RecordLists.ts"
import type { Rejected, View } from "./Shell.ts"
import {
  choices,
  downloads,
  emptyList,
  fact,
  form,
  may,
  nextPage,
  page,
  rejectedNotice,
  table
} from "./Shell.ts"
import { opening } from "./WordedForm.ts"
import { moment } from "./Words.ts"
import { cutText } from "../../src/value/CutText.ts"
import { isObject } from "../../src/value/PlainObject.ts"

/** A record as the API gives it: JSON. */
export type Item = Readonly<Record<string, unknown>>

/** What a place of an address stands for, by the names of parameters. */
export type Parameters = Readonly<Record<string, string | undefined>>

/** The path with its parameters filled in; undefined = one is missing. */
export const filled = (path: string, params: Parameters): string | undefined => {
  const parts = path.split("/").map((part) => {
    const value = part.startsWith(":") ? params[part.slice(1)] : part
    return value === undefined ? undefined : encodeURIComponent(value)
  })
  return parts.includes(undefined) ? undefined : parts.join("/")
}

/** What stands at a place of an item. */
export const valueAt = (item: unknown, path: ReadonlyArray<string>): unknown =>
  path.reduce<unknown>(
    (at, name) => (isObject(at) && Object.hasOwn(at, name) ? at[name] : undefined),
    item
  )

/** The id of an item: what has the name of the parameter. */
export const idOf = (list: RecordList, item: unknown): string | undefined => {
  if (list.item === undefined) return undefined
  const name = parameterOf(list.item)
  const leaf = list.leaves.find(({ path }) => path.at(-1) === name)
  const value = leaf === undefined ? undefined : valueAt(item, leaf.path)
  return typeof value === "string" || typeof value === "number" ? String(value) : undefined
}

const columns_max = 8
const cell_units_max = 160
/** A text has a column if it is no longer in any row. */
const short_units_max = 80

const isTitle = ({ path }: Leaf): boolean => /^(title|name)$/.test(path.at(-1) ?? "")

const order = ["choice", "moment", "number", "text"] as const

const isNumeric = ({ kind }: Leaf): boolean => kind === "moment" || kind === "number"

/**
 * The values that have a column: words first, then times, numbers and short texts, those beside the id before others. Numbers and
 * times stand behind the others.
 */
const columnsOf = (list: RecordList, items: ReadonlyArray<unknown>): ReadonlyArray<Leaf> => {
  const own = list.item && parameterOf(list.item)
  const id = list.leaves.find(({ path }) => path.at(-1) === own)
  const isBesideId = ({ kind, path }: Leaf): boolean =>
    kind === "choice" || id === undefined || path.length === 1 || path[0] === id.path[0]
  const fitting = list.leaves.filter((leaf) => {
    const values = items.map((item) => valueAt(item, leaf.path))
    const isThere = values.some((value) => value !== undefined)
    const isShort = values.every((value) => String(value ?? "").length <= short_units_max)
    return leaf !== id && !isTitle(leaf) && isThere && (leaf.kind !== "text" || isShort)
  })
  const chosen = [true, false]
    .flatMap((isBeside) =>
      order.flatMap((kind) =>
        fitting.filter((leaf) => leaf.kind === kind && isBesideId(leaf) === isBeside)
      )
    )
    .slice(0, columns_max)
  return [false, true].flatMap((isBehind) =>
    list.leaves.filter((leaf) => chosen.includes(leaf) && isNumeric(leaf) === isBehind)
  )
}

/** A value under its name. The id of a record that has a page leads there. */
const scalar = (view: View, value: unknown, name: string): Child => {
  if (value === undefined || value === null) return undefined
  if (value === "") return element("span", { class: "quiet" }, "empty")
  if (typeof value === "number") {
    return isMoment(name) && Number.isSafeInteger(value)
      ? moment(value, view.now)
      : value.toLocaleString("en", { maximumFractionDigits: 4 })
  }
  const list = view.records?.find(({ id, right }) => id === name && may(view, right))
  return list === undefined
    ? String(value)
    : element(
        "a",
        { href: `${view.path}${list.path}/${encodeURIComponent(String(value))}` },
        String(value)
      )
}

/** One of some words, such as `in_progress`. */
const inPlainWords = (value: unknown): string => String(value).replaceAll("_", " ")

const cell = (view: View, leaf: Leaf, item: unknown): Html => {
  const { kind, path } = leaf
  const value = valueAt(item, path)
  const given = typeof value === "string" ? cutText(value, cell_units_max) : value
  if (kind === "choice" && value !== undefined) {
    return element("td", { class: "line" }, element("span", { class: "tag" }, inPlainWords(value)))
  }
  const shown = scalar(view, given, path.at(-1) ?? "")
  return element("td", { class: isNumeric(leaf) ? "num" : undefined }, shown)
}

/** What a record is called, if it has a name. */
const nameOf = (list: RecordList, item: unknown): string | undefined => {
  const leaf = list.leaves.find(isTitle)
  const name = leaf && valueAt(item, leaf.path)
  return typeof name === "string" ? name : undefined
}

/** What leads to an item, and what it is called. */
const nameCell = (href: string | undefined, list: RecordList, item: unknown): Html => {
  const id = idOf(list, item)
  const name = nameOf(list, item)
  const shown = cutText(name ?? id ?? "", cell_units_max)
  return element(
    "td",
    { class: name === undefined ? "line" : "wide" },
    href === undefined ? shown : element("a", { href }, shown),
    name !== undefined && id !== undefined && [" ", element("span", { class: "id" }, id)]
  )
}

const recordTable = (
  view: View,
  list: RecordList,
  params: Parameters,
  items: ReadonlyArray<unknown>
): Html => {
  const { item: one, leaves, path } = list
  const columns = columnsOf(list, items)
  const hasName = one !== undefined || leaves.some(isTitle)
  if (!hasName && columns.length === 0) return jsonBlock(items)
  const rows = items.map((item) => {
    const own = one && filled(`${path}/:id`, { ...params, id: idOf(list, item) })
    return element(
      "tr",
      {},
      hasName && nameCell(own && view.path + own, list, item),
      columns.map((leaf) => cell(view, leaf, item))
    )
  })
  const names = columns.map(({ path }) => inWords(path.at(-1) ?? ""))
  const numbersFrom = columns.findIndex(isNumeric)
  return table(
    hasName ? [list.name.replace(/s$/, ""), ...names] : names,
    rows,
    numbersFrom === -1 ? Infinity : numbersFrom + (hasName ? 1 : 0)
  )
}

/** A page of a list, as its address chose it. */
export interface Listed {
  readonly items: ReadonlyArray<unknown>
  readonly next_after?: string | undefined
  readonly params: Parameters
  /** The filters that are in force. */
  readonly chosen: Readonly<Record<string, string>>
  readonly line: string
}

const all = "all"

/** Where a list is in the menu: one of an item is where its items are. */
const currentOf = (path: RecordList["path"]): RecordList["path"] =>
  path.split("/:")[0] as RecordList["path"]

export const recordListPage = (view: View, list: RecordList, listed: Listed): Html => {
  const { chosen, items, line, next_after, params } = listed
  const own = view.path + (filled(list.path, params) ?? list.path)
  const query = (more: Readonly<Record<string, string>>): string => {
    const given = Object.entries({ ...chosen, ...more }).filter(([, value]) => value !== all)
    return given.length === 0 ? own : `${own}?${new URLSearchParams(given)}`
  }
  const files = new URLSearchParams(chosen).toString()
  const above = list.path.includes("/:") && filled(list.path.replace(/\/[^/]+$/, ""), params)
  return page(
    view,
    {
      title: list.name,
      current: currentOf(list.path),
      aside: above ? element("a", { href: view.path + above }, "Back to the record") : undefined
    },
    list.filters.map(({ name, words }) =>
      choices(
        inWords(name),
        [all, ...words],
        chosen[name] ?? all,
        (word) => query({ [name]: word }),
        (word) => (word === all ? `any ${inWords(name).toLowerCase()}` : inPlainWords(word))
      )
    ),
    items.length === 0
      ? emptyList("There is none.", `${list.served.operation.summary}, as far as there are some.`)
      : recordTable(view, list, params, items),
    nextPage(next_after === undefined ? undefined : query({ after: next_after }), "More"),
    downloads(`${own}.csv?${files}`, `${own}.json?${files}`),
    apiPart(line)
  )
}

/** Texts up to here stand among the facts of a record; longer ones have a line of their own. */
const fact_units_max = 120
const depth_max = 4
/** A record with more characters as JSON is shown as such, with its bound. */
const record_units_max = 1_000_000

const isScalar = (value: unknown): boolean => !isObject(value) && !Array.isArray(value)

const isShort = (value: unknown): boolean =>
  isScalar(value) && String(value).length <= fact_units_max

const rowsOf = (view: View, items: ReadonlyArray<Item>): Html => {
  const names = [...new Set(items.flatMap((item) => Object.keys(item)))]
  return table(
    names.map(inWords),
    items.map((item) =>
      element(
        "tr",
        {},
        names.map((name) => {
          const value = Object.hasOwn(item, name) ? item[name] : undefined
          return element("td", { class: "said" }, scalar(view, value, name))
        })
      )
    )
  )
}

/** A value that is not among the facts. */
const valuePart = (view: View, name: string, value: unknown, depth: number): Child => {
  if (isScalar(value)) return element("p", { class: "said" }, scalar(view, value, name))
  if (depth >= depth_max) return jsonBlock(value)
  if (isObject(value)) return membersPart(view, value, depth + 1)
  const items = value as ReadonlyArray<unknown>
  if (items.length === 0) return element("p", { class: "quiet" }, "None.")
  if (items.every(isScalar)) return element("p", { class: "said" }, items.map(String).join(", "))
  return items.every((item) => isObject(item) && Object.values(item).every(isScalar))
    ? rowsOf(view, items as ReadonlyArray<Item>)
    : jsonBlock(value)
}

const factsOf = (view: View, members: ReadonlyArray<readonly [string, unknown]>): Child =>
  members.length > 0 &&
  element(
    "dl",
    { class: "facts" },
    members.map(([name, value]) => fact(inWords(name), scalar(view, value, name)))
  )

const membersPart = (view: View, record: Item, depth: number): Child => {
  const members = Object.entries(record)
  return [
    factsOf(
      view,
      members.filter(([, value]) => isShort(value))
    ),
    members.map(
      ([name, value]) =>
        !isShort(value) &&
        element(
          "div",
          { class: "more" },
          element("h3", {}, inWords(name)),
          valuePart(view, name, value, depth)
        )
    )
  ]
}

/** All that a record says, but for what its page is called. */
const recordPart = (view: View, record: unknown): Child => {
  if (!isObject(record) || JSON.stringify(record).length > record_units_max) {
    return element("section", {}, jsonBlock(record))
  }
  const members = Object.entries(record)
  const facts = factsOf(
    view,
    members.filter(([, value]) => isShort(value))
  )
  return [
    facts !== false && element("section", {}, facts),
    members.map(
      ([name, value]) =>
        !isShort(value) &&
        element(
          "section",
          {},
          element("h2", {}, inWords(name)),
          element("div", { class: "more" }, valuePart(view, name, value, 0))
        )
    )
  ]
}

/** What may be done with a record by whoever looks: the act, and the fields of its form. */
export interface ShownAct {
  readonly act: RecordAct
  /** Its fields. Absent = it takes nothing, or JSON. */
  readonly parts?: ReadonlyArray<ArgumentPart> | undefined
}

/** One form of several on a page: the same fields have names of their own in each. */
export const actForm = (
  view: View,
  action: string,
  { act, parts }: ShownAct,
  rejected?: Rejected
): Html => {
  const { operation } = act.served
  const isTried = rejected?.typed["act"] === operation.name
  const isGrave = operation.method === "DELETE"
  return opening(
    `${act.name} …`,
    { isGrave, isOpen: isTried },
    form(
      view,
      action,
      { class: "arguments" },
      element("p", { class: "quiet" }, operation.description ?? operation.summary),
      parts?.map(partRow(isTried ? rejected : undefined)),
      parts === undefined &&
        act.schema !== undefined && [
          element("label", { for: `${operation.name}-json` }, "What it takes, as JSON"),
          element(
            "textarea",
            { id: `${operation.name}-json`, name: "json", rows: 8, class: "json" },
            isTried ? (rejected?.typed["json"] ?? "{}") : "{}"
          )
        ],
      element(
        "button",
        { name: "act", value: operation.name, class: isGrave ? "no" : "go" },
        act.name
      )
    )
  )
}

/** One record. */
export const recordPage = (
  view: View,
  list: RecordList,
  {
    acts,
    line,
    lists,
    own,
    params,
    record,
    rejected
  }: {
    readonly record: unknown
    readonly acts: ReadonlyArray<ShownAct>
    /** The lists that belong to it. */
    readonly lists: ReadonlyArray<RecordList>
    readonly own: string
    readonly params: Parameters
    readonly line: string
    readonly rejected?: Rejected | undefined
  }
): Html => {
  const name = nameOf(list, record)
  const id = list.item && params[parameterOf(list.item)]
  return page(
    view,
    {
      title: cutText(name ?? id ?? "", 200),
      current: currentOf(list.path),
      aside: name !== undefined && element("span", { class: "id" }, id)
    },
    element(
      "article",
      { class: "panel", "aria-label": list.name },
      rejected?.message !== undefined && element("section", {}, rejectedNotice(rejected)),
      recordPart(view, record),
      lists.length > 0 &&
        element(
          "section",
          { class: "legend" },
          lists.map((each) => {
            const path = filled(each.path, params)
            return path !== undefined && element("a", { href: view.path + path }, each.name)
          })
        ),
      acts.length > 0 &&
        element(
          "div",
          { class: "actions" },
          acts.map((each) => actForm(view, own, each, rejected))
        )
    ),
    apiPart(line)
  )
}
