/** What agents there are and what they do now, and the switch that stops their tools. */
import type * as AgentOperations from "../../src/operation/AgentOperations.ts"
import type { OutputOf } from "../../src/operation/Operation.ts"
import { cutText } from "../../src/value/CutText.ts"
import { apiPart } from "./ApiLine.ts"
import { agentAnchor, agentGraph } from "./AgentGraph.ts"
import type { Html } from "./Html.ts"
import { element } from "./Html.ts"
import type { View } from "./Shell.ts"
import { fact, form, may, page, row, table } from "./Shell.ts"
import { duration, shortId } from "./Words.ts"

type Agent = OutputOf<typeof AgentOperations.list>["items"][number]

/** The most actors of an agent that are named; of the others there is a count. */
const actors_max = 50

const actorRow = (view: View, { key, restarts, run_id, state }: Agent["actors"][number]) => [
  shortId(key),
  state,
  run_id !== undefined && element("a", { href: `${view.path}/runs/${run_id}` }, shortId(run_id)),
  restarts
]

/** The limits that are in force, in words. */
const limitText = (limits: Agent["limits"]): string => {
  const { calls_max, cost_max, on_breach, steps_max, tokens_max, wall_ms_max } = limits
  const count = (number: number) => number.toLocaleString("en")
  return [
    `${count(steps_max)} turns`,
    `${count(calls_max)} calls`,
    tokens_max > 0 && `${count(tokens_max)} tokens`,
    cost_max !== undefined && `a cost of ${cost_max}`,
    wall_ms_max > 0 && duration(wall_ms_max),
    { stop: "then it fails", ask: "then a person is asked", answer: "then it answers" }[on_breach]
  ]
    .filter((each) => each !== false)
    .join(", ")
}

const agentPart = (
  view: View,
  { actors, description, handoffs, kind, limits, model, name, specialists, tools, version }: Agent
) =>
  element(
    "section",
    { class: "group", id: agentAnchor(name) },
    element("h2", {}, name, " ", kind !== undefined && element("span", { class: "tag" }, kind)),
    element("p", { class: "quiet" }, cutText(description, 400)),
    element(
      "dl",
      { class: "facts" },
      model !== undefined && fact("Model", model),
      tools.length > 0 && fact("Tools", tools.map((tool) => tool.name).join(", ")),
      specialists.length > 0 && fact("Specialists", specialists.join(", ")),
      handoffs.length > 0 && fact("May hand over to", handoffs.join(", ")),
      fact("Limits of a run", limitText(limits)),
      fact("Version", shortId(version))
    ),
    actors.length === 0
      ? element("p", { class: "quiet" }, "No conversation of it is in this process.")
      : [
          table(
            ["Conversation", "State", "Run", "Restarts"],
            actors.slice(0, actors_max).map((each) => row(Infinity, ...actorRow(view, each)))
          ),
          actors.length > actors_max &&
            element("p", { class: "quiet small" }, `and ${actors.length - actors_max} more`)
        ]
  )

/** The agents of the process that answers, with what they hold there. */
export const agentsPage = (view: View, agents: ReadonlyArray<Agent>, line: string): Html =>
  page(
    view,
    { title: "Agents", current: "/agents" },
    agentGraph(agents),
    agents.map((agent) => agentPart(view, agent)),
    apiPart(line)
  )

/** The switch that stops every tool of the tenant. */
export const switchPage = (view: View, isStopped: boolean): Html =>
  page(
    view,
    { title: "Kill switch", current: "/kill-switch" },
    element(
      "div",
      { class: "panel" },
      element(
        "section",
        {},
        element(
          "p",
          {},
          element(
            "span",
            { class: `tag ${isStopped ? "bad" : "good"}` },
            isStopped ? "stopped" : "running"
          ),
          isStopped
            ? " No tool of this tenant runs. Runs go on without them, and are told so."
            : " Tools of this tenant run as the gate lets them."
        )
      ),
      may(view, "stopTools") &&
        element(
          "section",
          {},
          element(
            "p",
            { class: "quiet" },
            isStopped
              ? "Calls that begin from then on run again. Calls that were refused meanwhile are not made up for."
              : "It holds for every call that has not begun: at once here, within about two seconds in other processes, and after restarts. Other tenants are not touched."
          ),
          form(
            view,
            `${view.path}/kill-switch`,
            {},
            element(
              "button",
              { name: "on", value: isStopped ? "false" : "true", class: isStopped ? "go" : "no" },
              isStopped ? "Let tools run again" : "Stop all tools"
            )
          )
        )
    )
  )
