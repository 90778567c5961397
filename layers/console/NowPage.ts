/** Everything that needs a person, in one page: questions, calls whose outcome is unknown, dead letters, and what nobody hosts. */
import type { Approval } from "../../src/approval/Approval.ts"
import type { DeadLetter } from "../../src/delivery/OutboxMessage.ts"
import type { UnhostedWork } from "../../src/run/RunItem.ts"
import type { UnknownCall } from "../../src/run/UnknownCall.ts"
import type { Following } from "./Following.ts"
import type { Child, Html } from "./Html.ts"
import { element } from "./Html.ts"
import type { View } from "./Shell.ts"
import { emptyList, page } from "./Shell.ts"
import { moment, shortId } from "./Words.ts"

/** What waits, oldest first. Each list has its first part. */
export interface Waiting {
  readonly questions: ReadonlyArray<Approval>
  readonly unknown: ReadonlyArray<UnknownCall>
  readonly letters: ReadonlyArray<DeadLetter>
  readonly unhosted: ReadonlyArray<UnhostedWork>
}

const group = (name: string, more: string, rows: ReadonlyArray<Child>): Child =>
  rows.length > 0 &&
  element(
    "section",
    { class: "group" },
    element("h2", {}, name, " ", element("span", { class: "tag wait" }, rows.length)),
    element("p", { class: "quiet" }, more),
    element("div", { class: "panel scroll" }, element("table", {}, element("tbody", {}, rows)))
  )

/** A row keeps its place under the cursor by its id, whatever comes before it. */
const row = (id: string, ...content: ReadonlyArray<Child>) =>
  element(
    "tr",
    { id },
    content.map((each) => element("td", {}, each))
  )

/** What needs a person now. */
export const nowPage = (
  view: View,
  { letters, questions, unhosted, unknown }: Waiting,
  follows: Following
): Html => {
  const { now, path } = view
  const isCalm = letters.length + questions.length + unhosted.length + unknown.length === 0
  return page(
    view,
    {
      title: "Now",
      current: "",
      follows
    },
    isCalm &&
      emptyList(
        "Nothing needs a person.",
        "Questions, unknown outcomes, dead letters and work without a host would stand here, oldest first."
      ),
    group(
      "Questions",
      "A call waits until somebody decides.",
      questions.map(({ id, payload, requested_at }) =>
        row(
          `question-${id}`,
          element("a", { href: `${path}/inbox/${id}` }, payload.effect_description),
          `${payload.agent_name}, ${payload.tool_name}`,
          moment(requested_at, now)
        )
      )
    ),
    group(
      "Unknown outcomes",
      "A change may have happened or not. An operator looks, and says what became of it.",
      unknown.map(({ agent, call, run_id, since, tool }) =>
        row(
          `call-${run_id}-${call}`,
          element("a", { href: `${path}/unknown/${run_id}` }, `${tool} (call ${call})`),
          agent,
          moment(since, now)
        )
      )
    ),
    group(
      "Dead letters",
      "A delivery failed for good. It can be sent again, or given up.",
      letters.map(({ attempts, dead_at, event_id, handler_name }) =>
        row(
          `letter-${event_id}`,
          element("a", { href: `${path}/dead-letters/${event_id}` }, shortId(event_id)),
          `${handler_name}, ${attempts} attempts`,
          moment(dead_at, now)
        )
      )
    ),
    group(
      "Nobody hosts",
      "No living process defines this agent as the work needs it.",
      unhosted.map(({ agent, count, oldest_at, tool = "", version = "" }) =>
        row(`agent-${agent}-${version}-${tool}`, agent, `${count} waiting`, moment(oldest_at, now))
      )
    )
  )
}
