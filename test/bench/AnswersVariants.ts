/**
 * The variants of the row of answers: runs are parked in one process, and answered in the next.
 */
import { randomUUID } from "node:crypto"
import { Effect, Layer, Schema } from "effect"
import { AgentName, AgentSpec, Principal, Tenant, tool } from "troupe"
import type { NodeService, Store } from "troupe/embed"
import { start } from "troupe/embed"
import { ModelGateway } from "troupe/services"
import type { Turn } from "../../src/run/RunDecider.ts"
import type { Event, Run } from "./BareAgent.ts"
import * as BareAgent from "./BareAgent.ts"
import * as BareLog from "./BareLog.ts"
import type { Sample } from "./Row.ts"
import { compileSchemas, sized } from "./Work.ts"

const runs_max = sized(20, 1_000)
/** Messages, and then answers, on their way at the same time. */
const at_once = 64

const Parameters = Schema.Struct({ id: Schema.Int })

const change = tool(
  {
    namespace: "bench",
    name: "change",
    description: "Changes one record.",
    side_effects: "write",
    input: Parameters,
    output: Schema.Boolean
  },
  () => true
)

const agent = AgentSpec.make({
  name: AgentName.make("reader"),
  instructions: "Change.",
  tools: ["change"]
})

const asks: Turn = {
  text: "",
  calls: [{ model_id: "call_0", name: "change", arguments: { id: 1 } }],
  finish: "tool_calls"
}
const answers: Turn = { text: "done", calls: [], finish: "stop" }

const boss = new Principal({ id: "boss", tenant: Tenant.make("default"), roles: ["approver"] })

/** The same work for each, so many at a time. */
const forEach = async <A>(
  all: ReadonlyArray<A>,
  work: (each: A, place: number) => Promise<unknown>
): Promise<void> => {
  let next = 0
  const worker = async () => {
    while (next < all.length) {
      const place = next++
      await work(all[place]!, place)
    }
  }
  await Promise.all(Array.from({ length: at_once }, worker))
}

export const startChanger = (store: Store): Promise<NodeService> =>
  start({
    agents: [agent],
    tools: [change],
    model: Layer.succeed(ModelGateway, {
      turn: ({ step }) => Effect.succeed(step === 1 ? asks : answers)
    }),
    store
  })

/** Sends so many messages; back when each of their runs waits for a person. */
export const askAll = (troupe: NodeService, runs: number): Promise<void> =>
  forEach(Array.from({ length: runs }), async () => {
    const { status } = await troupe.ask({ agent: agent.name, text: "change it" })
    if (status !== "awaiting_approval") throw new Error(`a run is ${status}`)
  })

/** Says when all runs wait, and waits to be killed. */
export const park = async (store: string): Promise<never> => {
  const troupe = await startChanger(JSON.parse(store) as Store)
  await askAll(troupe, runs_max)
  console.log("ready")
  return new Promise(() => setInterval(() => {}, 60_000))
}

/** Until the last run has ended, from the start, and from when the first question could be answered. */
const times = (began: number, ready: Ready): Sample => {
  const now = performance.now()
  const { system, user } = process.threadCpuUsage(ready.cpu)
  return { ms: now - ready.at, all_ms: now - began, cpu_ms: (user + system) / 1_000 }
}

interface Ready {
  readonly at: number
  readonly cpu: NodeJS.CpuUsage
}

const readyNow = (): Ready => ({ at: performance.now(), cpu: process.threadCpuUsage() })

/** Answers every question of so many runs; back when each has ended. */
export const answerAll = async (troupe: NodeService, runs: number): Promise<void> => {
  const ends: Array<Promise<void>> = []
  const end = async (run: string) => {
    const { status } = await troupe.result(run)
    if (status !== "complete") throw new Error(`a run is ${status}`)
  }
  while (ends.length < runs) {
    const questions = await troupe.pending(boss)
    await forEach(questions, async ({ id, run_id }) => {
      await troupe.decide(id, { _tag: "Approve" }, boss)
      ends.push(end(run_id))
    })
  }
  await Promise.all(ends)
  if (ends.length !== runs) throw new Error(`${ends.length} answers`)
}

export const answer = async (store: string): Promise<Sample> => {
  const began = performance.now()
  const troupe = await startChanger(JSON.parse(store) as Store)
  const ready = readyNow()
  await answerAll(troupe, runs_max)
  return times(began, ready)
}

const call = "0/1.0"
const digest = "a".repeat(64)

const asked = (approval: string): ReadonlyArray<Event> => [
  { _tag: "ModelTurned", frame: "0", step: 1, ...asks },
  {
    _tag: "ApprovalRequested",
    call,
    approval,
    digest,
    shown_digest: digest,
    proposal: digest,
    payload: {
      tool_name: "change",
      agent_name: "reader",
      args_summary: "id: 1",
      effect_description: "Changes one record.",
      correlation_id: approval
    },
    tool_key: "bench.change@1",
    tool_digest: digest,
    arguments: { id: 1 },
    policy_version: "1",
    approvers: []
  }
]

/** The same questions, in the tables of the lower bound. */
export const askAllBare = async (query: BareLog.Query, runs: number): Promise<void> => {
  await BareLog.prepare(query)
  const log = BareLog.make(query)
  await forEach(Array.from({ length: runs }), async () => {
    const run = BareAgent.begin("change it", BareAgent.conversation())
    const accepted = BareAgent.accept(run, "change it", log)
    await log.append(run, accepted)
    BareAgent.see(run, accepted)
    await log.append(run, asked(randomUUID()))
  })
}

export const parkBare = async (store: string): Promise<Sample> => {
  const { query } = await BareLog.connect(JSON.parse(store) as BareLog.Durable)
  await askAllBare(query, runs_max)
  return { runs: runs_max }
}

const read = `SELECT run_id::text, seq, at, payload, next FROM bare.run_pairs WHERE run_id = ANY ($1::uuid[]) ORDER BY run_id, seq`

/** Runs as their events say, by id. */
const folded = async (
  query: BareLog.Query,
  ids: ReadonlyArray<string>
): Promise<ReadonlyMap<string, Run>> => {
  const runs = new Map<string, Run>()
  const keep = (id: string, entry: BareAgent.Entry) => {
    const { event } = entry
    if (event._tag === "RunAccepted") {
      const conversation = {
        ...BareAgent.conversation(event.conversation),
        messages: [event.message]
      }
      runs.set(id, { id, conversation, ordinal: 1, epoch: 0, entries: [entry], wakeups: [] })
      return
    }
    const run = runs.get(id)!
    if (event._tag === "RunClaimed") run.epoch = event.epoch
    run.entries.push(entry)
  }
  for (const { at, next, payload, run_id, seq } of await query(read, [ids])) {
    const entryOf = (text: unknown, place: number) => ({
      seq: Number(seq) + place,
      at: Number(at),
      event: JSON.parse(String(text)) as Event
    })
    keep(String(run_id), entryOf(payload, 0))
    if (next !== null) keep(String(run_id), entryOf(next, 1))
  }
  return runs
}

/** Answers every question and handles its run to the end. Call it when schemas are compiled from here on. */
export const answerAllBare = async (query: BareLog.Query, runs: number): Promise<void> => {
  const decode = Schema.decodeUnknownSync(Parameters)
  const log = BareLog.make(query)
  const questions = await query(
    `SELECT id::text, run_id::text FROM bare.approvals WHERE status = 0`
  )
  let ended = 0
  const answerOne = async (run: Run, approval: string) => {
    const write = async (events: ReadonlyArray<Event>) => {
      await log.append(run, events)
      BareAgent.see(run, events)
    }
    const decision = { _tag: "Approve" } as const
    await write([
      { _tag: "ApprovalDecided", call, approval, decision, by: boss.id, digest },
      BareAgent.claim(run, log.owner)
    ])
    const started_at = Date.now()
    const { epoch } = run
    // Whoever finds it after a crash knows that it may have happened.
    await write([{ _tag: "CallDispatched", call, key: digest, epoch, on_loss: "unknown" }])
    const asked = run.entries[2]!.event
    if (asked._tag !== "ModelTurned") throw new Error("a run has no turn")
    decode(asked.calls[0]!.arguments)
    const outcome = { _tag: "Value", json: JSON.stringify(true) } as const
    // What was changed is known before the next turn, which may take a minute.
    await write([{ _tag: "CallSettled", call, outcome, started_at, ended_at: Date.now() }])
    await write([
      { _tag: "ModelTurned", frame: "0", step: 2, ...answers },
      { _tag: "RunEnded", status: "complete", reason: "complete", text: answers.text }
    ])
    ended++
  }
  for (let from = 0; from < questions.length; from += at_once) {
    const page = questions.slice(from, from + at_once)
    const runs = await folded(
      query,
      page.map(({ run_id }) => String(run_id))
    )
    await Promise.all(
      page.map(({ id, run_id }) => answerOne(runs.get(String(run_id))!, String(id)))
    )
  }
  if (ended !== runs) throw new Error(`${ended} answers`)
}

export const answerBare = async (store: string): Promise<Sample> => {
  await compileSchemas()
  const began = performance.now()
  const { query } = await BareLog.connect(JSON.parse(store) as BareLog.Durable)
  const ready = readyNow()
  await answerAllBare(query, runs_max)
  return times(began, ready)
}
