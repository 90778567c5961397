/**
 * The variants of the row of recovery: one process has runs at work until it is killed, the next one takes them up.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { Effect, Exit, Layer } from "effect"
import type { Store } from "troupe/embed"
import { start } from "troupe/embed"
import { ModelGateway } from "troupe/services"
import * as BareLog from "./BareLog.ts"
import { agent, lookup, sendAndWatch } from "./Reader.ts"
import type { Sample } from "./Row.ts"
import { turnAt } from "./Work.ts"

/** Messages on their way at the same time. */
const at_once = 64
const script = { steps: 1 }
const tick_ms = 5
/** What messages of before the kill say. */
const held = "held"

type Turn = ModelGateway["Service"]["turn"]

const started = (store: string, turn: Turn) =>
  start({
    agents: [agent],
    tools: [lookup],
    model: Layer.succeed(ModelGateway, { turn }),
    store: JSON.parse(store) as Store
  })

/** Sends the messages to a model that never answers, says when it was asked for each, and waits to be killed. */
export const hold = async (store: string, runs: string): Promise<never> => {
  const total = Number(runs)
  const { promise: all, resolve: allAsked } = Promise.withResolvers<void>()
  let asked = 0
  const troupe = await started(store, () => {
    if (++asked === total) allAsked()
    return Effect.never
  })
  let sent = 0
  const client = async () => {
    while (sent < total) {
      sent++
      await troupe.send({ agent: agent.name, text: held })
    }
  }
  await Promise.all(Array.from({ length: at_once }, client))
  await all
  console.log("ready")
  return new Promise(() => setInterval(() => {}, 60_000))
}

/** How late a timer was at most, and the most CPU time that this thread took before one was due, in ms, until it is stopped. */
const lateness = () => {
  const worst = { lag_ms: 0, busy_ms: 0 }
  let at = performance.now()
  let used = process.threadCpuUsage()
  const timer = setInterval(() => {
    const { system, user } = process.threadCpuUsage(used)
    const now = performance.now()
    worst.lag_ms = Math.max(worst.lag_ms, now - at - tick_ms)
    worst.busy_ms = Math.max(worst.busy_ms, (user + system) / 1_000)
    at = now
    used = process.threadCpuUsage()
  }, tick_ms)
  return () => {
    clearInterval(timer)
    return worst
  }
}

/** Until all runs of before have ended. Meanwhile somebody sends one message after the other. */
export const recover = async (store: string, runs: string): Promise<Sample> => {
  const { query } = await BareLog.connect(JSON.parse(store) as BareLog.Durable)
  const open = async () => {
    const [row] = await query(
      `SELECT count(*)::int4 AS n FROM (SELECT FROM troupe.runs WHERE status NOT BETWEEN 3 AND 5 LIMIT 20) r`
    )
    return Number(row!["n"])
  }
  let answered = 0
  let first_at = 0
  const began = performance.now()
  const troupe = await started(store, ({ step, transcript: [message] }) => {
    if (message?.role === "user" && message.text === held) {
      if (first_at === 0) first_at = performance.now()
      if (step === 2) answered++
    }
    return Exit.succeed(turnAt(step, script.steps))
  })
  const ready = performance.now()
  const late = lateness()
  const over = new AbortController()
  const waits: Array<number> = []
  const others = (async () => {
    while (!over.signal.aborted) {
      const sent_at = performance.now()
      await sendAndWatch(troupe, script)
      waits.push(performance.now() - sent_at)
      await sleep(20)
    }
  })()
  while (answered < Number(runs)) await sleep(5)
  // One of the others may be on its way.
  while ((await open()) > 1) await sleep(5)
  const last_ms = performance.now() - ready
  const worst = late()
  over.abort()
  await others
  return {
    first_ms: first_at - ready,
    last_ms,
    ...worst,
    other_ms: Math.max(...waits),
    others: waits.length,
    start_ms: ready - began
  }
}
