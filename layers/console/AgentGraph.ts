/**
 * Agents as a picture: who may ask whom, and who may hand a conversation over to whom. Agents that nobody asks stand left, each
 * other one right of all that ask it.
 */
import { cutText } from "../../src/value/CutText.ts"
import type { Child, Html } from "./Html.ts"
import { element } from "./Html.ts"

/** An agent, and whom it may turn to. */
export interface GraphAgent {
  readonly name: string
  readonly specialists: ReadonlyArray<string>
  readonly handoffs: ReadonlyArray<string>
}

/** In pixels of the picture. */
const [box_width, box_height, column_gap, row_gap] = [190, 32, 90, 16]
/** The most agents; the list below has all. */
const agents_max = 100

interface Place {
  readonly x: number
  readonly y: number
}

/** The column of each agent: right of all that ask it. Where agents ask one another in a circle, one of the lines leads back. */
const columnsOf = (agents: ReadonlyArray<GraphAgent>): ReadonlyMap<string, number> => {
  const known = new Map(agents.map((agent) => [agent.name, agent]))
  const asked = new Set(agents.flatMap(({ specialists }) => specialists))
  const columns = new Map<string, number>()
  const open = new Set<string>()
  /** Who asks stands before whom it asks. */
  const ordered: Array<string> = []
  const ahead = new Map<string, ReadonlyArray<string>>()
  const visit = (name: string) => {
    open.add(name)
    const next = (known.get(name)?.specialists ?? []).filter(
      (each) => known.has(each) && !open.has(each)
    )
    ahead.set(name, next)
    for (const each of next) if (!columns.has(each)) visit(each)
    open.delete(name)
    columns.set(name, 0)
    ordered.unshift(name)
  }
  const firstAsking = agents.toSorted(
    (a, b) => Number(asked.has(a.name)) - Number(asked.has(b.name))
  )
  for (const { name } of firstAsking) if (!columns.has(name)) visit(name)
  for (const name of ordered) {
    const column = (columns.get(name) ?? 0) + 1
    for (const each of ahead.get(name) ?? []) {
      columns.set(each, Math.max(columns.get(each) ?? 0, column))
    }
  }
  return columns
}

const placesOf = (agents: ReadonlyArray<GraphAgent>): ReadonlyMap<string, Place> => {
  const columns = columnsOf(agents)
  const rows = new Map<number, number>()
  return new Map(
    agents.map(({ name }) => {
      const column = columns.get(name) ?? 0
      const row = rows.get(column) ?? 0
      rows.set(column, row + 1)
      const place = {
        x: 2 + column * (box_width + column_gap),
        y: 4 + row * (box_height + row_gap)
      }
      return [name, place]
    })
  )
}

/** A line from one box to another, with its head: to the right, to the left, or around to the same column. */
const edge = (from: Place, to: Place, kind: string): Html => {
  const [y, end_y] = [from.y + box_height / 2, to.y + box_height / 2]
  const [isOn, isSame] = [to.x > from.x, to.x === from.x]
  const x = isOn || isSame ? from.x + box_width : from.x
  const end_x = isOn ? to.x : to.x + box_width
  const bend = isOn || isSame ? column_gap / 2 : -column_gap / 2
  // The head of a line to the right points there, of another one to the left.
  const [into, wing] = isOn ? [-bend, -8] : [Math.abs(bend), 8]
  const end = `${end_x + into} ${end_y} ${end_x + wing / 2} ${end_y}`
  // A line over several columns goes between the rows, so that no box hides it.
  const gap = from.y + box_height + row_gap / 2
  const line =
    to.x - from.x > box_width + column_gap
      ? `C${x + bend} ${y} ${x + bend} ${gap} ${x + column_gap} ${gap} H${end_x - column_gap} C${end_x - bend} ${gap} ${end}`
      : `C${x + bend} ${y} ${end}`
  return element(
    "g",
    { class: `edge ${kind}` },
    element("path", { d: `M${x} ${y} ${line}`, class: "line" }),
    element("path", { d: `M${end_x} ${end_y} l${wing} -4 v8 z`, class: "head" })
  )
}

const edgesOf = (agents: ReadonlyArray<GraphAgent>, places: ReadonlyMap<string, Place>): Child =>
  agents.map(({ handoffs, name, specialists }) => {
    const from = places.get(name)
    const lines = (names: ReadonlyArray<string>, kind: string) =>
      names.map((each) => {
        const to = places.get(each)
        return from !== undefined && to !== undefined && each !== name && edge(from, to, kind)
      })
    return [lines(specialists, "asks"), lines(handoffs, "hands")]
  })

const says = ({ handoffs, name, specialists }: GraphAgent): string =>
  [
    name,
    specialists.length > 0 && `asks ${specialists.join(", ")}`,
    handoffs.length > 0 && `hands over to ${handoffs.join(", ")}`
  ]
    .filter((each) => each !== false)
    .join("; ")

const legend = (kind: string, word: string) =>
  element(
    "span",
    {},
    element(
      "svg",
      { width: 24, height: 9, "aria-hidden": "true" },
      element(
        "g",
        { class: `edge ${kind}` },
        element("path", { d: "M0 5 h17", class: "line" }),
        element("path", { d: "M24 5 l-8 -4 v8 z", class: "head" })
      )
    ),
    ` ${word}`
  )

/** Where the part of a page about an agent is. */
export const agentAnchor = (name: string): string => `agent-${name}`

/** The picture; each box leads to its agent below. Nothing where no agent may turn to another. */
export const agentGraph = (all: ReadonlyArray<GraphAgent>): Child => {
  const agents = all.slice(0, agents_max)
  if (agents.every(({ handoffs, specialists }) => handoffs.length + specialists.length === 0)) {
    return false
  }
  const places = placesOf(agents)
  const width = Math.max(...Array.from(places.values(), ({ x }) => x)) + box_width + column_gap
  const height = Math.max(...Array.from(places.values(), ({ y }) => y)) + box_height + row_gap
  return [
    element(
      "p",
      { class: "legend" },
      legend("asks", "asks as a specialist"),
      legend("hands", "may hand the conversation over to")
    ),
    element(
      "div",
      { class: "chart graph", tabindex: 0, role: "region", "aria-label": "Agents" },
      element(
        "svg",
        {
          viewBox: `0 0 ${width} ${height}`,
          width,
          height,
          role: "group",
          "aria-label": "Who may turn to whom"
        },
        edgesOf(agents, places),
        agents.map((agent) => {
          const { x, y } = places.get(agent.name) ?? { x: 0, y: 0 }
          return element(
            "a",
            { href: `#${agentAnchor(agent.name)}`, "aria-label": says(agent) },
            element("title", {}, says(agent)),
            element("rect", { x, y, width: box_width, height: box_height, rx: 6, class: "box" }),
            element("text", { x: x + 10, y: y + 20 }, cutText(agent.name, 26))
          )
        })
      ),
      all.length > agents_max &&
        element(
          "p",
          { class: "quiet small" },
          `The first ${agents_max} of ${all.length} are drawn.`
        )
    )
  ]
}
