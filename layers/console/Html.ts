/**
 * HTML as values. A text is a text wherever it comes from: it is escaped here and nowhere else, and characters that hide or
 * reorder others are shown by their numbers. There is no way to give markup as a text.
 */
import { truncateUnits } from "../../src/value/CutText.ts"
import { escapeInvisible, withVisible } from "../../src/value/InvisibleText.ts"

/** What an element may have as a child. `false` and undefined are nothing. */
export type Child = Html | string | number | false | undefined | ReadonlyArray<Child>

/** `true` is an attribute without a value. `false` and undefined are none. */
type Attribute = string | number | boolean | undefined
export type Attributes = Readonly<Record<string, Attribute>>

const written: unique symbol = Symbol("written")

/** Markup that `element` made. */
export class Html {
  readonly [written]: string
  constructor(markup: string, key: typeof written) {
    // Nobody else has the key.
    if (key !== written) throw new TypeError("only `element` makes markup")
    this[written] = markup
  }
}

/** Elements without children or an end tag. */
const voids: ReadonlySet<string> = new Set(["br", "hr", "input", "link", "meta"])

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;"
}

const escaped = (text: string): string => text.replace(/[&<>"']/g, (each) => entities[each] ?? each)

/** A text of ASCII that stands as it is: most are, and one look tells (bench row `console`). */
const is_plain = /^[\n !#-%(-;=?-~]*$/

/** The names that were found good. They stand in the code, so they are few (bench row `console`). */
const good = new Set<string>()

const attribute = (name: string, value: Attribute): string => {
  if (value === undefined || value === false) return ""
  if (!good.has(` ${name}`)) {
    // Neither code nor style is ever inline: the pages' policy would block it.
    if (!/^[a-zA-Z][a-zA-Z0-9-]*$/.test(name) || /^(on|style$|srcdoc$)/i.test(name)) {
      throw new TypeError(`the console writes no attribute ${name}`)
    }
    good.add(` ${name}`)
  }
  if (value === true) return ` ${name}`
  const text = String(value)
  if (is_plain.test(text)) return ` ${name}="${text}"`
  // These are read by people; the others are sent back as they are.
  const isRead = name === "title" || name === "aria-label"
  return ` ${name}="${escaped(isRead ? withVisible(text) : text)}"`
}

/** What is edited has to come back as it was. */
const asIs = (text: string): string => text

const inner = (child: Child, shown: (text: string) => string): string => {
  if (typeof child === "string") return is_plain.test(child) ? child : escaped(shown(child))
  if (child instanceof Html) return child[written]
  if (child === undefined || child === false) return ""
  if (typeof child === "number") return String(child)
  let content = ""
  for (const each of child) content += inner(each, shown)
  return content
}

/** An element with its attributes and children. Throws for a name, or an attribute, that pages do not have. */
export const element = (
  name: string,
  attributes: Attributes,
  ...children: ReadonlyArray<Child>
): Html => {
  if (!good.has(name)) {
    if (!/^[a-z][a-zA-Z0-9]*$/.test(name) || name === "script" || name === "style") {
      throw new TypeError(`the console writes no element ${name}`)
    }
    good.add(name)
  }
  let begin = `<${name}`
  for (const name of Object.keys(attributes)) begin += attribute(name, attributes[name])
  if (voids.has(name)) return new Html(`${begin}>`, written)
  const isEdited = name === "textarea"
  const content = inner(children, isEdited ? asIs : withVisible)
  // A first line end in a textarea is none.
  return new Html(`${begin}>${isEdited ? "\n" : ""}${content}</${name}>`, written)
}

/** A script of a page, by its path: with a nonce it runs before the page is there, else behind it. */
export const scriptAt = (path: string, nonce?: string): Html =>
  new Html(
    `<script src="${escaped(path)}"${nonce === undefined ? " defer" : ` nonce="${escaped(nonce)}"`}></script>`,
    written
  )

/** A part of a page, for a page that is there. */
export const markupOf = (part: Html): string => part[written]

/** A whole page. */
export const documentOf = (page: Html): string => `<!doctype html>${markupOf(page)}`

/** JSON on lines of its own, in which every invisible character is an escape: nothing hides in it, and it means the same. */
export const jsonText = (value: unknown): string =>
  escapeInvisible(JSON.stringify(value, undefined, 2))

/** JSON in a page: its text, and how many UTF-16 units do not stand in it. */
export interface ShownJson {
  readonly text: string
  readonly missing: number
}

/**
 * The same with a bound: on one line where its lines would be longer than `units_max`, since what nests deep is mostly indents, and
 * without its end where that is longer too.
 */
export const boundedJson = (value: unknown, units_max: number): ShownJson => {
  const line = JSON.stringify(value)
  const lines = line.length > units_max ? line : JSON.stringify(value, undefined, 2)
  const text = lines.length > units_max ? line : lines
  const cut = truncateUnits(text, units_max)
  return { text: escapeInvisible(cut), missing: text.length - cut.length }
}
