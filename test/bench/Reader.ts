/**
 * The agent of the rows that go through `send`, started as an application starts it: `troupe/embed` and what its README
 * shows, with a model whose turns are ready at once or after a wait.
 */
import { Effect, Exit, Layer } from "effect"
import { AgentName, AgentSpec, RunLimits, tool } from "troupe"
import type { NodeService, Options, Store } from "troupe/embed"
import { start } from "troupe/embed"
import { ModelGateway } from "troupe/services"
import { Parameters, record, Success, turnAt } from "./Work.ts"

export const lookup = tool(
  {
    namespace: "bench",
    name: "lookup",
    description: "Reads one record.",
    side_effects: "read",
    input: Parameters,
    output: Success
  },
  (args) => record(args)
)

export const agent = AgentSpec.make({
  name: AgentName.make("reader"),
  instructions: "Read.",
  tools: ["lookup"],
  limits: RunLimits.make({ steps_max: 1_000, calls_max: 100_000 })
})

/** What each run does: so many turns with so many calls, and an answer. */
export interface Script {
  readonly steps: number
  /** Of one turn; absent = 1. */
  readonly calls?: number
  /** How long a turn takes; absent = it is there at once. */
  readonly turn_ms?: number
  /** How many texts of the run guards judge; absent = none. */
  readonly verdicts?: number
}

/** The same function as the lower bound's model, with the same timer, behind the port and nothing else. */
export const model = ({ calls = 1, steps, turn_ms }: Script) =>
  Layer.succeed(ModelGateway, {
    turn: ({ step }) => {
      const turn = Exit.succeed(turnAt(step, steps, calls))
      if (turn_ms === undefined) return turn
      return Effect.callback((resume) => void setTimeout(() => resume(turn), turn_ms))
    }
  })

/** What an agent may be under besides its tools' permissions. */
export type Governed = Pick<Options, "budgets" | "guards">

export const startReader = (
  script: Script,
  store: Store = "ephemeral",
  governed: Governed = {}
): Promise<NodeService> =>
  start({ agents: [agent], tools: [lookup], model: model(script), store, ...governed })

/** Events of a run, from its acceptance and its claim to its end. */
export const eventsOf = ({ calls = 1, steps, verdicts = 0 }: Script): number =>
  4 + steps * (1 + calls) + verdicts

/** Sends a message in a new conversation and watches its run to the end. Fails where an event is missing. */
export const sendAndWatch = async (
  troupe: NodeService,
  script: Script,
  seen?: (tag: string) => void
): Promise<void> => {
  const { run } = await troupe.send({ agent: agent.name, text: "read" })
  let events = 0
  let last = ""
  for await (const item of troupe.watch(run)) {
    if (item._tag !== "Event") continue
    last = item.entry.event._tag
    events++
    seen?.(last)
  }
  const expected = eventsOf(script)
  if (events !== expected) throw new Error(`${events} events instead of ${expected}, up to ${last}`)
}
