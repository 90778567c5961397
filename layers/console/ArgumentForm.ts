/**
 * The form for other arguments of a call: a field for each value that a field can hold, or all of them as JSON. What is sent is
 * shown as a difference first, and runs once that is confirmed.
 */
import { isSameJson } from "../../src/value/Canonical.ts"
import { cutText } from "../../src/value/CutText.ts"
import { isObject } from "../../src/value/PlainObject.ts"
import type { ArgumentField, ArgumentPart, FieldState } from "./ArgumentFields.ts"
import { fieldsIn, stateName } from "./ArgumentFields.ts"
import type { Child, Html } from "./Html.ts"
import { element, jsonText } from "./Html.ts"
import { keyHint } from "./Keys.ts"
import type { Rejected, View } from "./Shell.ts"
import { form } from "./Shell.ts"
import { opening } from "./WordedForm.ts"

/** What the form is made of. */
export interface ArgumentEditor {
  /** The fields; absent = the tool's schema has none for them, or JSON was asked for. */
  readonly parts?: ReadonlyArray<ArgumentPart>
  /** The arguments as JSON. */
  readonly json: string
  /** Where the other form is. Absent = there is none. */
  readonly other?: string
}

const states = {
  value: "as written",
  absent: "left out",
  null: "null"
} as const satisfies Record<FieldState, string>

const rows_max = 8
const row_units = 60

const rowsOf = (text: string): number =>
  Math.min(
    rows_max,
    text
      .split("\n")
      .reduce((rows, line) => rows + Math.max(1, Math.ceil(line.length / row_units)), 0)
  )

/** What a choice is, its options say. */
const kinds = {
  text: ["text"],
  number: ["number"],
  lines: ["one a line"],
  json: ["JSON"],
  choice: []
} as const satisfies Record<ArgumentField["kind"], ReadonlyArray<string>>

const option = (value: string, word: string, chosen: string) =>
  element("option", { value, selected: value === chosen }, word)

/** What a choice is called: a text without its quotes, unless another value has the same name. */
const choiceWord = (json: string, all: ReadonlyArray<string>): string => {
  const value: unknown = JSON.parse(json)
  if (typeof value !== "string" || value === "") return json
  return all.includes(value) ? json : value
}

const control = (
  field: ArgumentField,
  typed: string,
  described: string,
  isWrong: boolean
): Html => {
  const { kind, name, options, states } = field
  const attributes = {
    id: name,
    name,
    "aria-describedby": described,
    "aria-invalid": isWrong ? "true" : undefined
  }
  if (kind === "choice") {
    const own = options.map((each) => option(each, choiceWord(each, options), typed))
    const more = states.flatMap((each) =>
      each === "value" || (each === "null" && options.includes("null"))
        ? []
        : [option(each === "null" ? "null" : "", each === "null" ? "null" : "left out", typed)]
    )
    return element("select", attributes, own, more)
  }
  if (kind === "number") {
    return element("input", { ...attributes, value: typed, inputmode: "decimal" })
  }
  return element(
    "textarea",
    {
      ...attributes,
      rows: rowsOf(typed),
      class: kind === "json" ? "json" : undefined,
      spellcheck: kind === "json" ? "false" : undefined
    },
    typed
  )
}

const stateChoice = (field: ArgumentField, chosen: string): Child =>
  field.kind !== "choice" &&
  field.states.length > 1 &&
  element(
    "select",
    { name: stateName(field), "aria-label": `${field.path.join(" ")} is` },
    field.states.map((each) => option(each, states[each], chosen))
  )

const fieldRow = (field: ArgumentField, rejected: Rejected | undefined): Html => {
  const { description, hints, isRequired, kind, name, path } = field
  const problem = rejected?.places?.[name]
  const described = `${name}-says`
  const says = [...kinds[kind], ...(isRequired ? [] : ["may be left out"]), ...hints].join(", ")
  return element(
    "div",
    { class: "argument" },
    element(
      "label",
      { for: name },
      element("code", {}, path.at(-1) ?? ""),
      isRequired && element("span", { class: "small quiet" }, " required")
    ),
    element(
      "div",
      {},
      control(field, rejected?.typed[name] ?? field.text, described, problem !== undefined),
      stateChoice(field, rejected?.typed[stateName(field)] ?? field.state),
      element(
        "p",
        { id: described, class: "small quiet" },
        description !== "" && [cutText(description, 400), element("br", {})],
        says,
        problem !== undefined && element("span", { class: "problem" }, problem)
      )
    )
  )
}

/** A field, or a group of them, with what was typed and what is wrong with it. */
export const partRow =
  (rejected: Rejected | undefined) =>
  (part: ArgumentPart): Html =>
    part.kind === "group"
      ? element(
          "fieldset",
          {},
          element("legend", {}, element("code", {}, part.path.at(-1) ?? "")),
          part.description !== "" &&
            element("p", { class: "small quiet" }, cutText(part.description, 400)),
          part.fields.map(partRow(rejected))
        )
      : fieldRow(part, rejected)

const jsonField = (json: string, rejected: Rejected | undefined): Child => [
  element("label", { for: "modify-arguments" }, "All arguments, as JSON. They are checked again."),
  element(
    "textarea",
    {
      id: "modify-arguments",
      name: "arguments",
      required: true,
      rows: 10,
      class: "json",
      spellcheck: "false"
    },
    rejected?.typed["arguments"] ?? json
  )
]

const changing = ["preview", "modify", "edit"]

/** The form, in a part of the page that opens. */
export const argumentForm = (
  view: View,
  action: string,
  { json, other, parts }: ArgumentEditor,
  given?: Rejected
): Html => {
  const isTried = changing.includes(given?.typed["decision"] ?? "")
  const rejected = isTried ? given : undefined
  return opening(
    ["Change and run …", keyHint("m")],
    { isOpen: isTried || (parts === undefined && other !== undefined) },
    form(
      view,
      action,
      { class: "arguments" },
      parts === undefined ? jsonField(json, rejected) : parts.map(partRow(rejected)),
      element("button", { class: "go", name: "decision", value: "preview" }, "Show the changes"),
      other !== undefined &&
        element(
          "a",
          { class: "small", href: other },
          parts === undefined ? "Change them in fields" : "Change them as JSON"
        )
    )
  )
}

/** A value that differs; absent = there is none on that side. */
interface Change {
  readonly path: string
  readonly before?: string
  readonly after?: string
}

/** The rows of a difference, and what of a value is shown. */
const changes_max = 200
const value_units_max = 4_000

const shownValue = (value: unknown): string =>
  cutText(typeof value === "string" ? `“${value}”` : jsonText(value), value_units_max)

/** What differs between two values, each at its place: members one by one, lists and others as they are. */
export const changesBetween = (
  before: unknown,
  after: unknown,
  path = ""
): ReadonlyArray<Change> => {
  if (before === undefined) return after === undefined ? [] : [{ path, after: shownValue(after) }]
  if (after === undefined) return [{ path, before: shownValue(before) }]
  if (isSameJson(before, after)) return []
  if (!isObject(before) || !isObject(after)) {
    return [{ path, before: shownValue(before), after: shownValue(after) }]
  }
  const names = new Set([...Object.keys(before), ...Object.keys(after)])
  const of = (value: typeof before, name: string) =>
    Object.hasOwn(value, name) ? value[name] : undefined
  return [...names].flatMap((name) =>
    changesBetween(of(before, name), of(after, name), path === "" ? name : `${path}.${name}`)
  )
}

/** What differs, with what was before struck through. */
export const argumentChanges = (before: unknown, after: unknown): Html => {
  const changes = changesBetween(before, after)
  return element(
    "div",
    {},
    element(
      "table",
      { class: "args" },
      changes
        .slice(0, changes_max)
        .map((change) =>
          element(
            "tr",
            {},
            element("th", { scope: "row" }, change.path),
            element(
              "td",
              {},
              change.before === undefined
                ? element("span", { class: "quiet" }, "new: ")
                : element("del", {}, change.before),
              " ",
              change.after === undefined
                ? element("span", { class: "quiet" }, "is left out")
                : element("ins", {}, change.after)
            )
          )
        )
    ),
    changes.length > changes_max &&
      element("p", { class: "quiet" }, `and ${changes.length - changes_max} more`),
    changes.length === 0 && element("p", { class: "quiet" }, "Nothing differs.")
  )
}

/** The names of what such a form sends. */
export const sentNames = ({ parts }: ArgumentEditor): ReadonlyArray<string> =>
  parts === undefined
    ? ["arguments"]
    : fieldsIn(parts).flatMap((field) => [field.name, stateName(field)])

/** The same fields again, with the decision that they are for: to run with them, or to change them once more. */
export const changeForm = (
  view: View,
  action: string,
  editor: ArgumentEditor,
  sent: Readonly<Record<string, string>>
): Html =>
  form(
    view,
    action,
    {},
    sentNames(editor).flatMap((name) => {
      const value = sent[name]
      return value === undefined ? [] : [element("input", { type: "hidden", name, value })]
    }),
    element("button", { class: "go", name: "decision", value: "modify" }, "Run it so"),
    " ",
    element("button", { name: "decision", value: "edit" }, "Change more")
  )
