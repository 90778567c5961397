/** What every page of the console has around it. */
import type { Principal } from "../../src/principal/Principal.ts"
import type { AnyRight } from "../../src/principal/Rights.ts"
import { hasRight } from "../../src/principal/Rights.ts"
import type { Child, Html } from "./Html.ts"
import { element, scriptAt } from "./Html.ts"
import { keyList } from "./Keys.ts"
import type { Following } from "./Following.ts"
import { followContent, followHead, followState } from "./Following.ts"

/** Who looks at a page, when, and from where. */
export interface View {
  /** The path of the console, such as `/console`, with that of the service where it is mounted. Links begin with it. */
  readonly path: string
  readonly principal: Principal
  /** What every form sends back, so that no other page can send it. */
  readonly form_key: string
  /** What the page's own scripts and its attributes for htmx have, and no other. */
  readonly nonce: string
  /** When the page was asked for, in ms since 1970. */
  readonly now: number
  /** Absent = the whole page is asked for. */
  readonly part?: Part
  /** The lists of records in the menu. Absent = none. */
  readonly records?: ReadonlyArray<RecordLink>
}

/**
 * The content of a page without what stands around it, for several people with the same rights, of whom the principal is one. They
 * have the page as it was before.
 */
export interface Part {
  /** What the events up to this place have settled is on their pages, and is not sent again. -1 = nothing is. */
  readonly known: number
}

/** A list of records in the menu, for those who have the right to it. */
export interface RecordLink {
  readonly path: `/records/${string}`
  readonly name: string
  readonly right: AnyRight
  /** The member that has the id of one of it in other records. Absent = none has a page. */
  readonly id?: string | undefined
}

/** May whoever looks at the page do this? What they may not is not shown, and the operation refuses it all the same. */
export const may = ({ principal }: View, right: AnyRight): boolean => hasRight(principal, right)

const pages = [
  ["", "Now"],
  ["/inbox", "Inbox"],
  ["/runs", "Runs"],
  ["/conversations", "Conversations"]
] as const

const repairs = [
  ["/unknown", "Unknown outcomes"],
  ["/dead-letters", "Dead letters"],
  ["/processes", "Processes"],
  ["/checks", "Checks"]
] as const

const governs = [
  ["/decisions", "Decisions"],
  ["/policy", "Policy"],
  ["/coverage", "Coverage"],
  ["/tools", "Tools"],
  ["/agents", "Agents"],
  ["/memory", "Memory"],
  ["/costs", "Costs"],
  ["/kill-switch", "Kill switch"]
] as const

/** Each with the right that it needs; who lacks it has no link. */
const administers = [
  ["/tokens", "Access tokens", "issueTokens"],
  ["/erasures", "Erasures", "erase"],
  ["/channels", "Channels", "inspect"],
  ["/settings", "Settings", "administer"]
] as const

/** The path of one of the pages in the menu. */
export type PagePath =
  | (typeof pages | typeof repairs | typeof governs | typeof administers)[number][0]
  | RecordLink["path"]

const head = (path: string, title: string, ...more: ReadonlyArray<Child>) =>
  element(
    "head",
    {},
    element("meta", { charset: "utf-8" }),
    element("meta", { name: "viewport", content: "width=device-width, initial-scale=1" }),
    element("title", {}, `${title} · Troupe`),
    element("link", { rel: "stylesheet", href: `${path}/style.css` }),
    more
  )

/** A page that nobody is signed in at. */
export const barePage = (path: string, title: string, ...content: ReadonlyArray<Child>): Html =>
  element(
    "html",
    { lang: "en" },
    head(path, title),
    element("body", { class: "bare" }, element("main", {}, element("h1", {}, title), content))
  )

/** A form that changes something: it sends the key of its session along. */
export const form = (
  { form_key }: View,
  action: string,
  attributes: Readonly<Record<string, string>>,
  ...content: ReadonlyArray<Child>
): Html =>
  element(
    "form",
    { method: "post", action, ...attributes },
    element("input", { type: "hidden", name: "form_key", value: form_key }),
    content
  )

const links = (
  of: ReadonlyArray<readonly [PagePath, string]>,
  view: View,
  current: PagePath
): Child =>
  of.map(([path, name]) =>
    element(
      "a",
      { href: view.path + path, "aria-current": path === current ? "page" : undefined },
      name
    )
  )

/** A part of the menu, of what whoever looks has the right to; without any there is no such part. */
const entitled = (
  title: string,
  of: ReadonlyArray<readonly [path: PagePath, name: string, right: AnyRight]>,
  view: View,
  current: PagePath
): Child => {
  const own = of.flatMap(([path, name, right]) => (may(view, right) ? [[path, name] as const] : []))
  return own.length > 0 && [element("h2", {}, title), links(own, view, current)]
}

const menu = (view: View, current: PagePath) =>
  element(
    "nav",
    { "aria-label": "Console" },
    element(
      "div",
      { class: "mark" },
      "Troupe ",
      element("span", { class: "tag", title: "tenant" }, view.principal.tenant)
    ),
    links(pages, view, current),
    element("h2", {}, "Repair"),
    links(repairs, view, current),
    element("h2", {}, "Govern"),
    links(governs, view, current),
    entitled(
      "Records",
      (view.records ?? []).map(({ name, path, right }) => [path, name, right]),
      view,
      current
    ),
    entitled("Administer", administers, view, current),
    element(
      "div",
      { class: "who" },
      element("b", {}, view.principal.id),
      element("span", { class: "small quiet" }, view.principal.roles.join(", ")),
      form(view, `${view.path}/sign-out`, {}, element("button", {}, "Sign out"))
    )
  )

/**
 * A page with its menu. `aside` stands beside the heading; with `follows` it follows what it shows, with `sendsForms` a form of it may
 * send itself.
 */
export const page = (
  view: View,
  {
    aside,
    current,
    follows,
    sendsForms = false,
    title
  }: {
    readonly aside?: Child
    readonly current: PagePath
    readonly follows?: Following | undefined
    readonly sendsForms?: boolean
    readonly title: string
  },
  ...content: ReadonlyArray<Child>
): Html => {
  const main = element(
    "main",
    { id: "content", ...(follows && followContent(follows, view.nonce)) },
    element("header", { class: "page" }, element("h1", {}, title), aside),
    follows !== undefined && followState(follows, view.nonce),
    content
  )
  if (view.part !== undefined) return main
  return element(
    "html",
    { lang: "en" },
    head(
      view.path,
      title,
      (follows !== undefined || sendsForms) && followHead(view.path, view.nonce),
      scriptAt(`${view.path}/keys.js`)
    ),
    element(
      "body",
      {},
      element("a", { class: "skip", href: "#content" }, "To the content"),
      menu(view, current),
      main,
      keyList
    )
  )
}

/** What a form asked for and was not done: what was typed, and why not. */
export interface Rejected {
  /** Absent = it is only typed on. */
  readonly message?: string
  readonly typed: Readonly<Record<string, string>>
  /** What is wrong with a field, by its name. */
  readonly places?: Readonly<Record<string, string>>
}

/** Why it was not done, above what was typed. */
export const rejectedNotice = (rejected: Rejected | undefined): Child =>
  rejected?.message !== undefined &&
  element("p", { class: "problem", role: "alert" }, rejected.message)

/** What was typed, where its form stands no more: somebody else was faster. */
export const typedText = (text: string | undefined): Child =>
  text !== undefined && [
    element("p", { class: "quiet" }, "What you typed:"),
    element("pre", { tabindex: 0 }, text)
  ]

/** A table of bodies, with the names of its columns, which are numbers from one of them on. */
export const tableOf = (
  columns: ReadonlyArray<string>,
  bodies: ReadonlyArray<Html>,
  numbersFrom = Infinity
): Html =>
  element(
    "table",
    {},
    element(
      "thead",
      {},
      element(
        "tr",
        {},
        columns.map((name, at) =>
          element("th", { scope: "col", class: at < numbersFrom ? undefined : "num" }, name)
        )
      )
    ),
    bodies
  )

/** A table with the names of its columns, which are numbers from one of them on. */
export const table = (
  columns: ReadonlyArray<string>,
  rows: ReadonlyArray<Html>,
  numbersFrom = Infinity
): Html =>
  element(
    "div",
    { class: "panel scroll" },
    tableOf(columns, [element("tbody", {}, rows)], numbersFrom)
  )

/** Whether the page has what stays as it is after this event. */
export const isKnown = ({ part }: View, settled: number | undefined): boolean =>
  settled !== undefined && part !== undefined && settled <= part.known

/** The body of a table: `settled` is the event after which its rows stay as they are; undefined = they may change. */
export const tableBody = (
  view: View,
  id: string,
  settled: number | undefined,
  rows: () => ReadonlyArray<Html>
): Html =>
  element(
    "tbody",
    { id, class: settled === undefined ? undefined : "kept" },
    isKnown(view, settled) ? [] : rows()
  )

/** A row of a table, whose cells are numbers from one of them on. */
export const row = (numbersFrom: number, ...cells: ReadonlyArray<Child>): Html =>
  element(
    "tr",
    {},
    cells.map((cell, at) => element("td", { class: at < numbersFrom ? undefined : "num" }, cell))
  )

/** A value with its name, in a list of class `facts`. Undefined is none. */
export const fact = (name: string, ...value: ReadonlyArray<Child>): Child =>
  value.some((each) => each !== undefined) &&
  element("div", {}, element("dt", {}, name), element("dd", {}, value))

/** What stands where a list has nothing. */
export const emptyList = (what: string, more: string): Html =>
  element(
    "div",
    { class: "panel empty" },
    element("p", {}, what),
    element("p", { class: "quiet" }, more)
  )

/** Choices of which one is in force, each a link. */
export const choices = <A extends string | number>(
  name: string,
  all: ReadonlyArray<A>,
  chosen: A,
  hrefOf: (choice: A) => string,
  wordOf: (choice: A) => string = String
): Html =>
  element(
    "div",
    { class: "filters", role: "group", "aria-label": name },
    all.map((each) =>
      element(
        "a",
        { href: hrefOf(each), "aria-current": each === chosen ? "true" : undefined },
        wordOf(each)
      )
    )
  )

/** A list as files. */
export const downloads = (csv: string, json: string): Html =>
  element(
    "p",
    { class: "more legend" },
    element("a", { href: csv, download: true }, "CSV file"),
    element("a", { href: json, download: true }, "JSON file")
  )

/** A link to the page that follows, if there is one. */
export const nextPage = (href: string | undefined, name = "Older ones"): Child =>
  href !== undefined && element("p", { class: "more" }, element("a", { href, rel: "next" }, name))
