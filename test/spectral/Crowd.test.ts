/**
 * Agents of three kinds at once, under random traffic with defects in the bodies of their tools, beside one that crashes on every
 * message. What each run gives is what its message alone says.
 */
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Result, Scope } from "effect"
import * as OperationsTools from "../../layers/spectral/agents/OperationsTools.ts"
import * as WorldTools from "../../layers/spectral/worlds/WorldTools.ts"
import * as Runtime from "../../layers/compose/assembly/Runtime.ts"
import * as Stores from "../../layers/compose/assembly/StoreLayers.ts"
import * as StoredWorlds from "../../layers/stores/spectral/worlds/StoredWorlds.ts"
import * as ScriptedModelGateway from "../../layers/model/tape/ScriptedModelGateway.ts"
import { call, calls, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import type { Script } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as RuntimeConfig from "../../layers/runtime/actor/RuntimeConfig.ts"
import { AgentMemories, AgentMemory } from "../../services/AgentMemory.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import type { Append } from "../../services/RunJournal.ts"
import { RunJournal } from "../../services/RunJournal.ts"
import { TaskStore } from "../../services/TaskStore.ts"
import { spectralKinds } from "../../src/spectral/agents/SpectralKinds.ts"
import { AgentSpec, Supervision } from "../../src/agent/AgentSpec.ts"
import { operations } from "../../src/spectral/agents/Operations.ts"
import { spectralAgents } from "../../src/spectral/agents/SpectralAgents.ts"
import { ToolUserError } from "../../src/error/ToolError.ts"
import type { Outcome } from "../../src/run/RunEvent.ts"
import { AgentName, ConversationId, Tenant } from "../../src/value/Ids.ts"
import type { RunId } from "../../src/value/Ids.ts"
import { MemorySpec } from "../../src/memory/MemoryAnchors.ts"
import { originOfCall } from "../../src/memory/MemoryRow.ts"
import { Principal } from "../../src/principal/Principal.ts"
import { worldAgents } from "../../src/spectral/worlds/WorldAgent.ts"
import * as H from "../runtime/Harness.ts"
import { credit } from "../worlds/Worlds.ts"
import { ask, tools } from "./Workspace.ts"

const seed = 20_261_123
const agents_count = 1_000
const messages_max = 4

/** Mulberry32. */
const randomFrom = (from: number) => {
  let state = from
  return (below: number): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

const tenants = ["acme", "beta", "gamma"].map((name) => Tenant.make(name))
const crasher = AgentName.make("crasher")

/** One address, with the text that only it ever remembers. */
interface One {
  readonly agent: AgentName
  readonly conversation: ConversationId
  readonly tenant: Tenant
  readonly canary: string
}

const kinds = ["spectral", "world-credit", "operations"].map((name) => AgentName.make(name))

/** Kinds and tenants in turn. An address of a world and one of an operator's task name both, as their memory does. */
const all: ReadonlyArray<One> = Array.from({ length: agents_count }, (_, i) => {
  const agent = kinds[i % kinds.length]!
  const key =
    agent === "spectral" ? `c-${i}` : agent === "operations" ? `olga:t-${i}` : `credit:s-${i}`
  return {
    agent,
    conversation: ConversationId.make(key),
    tenant: tenants[Math.floor(i / kinds.length) % tenants.length]!,
    canary: `canary ${i} of ${agent}`
  }
})

const olga = (tenant: Tenant) => new Principal({ id: "olga", tenant, roles: ["operator"] })

/** How a body ends, by the number that it is given. */
const ends = ["works", "waits", "fails", "dies", "throws"] as const
const endOf = (n: number): (typeof ends)[number] => ends[n % ends.length]!

/** What such a call gives to the model that made it. */
const expectedOf = (n: number): string => {
  switch (endOf(n)) {
    case "works":
    case "waits":
      return `${n * 2}`
    case "fails":
      return "ToolUserError"
    case "dies":
    case "throws":
      return "ToolTerminalError"
  }
}

/** Bodies and model turns that are under way. */
const active = { count: 0 }
const counted = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.acquireUseRelease(
    Effect.sync(() => void active.count++),
    () => effect,
    () => Effect.sync(() => void active.count--)
  )

const canaries = new Map(all.map((one) => [`${one.tenant} ${one.conversation}`, one.canary]))

/** Remembers the canary of its address, and ends as its number says. */
const work = H.reads((n, context) =>
  counted(
    Effect.gen(function* () {
      const canary = canaries.get(`${context.tenant} ${context.conversation}`) ?? "nobody's"
      yield* AgentMemory.use((memory) =>
        Effect.orDie(memory.remember({ text: canary, tier: "session" }, originOfCall(context)))
      )
      switch (endOf(n)) {
        case "works":
          return n * 2
        case "waits":
          return yield* Effect.as(Effect.sleep(n % 7), n * 2)
        case "fails":
          return yield* new ToolUserError({ kind: "not_found", message: `no ${n}` })
        case "dies":
          return yield* Effect.die(new Error(`a defect at ${n}`))
        case "throws":
          throw new Error(`thrown at ${n}`)
      }
    })
  )
)

const said = (outcome: Outcome): string =>
  outcome._tag === "Value"
    ? outcome.json.replaceAll('"', "")
    : outcome._tag === "Failed"
      ? outcome.error.class
      : outcome._tag

/** The message is the numbers of its two calls; the answer is what they gave. */
const script: Script = ({ agent, transcript }) => {
  const first = transcript[0]
  const [a = 0, b = 0] = first?.role === "user" ? first.text.split(" ").map(Number) : []
  const results = transcript.flatMap((entry) =>
    entry.role === "tool" ? [said(entry.outcome)] : []
  )
  if (results.length > 0) return counted(Effect.succeed(text(results.join(" "))))
  switch (agent) {
    case "spectral":
      return calls([ask("scan-analyst", `${a}`), ask("troubleshooter", `${b}`)])
    case "scan-analyst":
      return call("get_scan_scores", { n: a })
    case "troubleshooter":
      return call("diagnose_scan_failure", { n: a })
    default:
      return calls([call("work", { n: a }), call("work", { n: b })])
  }
}

/** Every append of a run that this agent's model was asked for is a defect of its actor. */
const broken = new Set<RunId>()
const breaking = (journal: RunJournal["Service"]): RunJournal["Service"] => ({
  ...journal,
  append: (append: Append) =>
    Effect.suspend(() =>
      broken.has(append.run) ? Effect.die("the journal broke") : journal.append(append)
    )
})

const crashing: Script = (request) => {
  if (request.agent !== crasher) return script(request)
  broken.add(request.run)
  return text("never")
}

const [world] = Result.getOrThrow(worldAgents([credit.world]))
/** With a tool that remembers, in memory of the kind's own scope. */
const withWork = (spec: AgentSpec): AgentSpec => ({
  ...spec,
  tools: [...spec.tools, "work"],
  memory: MemorySpec.make({ anchor: spec.kind!.scope! })
})

const service = Runtime.layer({
  agents: [
    ...Result.getOrThrow(spectralAgents()),
    withWork(world!),
    withWork(operations),
    AgentSpec.make({
      name: crasher,
      instructions: "Crash.",
      supervision: Supervision.make({ restarts_max: 2, backoff_initial_ms: 1, backoff_max_ms: 2 })
    })
  ],
  tools: [
    H.toolsOf({ ...tools([], { get_scan_scores: work, diagnose_scan_failure: work }), work }),
    OperationsTools.tools,
    WorldTools.tools(credit.world.world_id)
  ]
}).pipe(
  Layer.provideMerge(ScriptedModelGateway.layer(crashing, { requests_max: 1 })),
  Layer.provide(
    Layer.succeed(RuntimeConfig.RuntimeConfig, { ...RuntimeConfig.defaults, sweep_ms: 1_000 })
  ),
  Layer.provide(Layer.effect(RunJournal, Effect.map(RunJournal, breaking))),
  Layer.provideMerge(StoredWorlds.layer)
)

interface Sent {
  readonly one: One
  readonly numbers: readonly [number, number]
}

/** Each address gets a few messages, in one order of all that the seed decides. */
const traffic = (): ReadonlyArray<Sent> => {
  const random = randomFrom(seed)
  const sent: Array<Sent> = []
  for (const one of all) {
    for (let i = 0; i <= random(messages_max); i++) {
      // Two calls of one turn are never the same.
      const a = random(500)
      sent.push({ one, numbers: [a, a + 1 + random(500)] })
    }
  }
  for (let i = sent.length - 1; i > 0; i--) {
    const j = random(i + 1)
    ;[sent[i], sent[j]] = [sent[j]!, sent[i]!]
  }
  return sent
}

const send = (agent: AgentName, conversation: ConversationId, tenant: Tenant, message: string) =>
  Effect.map(
    AgentRuntime.use((runtime) =>
      runtime.send({ agent, conversation, text: message }, olga(tenant))
    ),
    ({ task }) => task.id
  )

/** How a run ended, as its task says; asked again until it has. */
const taskOf = (run: RunId) =>
  Effect.repeat(
    Effect.map(
      TaskStore.use((tasks) => tasks.get(run)),
      (task) => task!
    ),
    {
      until: ({ status }) => Effect.as(Effect.sleep(5), ["complete", "failed"].includes(status))
    }
  )

const answerOf = Effect.fnUntraced(function* (run: RunId) {
  yield* taskOf(run)
  return H.end(yield* H.events(run))
})

const remembered = Effect.fnUntraced(function* ({ agent, conversation, tenant }: One) {
  const kind = agent === "spectral" ? "spectral" : agent === "operations" ? "operations" : "world"
  const memories = yield* AgentMemories
  const memory = yield* memories.get(
    tenant,
    { agent, key: conversation },
    spectralKinds[kind].scope
  )
  const rows = yield* Effect.provideContext(
    AgentMemory.use((each) => each.list("session", { limit: 500 })),
    memory
  )
  return rows.map((row) => row.text)
}, Effect.scoped)

/** Timers of the process that are not this test's. */
const timers = (): number =>
  process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length

const assertTraffic = Effect.gen(function* () {
  const sent = traffic()
  const crashes = yield* Effect.forEach(
    [1, 2, 3],
    (i) => send(crasher, ConversationId.make("crash"), tenants[0]!, `${i}`),
    { concurrency: "unbounded" }
  )
  const runs = yield* Effect.forEach(
    sent,
    ({ numbers, one }) => send(one.agent, one.conversation, one.tenant, numbers.join(" ")),
    { concurrency: 64 }
  )
  const answers = yield* Effect.forEach(runs, answerOf, { concurrency: 64 })
  for (const [i, end] of answers.entries()) {
    const { numbers, one } = sent[i]!
    assert.deepInclude(
      end,
      { status: "complete", text: numbers.map(expectedOf).join(" ") },
      `seed ${seed}: ${one.agent}/${one.conversation} ${numbers.join(" ")}`
    )
  }
  for (const run of crashes) {
    assert.deepInclude(yield* taskOf(run), {
      status: "failed",
      reason: "restart_intensity_exceeded"
    })
  }
  const memories = yield* Effect.forEach(all, remembered, { concurrency: 16 })
  for (const [i, texts] of memories.entries()) {
    assert.deepStrictEqual(texts, [all[i]!.canary], `seed ${seed}`)
  }
})

describe("many agents of three kinds at once", () => {
  it.live(
    `SA-02 SA-51 ${agents_count} give what each would give alone, share no memory and outlive one that crashes`,
    () =>
      Effect.gen(function* () {
        const before = timers()
        const scope = yield* Scope.make()
        yield* Effect.addFinalizer(() => Scope.close(scope, Exit.void))
        const context: Context.Context<
          Layer.Success<typeof service> | Layer.Success<typeof Stores.ephemeral>
        > = yield* Layer.buildWithMemoMap(
          service.pipe(Layer.provideMerge(Stores.ephemeral)),
          Layer.makeMemoMapUnsafe(),
          scope
        )
        yield* Effect.provideContext(assertTraffic, context)
        yield* Scope.close(scope, Exit.void)
        assert.strictEqual(active.count, 0)
        assert.isAtMost(timers(), before)
      }).pipe(Effect.scoped),
    300_000
  )
})
