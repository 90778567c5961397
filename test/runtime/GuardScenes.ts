/** Runs with guards, and what tests ask of them. */
import { Effect, Layer } from "effect"
import * as Guard from "../../src/agent/Guard.ts"
import type { Guarded } from "../../src/run/GuardVerdict.ts"
import type { RunEvent } from "../../src/run/RunEvent.ts"
import { DeclaredGuards } from "../../services/AgentDirectory.ts"
import * as Replay from "../../layers/compose/entries/Replay.ts"
import * as H from "./Harness.ts"

type Judge = Guard.Options["judge"]

/** A guard of these texts. */
export const guard = (
  name: string,
  on: Guard.Options["on"],
  judge: Judge,
  more: Partial<Guard.Options> = {}
) => Guard.make({ name, on, judge, ...more })

/** Refuses a text with this word. */
export const refuses =
  (word: string): Judge =>
  (of) =>
    of.text.includes(word) ? { verdict: "refuse", reason: `no ${word} here` } : { verdict: "pass" }

/** Writes stars in place of this word. */
export const masks =
  (word: string): Judge =>
  (of) =>
    of.text.includes(word)
      ? { verdict: "change", text: of.text.replaceAll(word, "***"), reason: "masked" }
      : { verdict: "pass" }

export const layer = (options: H.Options, ...guards: ReadonlyArray<Guard.Guard>) =>
  H.layer(options).pipe(Layer.provide(Layer.succeed(DeclaredGuards, guards)))

export const verdicts = (all: ReadonlyArray<RunEvent>): ReadonlyArray<Guarded> =>
  all.filter((event) => event._tag === "Guarded")

/** What each guard said of which text. */
export const said = (all: ReadonlyArray<RunEvent>) =>
  verdicts(all).map(({ guard: name, on, reason, verdict }) =>
    [on, name, verdict, ...(reason === undefined ? [] : [reason])].join(" ")
  )

/** A guard that must not be asked. */
const unasked = guard("unasked", ["message", "result", "answer"], () => {
  throw new Error("a replay asks no guard")
})

/** The differences of both replays of a run, in an application with another guard. */
export const replayed = Effect.fnUntraced(function* (
  run: Parameters<typeof Replay.replay>[0],
  options: H.Options
) {
  const app = {
    agents: H.agentsOf(options),
    tools: [H.toolsOf(options.tools ?? {})],
    guards: [unasked]
  }
  const { divergence, gate } = yield* Replay.replay(run, { app })
  return [divergence, typeof gate === "string" ? gate : gate.divergence]
})
