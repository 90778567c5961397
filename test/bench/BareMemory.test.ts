/**
 * The lower bound of the line with three tiers of memory does what the runtime's memory does, no less and no more: the same
 * outcomes of notes, the same lines for the same run. What the one caches and the other does not would show here as stale.
 */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"
import { startVirtual } from "troupe/testing"
import * as BareAgent from "./BareAgent.ts"
import type { Line } from "./BareMemory.ts"
import { BareMemory } from "./BareMemory.ts"
import * as BareReader from "./BareReader.ts"
import { model } from "./Reader.ts"
import { agent, bareBody, lookup, messageOf, recall_tokens_max, rule } from "./Remembering.ts"
import * as EphemeralMemoryStore from "../../layers/ephemeral/EphemeralMemoryStore.ts"
import * as GatewayAgentMemory from "../../layers/memory/GatewayAgentMemory.ts"
import { AgentMemory } from "../../services/AgentMemory.ts"
import { MemoryStore } from "../../services/MemoryStore.ts"
import { AgentName, CallId, ConversationId, RunId, Tenant } from "../../src/value/Ids.ts"
import { CanonicalText } from "../../src/memory/CanonicalText.ts"
import type { MemoryAuthor, MemoryTier } from "../../src/memory/MemoryRow.ts"
import type { RecalledLine } from "../../src/memory/RecalledLines.ts"
import { Principal } from "../../src/principal/Principal.ts"
import { canonicals, edited, numbers, textOf } from "../memory/Corpus.ts"

interface Told {
  readonly lines: ReadonlyArray<RecalledLine | Line>
  readonly tokens: number
}

const script = { steps: 3 }
const messages = 6

const ours = async () => {
  const troupe = await startVirtual({ agents: [agent], tools: [lookup()], model: model(script) })
  const tenant = Tenant.make("default")
  await troupe.registerText(rule, new Principal({ id: "olga", tenant, roles: ["operator"] }))
  const runs: Array<string> = []
  const told: Array<Told> = []
  for (let n = 0; n < messages; n++) {
    const { run } = await troupe.send({
      agent: agent.name,
      conversation: "c",
      text: messageOf(n)
    })
    runs.push(run)
    for await (const item of troupe.watch(run)) {
      if (item._tag === "Event" && item.entry.event._tag === "MemoryRecalled") {
        const { lines, tokens } = item.entry.event
        told.push({ lines, tokens })
      }
    }
    await troupe.advance("1 hour")
  }
  await troupe.stop()
  return { told, runs }
}

/** `runs`: the ids of the runtime's, which lines have and tokens are counted of. */
const theirs = async (runs: ReadonlyArray<string>): Promise<ReadonlyArray<Told>> => {
  let now = 0
  const memory = new BareMemory({ now: () => now, tokens_max: recall_tokens_max })
  memory.register(rule.name, rule.text)
  const next = runs.values()
  const send = BareAgent.make({
    model: BareReader.model(script),
    body: bareBody(memory),
    memory,
    newId: () => next.next().value ?? ""
  })
  const told: Array<Told> = []
  const conversation = BareAgent.conversation("c")
  for (let n = 0; n < messages; n++) {
    const run = await send(messageOf(n), conversation)
    for await (const { event } of BareAgent.watch(run)) {
      if (event._tag === "MemoryRecalled") told.push({ lines: event.lines, tokens: event.tokens })
    }
    now += 3_600_000
  }
  return told
}

const pick = <A>(random: () => number, from: ReadonlyArray<A>): A =>
  from[Math.floor(random() * from.length)]!

const tiers: ReadonlyArray<MemoryTier> = ["interaction", "session", "persistent"]
const authors: ReadonlyArray<MemoryAuthor> = ["model", "tool", "human", "event"]

/** The same notes, recalls and ends of runs on both sides. */
const compare = Effect.fnUntraced(function* (seed: number) {
  const random = numbers(seed)
  const store = yield* MemoryStore
  const tenant = Tenant.make("acme")
  const address = { agent: AgentName.make("shop"), key: ConversationId.make("c") }
  const memory = yield* Effect.provide(
    AgentMemory,
    GatewayAgentMemory.layer(tenant, address, "workspace")
  )
  let now = yield* Clock.currentTimeMillis
  const bare = new BareMemory({ now: () => now, tokens_max: 2_000 })
  const [first = "", second = ""] = canonicals
  for (const text of [first, second]) {
    bare.register(text.slice(0, 10), text)
    const place = "workspace/acme"
    yield* store.register(CanonicalText.make({ tenant, place, name: text.slice(0, 10), text }))
  }
  const texts: Array<string> = [first, second]
  const outcomes = new Set<string>()
  let lines = 0
  for (let n = 0; n < 12; n++) {
    const run = RunId.make(`00000000-0000-7000-8000-${n.toString().padStart(12, "0")}`)
    const call = CallId.make("0/1.0")
    for (let note = 0; note < 25; note++) {
      const text = random() < 0.6 ? textOf(random, 12) : edited(random, pick(random, texts))
      const tier = pick(random, tiers)
      const author = pick(random, authors)
      const origin = { source: "tool_call", author, run, step: 1, call } as const
      texts.push(text)
      const outcome = yield* memory.remember({ text, tier }, origin).pipe(
        Effect.map(({ isNew }) => (isNew ? "noted" : "known")),
        Effect.catchTag("MemoryRefused", ({ reason }) => Effect.succeed(reason))
      )
      outcomes.add(outcome)
      assert.strictEqual(bare.note(text, tier, origin), outcome, `${seed}: ${text}`)
      yield* TestClock.adjust(Math.floor(random() * 3) * 86_400_000)
      now = yield* Clock.currentTimeMillis
    }
    for (let query = 0; query < 4; query++) {
      const text = random() < 0.5 ? textOf(random, 20) : pick(random, texts)
      const recalled = yield* memory.recall({ text, tokens_max: 2_000, run })
      lines += recalled.lines.length
      assert.deepStrictEqual<Told>(bare.recall(text, run), recalled, `${seed}: ${text}`)
    }
    yield* memory.endRun(run)
    bare.endRun(run)
  }
  return { outcomes, lines }
})

describe("the lower bound of the line with three tiers of memory", () => {
  it("is told the same lines in the same order as the agent whose step is measured", async () => {
    const here = await ours()
    const told = await theirs(here.runs)
    assert.deepStrictEqual(here.told, told)
    assert.deepStrictEqual(
      here.told.map(({ lines }) => lines.length > 0),
      [false, true, true, true, true, true]
    )
  })

  for (const seed of [1, 2, 3, 4]) {
    it.effect(`refuses, counts, orders and passes on alike (seed ${seed})`, () =>
      Effect.gen(function* () {
        const { lines, outcomes } = yield* compare(seed)
        assert.isAbove(lines, 200)
        assert.sameMembers(
          [...outcomes].filter((outcome) => outcome !== "invalid"),
          ["noted", "known", "from_memory", "canonical"]
        )
      }).pipe(Effect.provide(EphemeralMemoryStore.layer))
    )
  }
})
