/**
 * A message through `send`, its run watched to the end, in a process that keeps everything in memory: by step in short
 * and in long runs, by call where one turn makes many, and a thousand runs at once.
 */
import { bounds } from "./Bounds.ts"
import type { Bound } from "./Bounds.ts"
import type { Line, Row } from "./Row.ts"
import { inTurn, ratio } from "./Row.ts"
import { sized, slices } from "./Work.ts"

const against = "the same agent in plain JavaScript, watched by the same loop"

const step = "CPU us a step"

const at = async (
  rounds: number,
  row: string,
  unit: string,
  args: readonly [steps: string, calls: string],
  bound: Bound
): Promise<Line> => {
  const samples = await inTurn(rounds, slices, {
    bare: { row: "send", variant: "bare", args },
    sent: { row: "send", variant: "sent", args }
  })
  return ratio({ row, unit, against, bound }, samples.sent, samples.bare, "cpu_us")
}

/** With a memory of its run, its conversation and its workspace: beside the same agent with one, and the same without. */
const remembering = async (rounds: number): Promise<ReadonlyArray<Line>> => {
  const samples = await inTurn(rounds, slices, {
    bare: { row: "send", variant: "bare", args: ["10", "1"] },
    bareRemembered: { row: "remembering", variant: "bare", args: ["10"] },
    remembered: { row: "remembering", variant: "remembered", args: ["10"] }
  })
  const row = "send, run of 10 steps, three tiers of memory"
  return [
    ratio(
      {
        row,
        unit: step,
        against: `${against}, with such a memory`,
        bound: bounds.remembering
      },
      samples.remembered,
      samples.bareRemembered,
      "cpu_us"
    ),
    ratio(
      {
        row: `${row}, against none`,
        unit: step,
        against: `${against}, which remembers nothing`,
        bound: bounds.remembered
      },
      samples.remembered,
      samples.bare,
      "cpu_us"
    )
  ]
}

/** A run of one step, which is a message with one call, its result and an answer. */
const governed = async (rounds: number): Promise<Line> => {
  const samples = await inTurn(rounds, slices, {
    sent: { row: "send", variant: "sent", args: ["1", "1"] },
    governed: { row: "send", variant: "governed" }
  })
  return ratio(
    {
      row: "send, run of 1 step, a guard and a budget",
      unit: "CPU us a message",
      against: "the same message without",
      bound: bounds.governed
    },
    samples.governed,
    samples.sent,
    "cpu_us"
  )
}

const crowd = async (rounds: number): Promise<Line> => {
  const samples = await inTurn(rounds, sized(1, 5), {
    bareCrowd: { row: "send", variant: "bareCrowd" },
    sentCrowd: { row: "send", variant: "sentCrowd" }
  })
  return ratio(
    {
      row: "send, 1,000 runs of 10 steps at once, 5 ms model",
      unit: "ms",
      against,
      bound: bounds.sendCrowd
    },
    samples.sentCrowd,
    samples.bareCrowd,
    "wall_ms"
  )
}

export const row: Row = {
  name: "send",
  lines: async ({ rounds = 5 }) => [
    await at(rounds, "send, run of 10 steps", step, ["10", "1"], bounds.send),
    await at(Math.min(rounds, 3), "send, run of 1 step", step, ["1", "1"], bounds.sendShort),
    await at(Math.min(rounds, 3), "send, run of 100 steps", step, ["100", "1"], bounds.sendLong),
    await at(rounds, "send, one turn of 100 calls", "CPU us a call", ["1", "100"], bounds.sendFan),
    await governed(rounds),
    ...(await remembering(rounds)),
    await crowd(rounds)
  ]
}
