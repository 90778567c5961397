/**
 * Keys for people who do not want to reach for a mouse, and the list of them. The script moves the focus and nothing else: what
 * changes something is pressed by whoever sees it, and every page works without it.
 */
import type { Html } from "./Html.ts"
import { element } from "./Html.ts"

const keys = [
  ["j", "the next one in a list"],
  ["k", "the one before"],
  ["a", "to the approval; Enter approves"],
  ["d", "deny: to its reason"],
  ["r", "ask for a revision: to its note"],
  ["m", "change and run: to the arguments"],
  ["/", "to the filter or search"],
  ["?", "these keys"]
] as const

/** The key beside the button that it leads to. */
export const keyHint = (key: (typeof keys)[number][0]): Html =>
  element("kbd", { "aria-hidden": "true" }, key)

/** The list of keys, closed until somebody asks for it. */
export const keyList: Html = element(
  "dialog",
  { id: "keys", "aria-label": "Keys" },
  element("h2", {}, "Keys"),
  element(
    "dl",
    { class: "keys" },
    keys.map(([key, what]) => [element("dt", {}, element("kbd", {}, key)), element("dd", {}, what)])
  ),
  element("form", { method: "dialog" }, element("button", {}, "Close"))
)

/** A browser runs it as it stands, so it is written for one. */
export const keyScript = `"use strict"
const first = (selector) => document.querySelector(selector)
const focused = (node) => {
  if (!node) return false
  node.focus()
  node.scrollIntoView({ block: "nearest" })
  return true
}
const moved = (by) => {
  const all = [...document.querySelectorAll("main .list > a, main tbody tr > td:first-child a")]
  const current = all.indexOf(document.activeElement)
  const open = all.findIndex((each) => each.hasAttribute("aria-current"))
  const from = current >= 0 ? current : open
  return focused(all[from < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, from + by))])
}
const opened = (field) => {
  const details = field && field.closest("details")
  if (details) details.open = true
  return focused(field)
}
const acts = {
  j: () => moved(1),
  k: () => moved(-1),
  a: () => focused(first('button[name="decision"][value="approve"]')),
  d: () => opened(first('[name="reason"]')),
  r: () => opened(first('[name="note"]')),
  m: () => opened(first('[name="arguments"], [name^="argument/"]')),
  "/": () => focused(first('main input[type="search"], main .filters a')),
  "?": () => { first("#keys").showModal(); return true }
}
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return
  if (event.target.closest("input, textarea, select, dialog")) return
  if (Object.hasOwn(acts, event.key) && acts[event.key]()) event.preventDefault()
})
`
