/** A form for a decision that needs a text, in a part of the page that opens. */
import type { Child, Html } from "./Html.ts"
import { element } from "./Html.ts"
import { keyHint } from "./Keys.ts"
import type { Rejected, View } from "./Shell.ts"
import { form } from "./Shell.ts"

/** One decision, and the text that it needs. */
export interface Worded {
  readonly decision: string
  readonly label: string
  /** The field of the text. */
  readonly name: string
  readonly opens: string
  /** The key that leads to it. Absent = none does. */
  readonly key?: Parameters<typeof keyHint>[0]
  /** True = it takes something away. */
  readonly isGrave?: boolean
  /** The text is JSON, and this at first. */
  readonly json?: string
  /** What is sent along. */
  readonly more?: Readonly<Record<string, string>>
}

/** What opens, and its button. A decision that was rejected stands open, with what was typed. */
export const wordedForm = (
  view: View,
  action: string,
  { decision, isGrave, json, key, label, more = {}, name, opens }: Worded,
  rejected?: Rejected
): Html => {
  const isTried = rejected?.typed["decision"] === decision
  const field = [decision, name, ...Object.values(more)].join("-")
  return opening(
    [opens, key !== undefined && keyHint(key)],
    { isGrave, isOpen: isTried },
    form(
      view,
      action,
      {},
      Object.entries(more).map(([name, value]) =>
        element("input", { type: "hidden", name, value })
      ),
      element("label", { for: field }, label),
      element(
        "textarea",
        {
          id: field,
          name,
          required: true,
          rows: json === undefined ? 3 : 10,
          class: json === undefined ? undefined : "json",
          spellcheck: json === undefined ? undefined : "false"
        },
        (isTried ? rejected.typed[name] : undefined) ?? json ?? ""
      ),
      element(
        "button",
        { name: "decision", value: decision, class: isGrave === true ? "no" : "go" },
        opens.replace(" …", "")
      )
    )
  )
}

/** A part of the page that opens where a button would be. */
export const opening = (
  opens: Child,
  {
    isGrave,
    isOpen = false
  }: { readonly isGrave?: boolean | undefined; readonly isOpen?: boolean },
  ...content: ReadonlyArray<Child>
): Html =>
  element(
    "details",
    { open: isOpen },
    element("summary", { class: isGrave === true ? "no" : undefined }, opens),
    content
  )
