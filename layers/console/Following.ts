/**
 * A page that follows what it shows: a stream tells it that there is news, and it fetches itself and changes what is different, in
 * place. A script of ours says how the connection is; htmx does the rest, and evaluates nothing. Without a script the page reads
 * as it was when it was loaded.
 */
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { Effect } from "effect"
import type { Attributes, Html } from "./Html.ts"
import { element, scriptAt } from "./Html.ts"

/** What a page follows. */
export interface Following {
  /** The path of the page itself, with its query. */
  readonly page: string
  /** The path of its stream, from what the page shows. */
  readonly news: string
  /** The stream has the content itself. Absent = it says that there is news, and the page asks for it. */
  readonly hasContent?: boolean
}

/** What htmx is told: nothing is kept, nothing swapped of an answer that is none, and what somebody opened stays open. */
const config = {
  extensions: "sse,hx-csp",
  prefix: "",
  metaCharacter: "-",
  history: false,
  includeIndicatorCSS: false,
  noSwap: ["204", "304", "4xx", "5xx"],
  morphIgnore: ["data-htmx-powered", "open"],
  // What stays as it is comes empty once a page has it.
  morphSkip: "[hx-morph-skip], .kept",
  // Otherwise a console would find the service a minute after it is back.
  sse: { reconnectMaxDelay: 3_000 }
}

/** What the head of the page has. htmx guards nothing where it is loaded with `defer`. */
export const followHead = (path: string, nonce: string): ReadonlyArray<Html> => [
  element("meta", { name: "htmx-config", content: JSON.stringify(config) }),
  scriptAt(`${path}/htmx.js`, nonce)
]

/** The attributes of what is fetched again; each element has the nonce of the page, without which its attributes are taken away. */
export const followContent = ({ page }: Following, nonce: string): Attributes => ({
  "hx-get": page,
  "hx-trigger": "news",
  "hx-select": "#content",
  "hx-swap": "outerMorph",
  "hx-sync": "this:queue last",
  "hx-nonce": nonce
})

/** How the connection is. The first one is tried until it stands: htmx itself goes on only with one that stood. */
export const followState = ({ hasContent = false, news }: Following, nonce: string): Html =>
  element("p", {
    id: "live",
    class: "live",
    role: "status",
    "hx-sse-connect": news,
    "hx-trigger": "load, every 3s",
    "hx-target": hasContent ? "#content" : undefined,
    "hx-swap": hasContent ? "innerMorph strip:true" : "none",
    "hx-sync": "this:drop",
    "hx-morph-skip": "",
    "hx-nonce": nonce
  })

/** A browser runs it as it stands, behind the script of the keys. */
export const followScript = `
const content = () => first("#content")
const say = (text, kind = "wait") => {
  const state = first("#live")
  if (!state || state.textContent === text) return
  state.className = "live tag " + kind
  state.textContent = text
}
const isOfStream = (event) => event.target.id === "live"
const refused = {
  401: "You are signed out. What stands here does not change any more: load the page again.",
  403: "You may not see this any more.",
  404: "This is not there any more.",
  429: "Does not follow: too much of yours is open or asked for. It is tried again."
}
const lost = "The connection is lost: what stands here may be old. It is tried again."
const failed = (event) => {
  const { ctx, status = ctx && ctx.response && ctx.response.status } = event.detail
  say(refused[status] || lost, "bad")
  if (status === 401) {
    // Without its attributes it asks no more.
    const state = first("#live")
    if (state) state.replaceWith(Object.assign(document.createElement("p"), { role: "status", className: state.className, textContent: state.textContent }))
  } else if (!isOfStream(event) && status !== 403 && status !== 404) {
    setTimeout(() => content() && htmx.trigger(content(), "news"), 2000)
  }
}
for (const name of ["htmx-error", "htmx-response-error", "htmx-sse-error"]) document.addEventListener(name, failed)
document.addEventListener("htmx-sse-after-connection", ({ detail }) => {
  if (detail.connection.status === 200) say("Live", "good")
})
const isTyped = (field) => field.type !== "hidden" && field.value !== field.defaultValue
document.addEventListener("htmx-before-swap", (event) => {
  const task = event.detail.tasks.find(({ type }) => type === "main")
  if (!task || task.target !== content()) return
  const isThere = ({ id }) => content().querySelector('.kept[id="' + id + '"]')
  if (![...task.fragment.querySelectorAll(".kept:empty")].every(isThere)) {
    event.preventDefault()
    htmx.trigger(content(), "news")
    return
  }
  const typed = [...content().querySelectorAll("input, textarea")].filter(isTyped)
  const isKept = ({ name }) => task.fragment.querySelector('[name="' + name + '"]')
  if (task.fragment.firstElementChild && typed.every(isKept)) {
    held = anchor()
    return
  }
  event.preventDefault()
  say("This has changed meanwhile, and what you typed has no place any more. Load the page again to see it.")
})
// What is under the cursor, focused, or on top of a page that was scrolled stays where it is, whatever comes or goes above it.
let held
let spare = 0
const anchor = () => {
  const focused = content().contains(document.activeElement) && document.activeElement.closest("[id]")
  const seen = scrollY > 0 ? [...content().querySelectorAll("tr[id], [id] > a, li[id]")].map((each) => each.closest("[id]")) : []
  const found =
    [...content().querySelectorAll("[id]:hover")].pop() ||
    (focused !== content() && focused) ||
    seen.find((each) => each.getBoundingClientRect().top >= 0)
  return found && { id: found.id, top: found.getBoundingClientRect().top }
}
const leave = (px) => document.documentElement.style.setProperty("--spare", (spare = Math.max(0, px)) + "px")
document.addEventListener("htmx-after-swap", () => {
  if (!content()) return
  const root = document.documentElement
  const now = held && document.getElementById(held.id)
  if (!held) {
    leave(0)
    document.body.style.minHeight = ""
  } else if (now) {
    const moved = () => now.getBoundingClientRect().top - held.top
    // There is nothing above the page to scroll to, so room is made there.
    if (scrollY + moved() < 0 || spare > 0) leave(spare - scrollY - moved())
    const missing = scrollY + moved() - (root.scrollHeight - innerHeight)
    if (missing > 0) document.body.style.minHeight = root.scrollHeight + missing + "px"
    scrollBy({ top: moved(), behavior: "instant" })
  }
  held = undefined
})
`

/** Each by its whole name, which whoever packs the modules of an application looks for. */
const parts = () => [
  import.meta.resolve("htmx.org/dist/htmx.min.js"),
  import.meta.resolve("htmx.org/dist/ext/hx-sse.min.js"),
  import.meta.resolve("htmx.org/dist/ext/hx-csp.min.js")
]

/** htmx and its extensions, as their package has them. Fails where the package is not there. */
export const htmxScript: Effect.Effect<string, unknown> = Effect.try(() =>
  parts()
    .map((url) => readFileSync(fileURLToPath(url), "utf8"))
    .join("\n")
)
