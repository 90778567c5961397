/**
 * Numbers as pictures, drawn here and to scale: columns over days, and bars of groups. Beside each picture stand its numbers as a
 * table, so nothing is told by a picture or a colour alone.
 */
import { cutText } from "../../src/value/CutText.ts"
import { dayOf } from "../../src/value/Times.ts"
import type { Child, Html } from "./Html.ts"
import { element } from "./Html.ts"

/** A part of a column; `kind` is a class of the stylesheet. */
export interface Part {
  readonly kind: string
  readonly value: number
}

/** One column, from its foot up. */
export interface Column {
  readonly name: string
  /** What the mouse and a screen reader say of it. */
  readonly says: string
  readonly parts: ReadonlyArray<Part>
}

/** In pixels of the picture. */
const [width, height, left, right, top, foot] = [1_100, 180, 64, 10, 10, 22]
const plot = { width: width - left - right, height: height - top - foot }
const names_max = 8
/** A sum that is smaller is none: the smallest amount has 40 decimals. */
const nothing = 1e-100

/** The smallest of 1, 2 and 5 times a power of ten that is not below this. */
const roundUp = (number: number): number => {
  const power = 10 ** Math.floor(Math.log10(number))
  return ([1, 2, 5, 10].find((each) => each * power >= number) ?? 10) * power
}

/** A number of an axis, without what floating point adds to it. */
const axisText = (number: number): string =>
  Number(number.toPrecision(6)).toLocaleString("en", { maximumFractionDigits: 12 })

const text = (x: number, y: number, kind: string, content: Child) =>
  element("text", { x: x.toFixed(1), y: y.toFixed(1), class: kind }, content)

const line = (y: number) =>
  element("line", {
    x1: left,
    x2: width - right,
    y1: y.toFixed(1),
    y2: y.toFixed(1),
    class: "grid"
  })

const sumOf = ({ parts }: Column): number => parts.reduce((sum, { value }) => sum + value, 0)

const scaleOf = (
  columns: ReadonlyArray<Column>
): { readonly top: number; readonly step: number } => {
  const most = Math.max(0, ...columns.map(sumOf))
  if (most < nothing) return { top: 1, step: 1 }
  // There is no half of what is counted.
  const isCount = columns.every(({ parts }) => parts.every(({ value }) => Number.isInteger(value)))
  const step = Math.max(roundUp(most / 4), isCount ? 1 : 0)
  return { top: Math.ceil(most / step) * step, step }
}

const columnOf = (column: Column, x: number, room: number, highest: number): Html => {
  let y = top + plot.height
  return element(
    "g",
    {},
    element("title", {}, column.says),
    element("rect", {
      x: x.toFixed(1),
      y: top,
      width: room.toFixed(1),
      height: plot.height,
      class: "hit"
    }),
    column.parts.map(({ kind, value }) => {
      if (value <= 0) return false
      // What is there is seen, however little it is.
      const tall = Math.max(1, (value / highest) * plot.height)
      y -= tall
      return element("rect", {
        x: (x + room * 0.12).toFixed(2),
        y: y.toFixed(2),
        width: (room * 0.76).toFixed(2),
        height: tall.toFixed(2),
        class: kind
      })
    })
  )
}

/** Columns one after the other, with the numbers of their axis. Where there is no room for all, the last are seen first. */
export const columnChart = (label: string, columns: ReadonlyArray<Column>): Html => {
  const { step, top: highest } = scaleOf(columns)
  const room = plot.width / Math.max(1, columns.length)
  const every = Math.ceil(columns.length / names_max)
  const ticks = Array.from({ length: Math.round(highest / step) + 1 }, (_, at) => at * step)
  return element(
    "div",
    { class: "chart newest", tabindex: 0, role: "region", "aria-label": label },
    element("p", { class: "quiet small", "aria-hidden": "true" }, label),
    element(
      "svg",
      { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label },
      ticks.map((tick) => {
        const y = top + plot.height * (1 - tick / highest)
        return [line(y), text(left - 8, y + 4, "t end", axisText(tick))]
      }),
      columns.map((column, at) => columnOf(column, left + at * room, room, highest)),
      columns.map(
        ({ name }, at) =>
          at % every === 0 && text(left + (at + 0.5) * room, height - 6, "t middle", name)
      )
    )
  )
}

/** One bar; `text` is its number as people read it. */
export interface Bar {
  readonly name: string
  readonly value: number
  readonly text: string
  /** Where it leads. Absent = nowhere. */
  readonly href?: string
}

const bars_max = 12
const [bar_height, name_width, number_width] = [24, 240, 220]

/** Bars one under the other, at most 12 of them: the longest first. */
export const barChart = (label: string, bars: ReadonlyArray<Bar>): Html => {
  const drawn = bars.toSorted((a, b) => b.value - a.value).slice(0, bars_max)
  const most = Math.max(...drawn.map(({ value }) => value), Number.MIN_VALUE)
  const room = width - name_width - number_width
  return element(
    "div",
    { class: "chart", tabindex: 0, role: "region", "aria-label": label },
    element(
      "svg",
      {
        viewBox: `0 0 ${width} ${drawn.length * bar_height + 4}`,
        role: "group",
        "aria-label": label
      },
      drawn.map(({ href, name, text: number, value }, at) => {
        const y = at * bar_height
        const long = Math.max(1, (value / most) * room)
        const content = [
          element("rect", { x: 0, y, width, height: bar_height, class: "hit" }),
          text(0, y + 16, "", cutText(name, 34)),
          element("rect", {
            x: name_width,
            y: y + 5,
            width: long.toFixed(1),
            height: 14,
            rx: 2,
            class: "model"
          }),
          text(name_width + long + 8, y + 16, "t", cutText(number, 40))
        ]
        return href === undefined
          ? element("g", {}, content)
          : element("a", { href, class: "row", "aria-label": `${name}: ${number}` }, content)
      })
    ),
    bars.length > bars_max &&
      element("p", { class: "quiet small" }, `The ${bars_max} highest of ${bars.length} are drawn.`)
  )
}

/** What the colours of columns stand for. */
export const chartLegend = (kinds: ReadonlyArray<readonly [kind: string, word: string]>): Html =>
  element(
    "p",
    { class: "legend" },
    kinds.map(([kind, word]) =>
      element(
        "span",
        {},
        element(
          "svg",
          { width: 9, height: 9, "aria-hidden": "true" },
          element("rect", { width: 9, height: 9, rx: 2, class: kind })
        ),
        ` ${word}`
      )
    )
  )

/** The numbers of a picture, in a part of the page that opens. */
export const behindChart = (
  name: string,
  isOpen: boolean,
  ...content: ReadonlyArray<Child>
): Html =>
  element("details", { class: "behind", open: isOpen }, element("summary", {}, name), content)

const day_ms = 86_400_000
const days_max = 400

/** The days from one to another in UTC, such as `2026-11-30`, the last 400 of them. */
export const daysBetween = (from: number, to: number): ReadonlyArray<string> => {
  const last = Math.floor(to / day_ms)
  const first = Math.max(Math.floor(from / day_ms), last - days_max + 1)
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, at) =>
    dayOf((first + at) * day_ms)
  )
}
