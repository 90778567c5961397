/** What a run did when, drawn to scale: models, tools and people told apart, and gaps in which nobody works folded. */
import { cutText } from "../../src/value/CutText.ts"
import type { Child, Html } from "./Html.ts"
import { element } from "./Html.ts"
import type { Span } from "./WorkSpans.ts"
import { duration } from "./Words.ts"

/** A gap that is longer than this is folded, in ms. */
const gap_ms_max = 2_000
/** In pixels of the picture. */
const left = 280
const width = 560
const fold_width = 26
/** The narrowest fold that has its time written over it. */
const labelled_width = 20
/** What goes on is drawn this long. */
const open_width = 90
const row_height = 26
const top = 26
/** The most rows; the events below have all. */
const rows_max = 200

interface Piece {
  readonly from: number
  readonly to: number
  /** Where it begins, and how many pixels a ms takes. */
  readonly x: number
  readonly scale: number
  /** Nobody works in it: it has one width, however long it is. */
  readonly isFold: boolean
}

/** The times at which models and tools work, merged where less than a fold is between them. */
const busy = (spans: ReadonlyArray<Span>): ReadonlyArray<readonly [from: number, to: number]> => {
  const merged: Array<[from: number, to: number]> = []
  const points = spans.flatMap(({ from, kind, to = from }) =>
    kind === "person"
      ? [
          [from, from],
          [to, to]
        ]
      : // Two machines may have two clocks.
        [[from, Math.max(from, to)]]
  )
  for (const [from = 0, to = 0] of points.toSorted(([a = 0], [b = 0]) => a - b)) {
    const last = merged.at(-1)
    if (last !== undefined && from - last[1] <= gap_ms_max) last[1] = Math.max(last[1], to)
    else merged.push([from, to])
  }
  return merged
}

/** The axis: pieces to one scale, and folds of one width between them, which have no more than half of the picture. */
const axisOf = (spans: ReadonlyArray<Span>): ReadonlyArray<Piece> => {
  const times = busy(spans)
  const worked = times.reduce((sum, [from, to]) => sum + to - from, 0)
  const room = width - (spans.some(({ to }) => to === undefined) ? open_width : 0)
  const count = Math.max(0, times.length - 1)
  const folded = Math.min(fold_width, room / 2 / Math.max(1, count))
  const scale = (room - folded * count) / Math.max(1, worked)
  const pieces: Array<Piece> = []
  let x = left
  for (const [index, [from, to]] of times.entries()) {
    const before = times[index - 1]
    if (before !== undefined) {
      const [, since] = before
      pieces.push({ from: since, to: from, x, scale: folded / (from - since), isFold: true })
      x += folded
    }
    pieces.push({ from, to, x, scale, isFold: false })
    x += (to - from) * scale
  }
  return pieces
}

const placeOf = (axis: ReadonlyArray<Piece>, at: number): number => {
  const piece = axis.findLast(({ from }) => from <= at)
  return piece === undefined ? left : piece.x + (Math.min(at, piece.to) - piece.from) * piece.scale
}

const text = (x: number, y: number, kind: string, ...content: ReadonlyArray<Child>) =>
  element("text", { x: x.toFixed(1), y, class: kind }, content)

const folds = (axis: ReadonlyArray<Piece>, height: number): Child =>
  axis.flatMap(({ from, isFold, scale, to, x }) => {
    if (!isFold) return []
    const folded = (to - from) * scale
    return [
      element("rect", {
        x: x.toFixed(1),
        y: top,
        width: folded.toFixed(1),
        height,
        class: "fold"
      }),
      folded >= labelled_width && text(x + folded / 2, top - 10, "t middle", duration(to - from))
    ]
  })

const row = (
  axis: ReadonlyArray<Piece>,
  { depth, from, kind, name, note, seq, to }: Span,
  index: number
) => {
  const y = top + index * row_height
  const begin = placeOf(axis, from)
  const open = to === undefined
  const end = open ? left + width : placeOf(axis, to)
  const took = open ? "" : duration(to - from)
  const label = [took, note].filter((each) => each !== "").join(", ")
  // A label that has no room behind its bar stands before it.
  const isRight = end > left + width * 0.62
  return element(
    "a",
    { href: `#event-${seq}`, class: "row", "aria-label": `${kind} ${name} ${label}` },
    element("rect", { x: 0, y, width: 1_100, height: row_height, class: "hit" }),
    text(depth * 14, y + 17, "", cutText(name, 32)),
    element("rect", {
      x: begin.toFixed(1),
      y: y + 6,
      width: Math.max(2, end - begin).toFixed(1),
      height: 14,
      rx: 2,
      class: open ? `${kind} open` : kind
    }),
    isRight && begin - left > 180
      ? text(begin - 6, y + 17, "t end", cutText(label, 60))
      : text(end + 6, y + 17, "t", cutText(label, 40))
  )
}

const legend = (["model", "tool", "person"] as const).map((kind) =>
  element(
    "span",
    {},
    element(
      "svg",
      { width: 9, height: 9, "aria-hidden": "true" },
      element("rect", { width: 9, height: 9, rx: 2, class: kind })
    ),
    kind === "person" ? " waits for a person" : ` ${kind}`
  )
)

/** The picture with its legend. Each bar leads to its event below. `newest`: so many of the last ones; absent = the first ones. */
export const waterfall = (spans: ReadonlyArray<Span>, newest?: number): Html => {
  const shown = newest === undefined ? spans.slice(0, rows_max) : spans.slice(-newest)
  const axis = axisOf(shown)
  const height = shown.length * row_height
  return element(
    "figure",
    { class: "waterfall" },
    element(
      "figcaption",
      { class: "legend" },
      legend,
      element("span", {}, "gaps over 2 s are folded")
    ),
    element(
      "svg",
      {
        viewBox: `0 0 1100 ${top + height + 4}`,
        role: "group",
        "aria-label": `What happened when: ${shown.length} spans`
      },
      folds(axis, height),
      shown.map((span, index) => row(axis, span, index))
    ),
    spans.length > shown.length &&
      element(
        "p",
        { class: "quiet small" },
        newest === undefined
          ? `The first ${shown.length} of ${spans.length} are drawn.`
          : `The newest ${shown.length} of ${spans.length} are drawn while the run goes on.`
      )
  )
}
