/** Erasures: what was erased, by whom and when, and the erasure of a person, which cannot be taken back. */
import type { ErasureRecord, ErasureReport } from "../../src/erasure/Erasure.ts"
import type { Child, Html } from "./Html.ts"
import { element } from "./Html.ts"
import { listPage } from "./ListPage.ts"
import type { Rejected, View } from "./Shell.ts"
import { fact, form, page } from "./Shell.ts"
import { opening } from "./WordedForm.ts"
import { moment, shortId } from "./Words.ts"

const current = "/erasures"

/** A page of erasures, and where the next one begins. */
export interface Erasures {
  readonly items: ReadonlyArray<ErasureRecord>
  readonly next_after?: string
  /** What asks the API for them. */
  readonly line: string
  readonly rejected?: Rejected
}

const subjectForm = (view: View, rejected: Rejected | undefined): Html => {
  const typed = rejected?.typed ?? {}
  return opening(
    "Erase a person …",
    { isGrave: true, isOpen: rejected !== undefined },
    form(
      view,
      view.path + current,
      { class: "panel talk" },
      element(
        "p",
        {},
        "What this person said, was told and decided is removed or overwritten in every store of the tenant, and so is what names it. Nobody can undo that."
      ),
      ...[
        ["subject", "The person's id, as the service knows it"],
        ["again", "The same once more"]
      ].map(([name = "", label = ""]) => [
        element("label", { for: name }, label),
        element("input", {
          id: name,
          name,
          value: typed[name] ?? "",
          required: true,
          maxlength: 200,
          autocomplete: "off"
        })
      ]),
      element("button", { class: "no" }, "Erase for good")
    )
  )
}

const rowsText = (erased: ErasureRecord["erased"]): Child => {
  const rows = Object.entries(erased).filter(([, count]) => count > 0)
  const all = rows.reduce((sum, [, count]) => sum + count, 0)
  return rows.length === 0
    ? "nothing"
    : element(
        "details",
        {},
        element("summary", {}, `${all.toLocaleString("en")} rows`),
        element(
          "p",
          { class: "small quiet" },
          rows.map(([table, count]) => `${table} ${count}`).join(", ")
        )
      )
}

const erasureRow = (view: View, record: ErasureRecord): Html => {
  const { at, by, ended_at, erased, id, of, subject, via } = record
  return element(
    "tr",
    {},
    element("td", {}, shortId(id)),
    element("td", {}, of ?? "person", " ", shortId(subject)),
    element("td", {}, rowsText(erased)),
    element(
      "td",
      {},
      ended_at === undefined
        ? element("span", { class: "tag bad" }, "not finished: erase again")
        : element("span", { class: "tag good" }, "done")
    ),
    element("td", {}, via === undefined ? by : `${by} through ${via}`),
    element("td", { class: "num" }, moment(at, view.now))
  )
}

/** The erasures of the tenant, the newest first. */
export const erasuresPage = (view: View, { items, line, next_after, rejected }: Erasures): Html =>
  listPage(view, {
    title: "Erasures",
    current,
    rejected,
    form: subjectForm(view, rejected),
    columns: ["Erasure", "Of (digest)", "Erased", "State", "By", "When"],
    rows: items.map((each) => erasureRow(view, each)),
    numbersFrom: 5,
    none: ["Nothing was erased yet.", "Each erasure stands here: by whom, when and how much."],
    next_after,
    line
  })

const sentences = (title: string, all: ReadonlyArray<Child>): Child =>
  all.length > 0 &&
  element(
    "section",
    {},
    element("h3", {}, title),
    all.map((each) => element("p", {}, each))
  )

/** What an erasure has done, with the key of its digests, which no other page ever has. */
export const erasedPage = (view: View, report: ErasureReport): Html => {
  const { erased, found, key, remains, subject, waiting } = report
  return page(
    view,
    { title: "Erasures", current },
    element(
      "div",
      { class: "panel" },
      element(
        "section",
        {},
        element("h2", {}, "Erased"),
        element(
          "dl",
          { class: "facts" },
          fact("Digest", shortId(subject)),
          fact("Rows", rowsText(erased))
        )
      ),
      key !== undefined &&
        element(
          "section",
          {},
          element(
            "p",
            { class: "notice" },
            "With this key one can prove that a text is the one that was erased. It is shown only here, and stored nowhere."
          ),
          element("pre", { tabindex: 0, "aria-label": "Key" }, key)
        ),
      sentences(
        "Runs of others that name it and go on: erase again once they have ended",
        waiting.map((run) => element("a", { href: `${view.path}/runs/${run}` }, shortId(run)))
      ),
      sentences(
        "Where the name still stands",
        found.filter(({ rows }) => rows > 0).map(({ rows, table }) => `${table}: ${rows} rows`)
      ),
      sentences("What else may have it", remains),
      element(
        "div",
        { class: "actions" },
        element("a", { href: view.path + current }, "All erasures")
      )
    )
  )
}
