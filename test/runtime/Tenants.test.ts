import { assert, layer } from "@effect/vitest"
import type { Vitest } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Stream } from "effect"
import type { FeedItem } from "../../src/run/FeedItem.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { ApprovalDesk } from "../../services/ApprovalDesk.ts"
import type { ModelRequest } from "../../services/ModelGateway.ts"
import { AgentMemory } from "../../services/AgentMemory.ts"
import * as EphemeralStore from "../../layers/ephemeral/EphemeralStore.ts"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { engines } from "../sql/Engines.ts"
import * as SqlStores from "../../layers/sql/stores/SqlStores.ts"
import { originOfCall } from "../../src/memory/MemoryRow.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { AgentName, ConversationId, Tenant } from "../../src/value/Ids.ts"
import type { Principal } from "../../src/principal/Principal.ts"
import type { Stores } from "../../services/Stores.ts"
import * as Samples from "../contracts/Samples.ts"
import * as H from "./Harness.ts"

const person = (tenant: string) => H.person("ada", ["admin"], Tenant.make(Samples.unique(tenant)))

/** What the users of a conversation said, in their order. */
const heard = ({ history, transcript }: ModelRequest) =>
  [...history, ...transcript].flatMap((entry) => (entry.role === "user" ? [entry.text] : []))

const isEnd = (item: FeedItem) => item._tag === "Event" && item.entry.event._tag === "RunEnded"

/** Everything that a principal is shown of a conversation until so many runs of it have ended. */
const shown = (conversation: ConversationId, by: Principal, runs: number) => {
  let ends = 0
  return AgentRuntime.use((runtime) =>
    runtime.watch(conversation, { ordinal: 0, seq: -1 }, by).pipe(
      Stream.takeUntil((item) => isEnd(item) && ++ends === runs),
      Stream.runCollect
    )
  )
}

const send = (conversation: ConversationId, words: string, by: Principal, agent = H.agentName) =>
  Effect.map(
    AgentRuntime.use((runtime) =>
      runtime.send({ agent, conversation, text: words, idempotency_key: "one" }, by)
    ),
    ({ created, task }) => {
      assert.isTrue(created)
      return task.id
    }
  )

const pendingOf = (by: Principal) => ApprovalDesk.use((desk) => desk.pending(by, 500))

const other = AgentName.make("other")

/** Two people of two tenants under one conversation id, whose model proposes a sale where it is asked for one. */
const twoTenants = () => {
  const sold: Array<string> = []
  const seen: Array<ReadonlyArray<string>> = []
  const options: H.Options = {
    tools: {
      sell: H.asks((n, { tenant }) => Effect.sync(() => sold.push(`${tenant} ${n}`)))
    },
    agents: [AgentSpec.make({ name: other, instructions: "Help.", tools: ["test.sell@1"] })],
    script: (request) => {
      const said = heard(request)
      seen.push(said)
      const last = request.transcript.at(-1)!
      return last.role === "user" && last.text.startsWith("sell")
        ? call("sell", { n: said.length })
        : text(`answer to ${said.at(-1)}`)
    }
  }
  const conversation = ConversationId.make(Samples.unique("c"))
  return { a: person("a"), b: person("b"), conversation, options, seen, sold }
}

type TwoTenants = ReturnType<typeof twoTenants>

/** Both send under the same idempotency key and wait for their approvals; the runs. */
const sentApart = Effect.fnUntraced(function* (
  process: H.Process,
  { a, b, conversation }: TwoTenants
) {
  const runs = yield* process.run(
    Effect.all(
      [
        send(conversation, `sell for ${a.tenant}`, a),
        send(conversation, `sell for ${b.tenant}`, b, other)
      ],
      { concurrency: "unbounded" }
    )
  )
  yield* process.run(
    Effect.all([
      H.until((event) => event._tag === "ApprovalRequested", conversation, a),
      H.until((event) => event._tag === "ApprovalRequested", conversation, b)
    ])
  )
  const listed = (by: Principal) =>
    Effect.map(
      AgentRuntime.use((runtime) => runtime.actors(100, by.tenant)),
      (actors) => actors.map(({ address, run, tenant }) => [tenant, address.agent, run])
    )
  assert.deepStrictEqual(yield* process.run(listed(a)), [[a.tenant, H.agentName, runs[0]]])
  assert.deepStrictEqual(yield* process.run(listed(b)), [[b.tenant, other, runs[1]]])
  return runs
})

/** Each decides its own approval; a decision of the other's is refused and changes nothing. */
const decidedApart = Effect.fnUntraced(function* (
  process: H.Process,
  { a, b, conversation, sold }: TwoTenants,
  [runA, runB]: Effect.Success<ReturnType<typeof sentApart>>
) {
  const [ofA, ofB] = [yield* process.run(pendingOf(a)), yield* process.run(pendingOf(b))]
  assert.deepStrictEqual(
    [ofA, ofB].map((all) => all.map(({ run_id }) => run_id as string)),
    [[runA], [runB]]
  )
  const theirs = yield* Effect.exit(process.run(H.decide(ofA[0]!.id, H.approve, b)))
  assert.strictEqual(theirs._tag, "Failure")
  yield* process.run(H.decide(ofA[0]!.id, H.approve, a))
  yield* process.run(H.ended(runA, conversation, a))
  // B's approval still waits.
  assert.strictEqual((yield* process.run(pendingOf(b))).length, 1)
  assert.deepStrictEqual(sold, [`${a.tenant} 1`])
  yield* process.run(H.decide(ofB[0]!.id, H.deny, b))
  yield* process.run(H.ended(runB, conversation, b))
  assert.deepStrictEqual(sold, [`${a.tenant} 1`])
})

/** A second message of each: its feed and its prompt have its own history only. */
const continuedApart = Effect.fnUntraced(function* (
  process: H.Process,
  { a, b, conversation, seen }: TwoTenants
) {
  const again = (by: Principal, agent?: AgentName) =>
    AgentRuntime.use((runtime) =>
      runtime.send({ agent: agent ?? H.agentName, conversation, text: "and then?" }, by)
    )
  yield* process.run(again(a))
  yield* process.run(again(b, other))
  const feeds = yield* process.run(
    Effect.all([shown(conversation, a, 2), shown(conversation, b, 2)])
  )
  for (const [i, by] of [a, b].entries()) {
    const own = `sell for ${by.tenant}`
    const accepted = feeds[i]!.flatMap((item) =>
      item._tag === "Event" && item.entry.event._tag === "RunAccepted"
        ? [[item.entry.event.tenant, item.entry.event.message, item.ordinal]]
        : []
    )
    assert.deepStrictEqual(accepted, [
      [by.tenant, own, 1],
      [by.tenant, "and then?", 2]
    ])
    assert.deepInclude(seen, [own, "and then?"])
  }
  for (const words of seen) {
    const tenants = [a, b].filter(({ tenant }) => words.some((said) => said.includes(tenant)))
    assert.strictEqual(tenants.length, 1)
  }
})

const tests = (it: Vitest.MethodsNonLive<Stores | EphemeralStore.EphemeralStore>) => {
  it.effect(
    "two tenants in one conversation id are sent, watched, decided and restarted apart",
    () =>
      Effect.gen(function* () {
        const both = twoTenants()
        const first = yield* H.boot(both.options)
        const runs = yield* sentApart(first, both)
        yield* first.stop
        const second = yield* H.boot(both.options)
        yield* decidedApart(second, both, runs)
        yield* second.stop
        // This process has seen nothing of either conversation.
        const third = yield* H.boot(both.options)
        yield* continuedApart(third, both)
        yield* third.stop
      }).pipe(Effect.scoped)
  )

  it.effect("a watcher is shown no event, piece or output of another tenant's turn", () => {
    const conversation = ConversationId.make(Samples.unique("c"))
    const [a, b] = [person("a"), person("b")]
    const midway = Deferred.makeUnsafe<void>()
    const go = Deferred.makeUnsafe<void>()
    const options: H.Options = {
      tools: {
        look: H.reads(() => Effect.andThen(Deferred.succeed(midway, undefined), Deferred.await(go)))
      },
      script: ({ transcript }) =>
        transcript.length === 1
          ? call("look", { n: 1 }, { text: "a secret" })
          : text("a long secret of theirs"),
      model: { piece_units: 4, piece_delay_ms: 1 }
    }
    return Effect.gen(function* () {
      const process = yield* H.boot(options)
      yield* process.run(
        Effect.gen(function* () {
          const runtime = yield* AgentRuntime
          const spied: Array<FeedItem> = []
          const spying = yield* Effect.forkChild(
            Stream.runForEach(runtime.watch(conversation, { ordinal: 0, seq: -1 }, b), (item) =>
              Effect.sync(() => spied.push(item))
            ),
            { startImmediately: true }
          )
          const run = yield* send(conversation, "look", a)
          yield* Deferred.await(midway)
          yield* Deferred.succeed(go, undefined)
          yield* H.ended(run, conversation, a)
          const own = yield* shown(conversation, a, 1)
          assert.isAbove(own.length, 4)
          // Its own message comes through the same watch, and nothing before it.
          yield* send(conversation, "mine", b)
          yield* shown(conversation, b, 1)
          yield* Fiber.interrupt(spying)
          assert.isAbove(spied.length, 0)
          for (const item of spied) assert.isFalse("run" in item && item.run === run)
        })
      )
      yield* process.stop
    }).pipe(Effect.scoped)
  })

  it.effect("actors of one address at two tenants have memories of their own", () => {
    const conversation = ConversationId.make(Samples.unique("c"))
    const [a, b] = [person("a"), person("b")]
    const recalled: Array<ReadonlyArray<string>> = []
    const options: H.Options = {
      tools: {
        note: H.reads((_, call) =>
          Effect.gen(function* () {
            const memory = yield* AgentMemory
            const note = { text: call.tenant, tier: "session" } as const
            yield* Effect.orDie(memory.remember(note, originOfCall(call)))
            const all = yield* Effect.orDie(memory.list("session", { limit: 10 }))
            recalled.push(all.map((each) => each.text))
          })
        )
      },
      script: ({ transcript }) => (transcript.length === 1 ? call("note", { n: 1 }) : text("noted"))
    }
    return Effect.gen(function* () {
      const process = yield* H.boot(options)
      for (const by of [a, b]) {
        const run = yield* process.run(send(conversation, "note", by))
        yield* process.run(H.ended(run, conversation, by))
      }
      assert.deepStrictEqual(recalled, [[a.tenant], [b.tenant]])
      yield* process.stop
    }).pipe(Effect.scoped)
  })
}

for (const [name, stores] of [
  ["ephemeral", Layer.fresh(EphemeralStores.layer)],
  ...engines.map(([engine, client]) => [engine, Layer.provide(SqlStores.layer, client)] as const)
] as const) {
  layer(Layer.merge(stores, EphemeralStore.layer), {
    excludeTestServices: true,
    timeout: "2 minutes"
  })(`two tenants (${name})`, tests)
}
