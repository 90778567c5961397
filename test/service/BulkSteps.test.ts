/** One step of a bulk, where somebody is faster, the store fails, or time is over. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as Runtime from "../../layers/compose/assembly/Runtime.ts"
import * as Stores from "../../layers/compose/assembly/StoreLayers.ts"
import * as ScriptedModelGateway from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as Bulks from "../../layers/service/BulkEffects.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { Outbox } from "../../services/Outbox.ts"
import { OutboxReader } from "../../services/OutboxReader.ts"
import { OutboxReplayer } from "../../services/OutboxReplayer.ts"
import { RunList } from "../../services/RunList.ts"
import { StoreError } from "../../services/StoreError.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import type { MessageId } from "../../src/value/Ids.ts"
import { AgentName, Tenant } from "../../src/value/Ids.ts"
import { Principal } from "../../src/principal/Principal.ts"
import * as Samples from "../contracts/Samples.ts"

const tenant = Tenant.make("acme")
const olga = new Principal({ id: "olga", tenant, roles: ["operator"] })
const idle = AgentSpec.make({ name: AgentName.make("idle"), instructions: "Wait." })

const service = Runtime.layer({ agents: [idle], tools: [] }).pipe(
  Layer.provide(ScriptedModelGateway.layer([])),
  Layer.provideMerge(Stores.ephemeral),
  Layer.orDie
)

const until = 8_640_000_000_000_000
const reason = "enough"

/** The ids of so many letters that wait, the newest first. */
const letters = Effect.fnUntraced(function* (count: number) {
  const outbox = yield* Outbox
  for (let n = 0; n < count; n++) {
    const letter = Samples.outboxMessage({ tenant })
    yield* outbox.enqueue([letter])
    yield* outbox.claim({ owner: "t", topics: [letter.topic], limit: 1, lease_ms: 60_000 })
    yield* outbox.failed(letter.id, "t", "refused by the receiver", undefined)
  }
  const ids = yield* OutboxReader.use((reader) => reader.matching({ tenant, limit: count }))
  assert.lengthOf(ids, count)
  return ids as readonly [MessageId, MessageId, MessageId]
})

const replay = (after?: MessageId) =>
  Bulks.replayLetters.perform(
    Effect.succeed({ until, reason, ...(after === undefined ? undefined : { after }) }),
    olga
  )

describe("a step of a bulk", () => {
  it.live("skips a run that ended since it was found, and says so", () =>
    Effect.gen(function* () {
      const question = [Samples.modelTurned(1, 1), Samples.approvalRequested()]
      const first = (yield* Samples.begin({ tenant }, question)).run
      const second = (yield* Samples.begin({ tenant }, question)).run
      const runs = yield* RunList
      const runtime = yield* AgentRuntime
      const found = Bulks.cancelRuns.perform(Effect.succeed({ until, reason }), olga)
      const { items } = yield* Effect.provideService(found, RunList, {
        ...runs,
        matching: (query) =>
          Effect.tap(runs.matching(query), () =>
            Effect.orDie(runtime.interrupt(first, olga, "I was faster"))
          )
      })
      assert.deepStrictEqual(
        items.find(({ id }) => id === first),
        { id: first, outcome: "skipped", detail: `run ${first} is cancelled` }
      )
      assert.deepStrictEqual(
        items.find(({ id }) => id === second),
        { id: second, outcome: "done" }
      )
    }).pipe(Effect.provide(service))
  )

  it.live("ends where the store fails, and the next one goes on behind that item", () =>
    Effect.gen(function* () {
      const [first, second, third] = yield* letters(3)
      const replayer = yield* OutboxReplayer
      const away = new StoreError({ message: "the store did not answer" })
      const step = yield* Effect.provideService(replay(), OutboxReplayer, {
        ...replayer,
        replay: (letter) =>
          letter.event_id === second ? Effect.fail(away) : replayer.replay(letter)
      })
      assert.deepStrictEqual(step, {
        items: [
          { event_id: first, outcome: "done" },
          { event_id: second, outcome: "failed", detail: "the store did not answer" }
        ],
        next_after: second
      })
      assert.deepStrictEqual(yield* replay(second), {
        items: [{ event_id: third, outcome: "done" }]
      })
      // It still waits, for the next bulk.
      const { count } = yield* Bulks.countLetters.perform(Effect.succeed({}), olga)
      assert.strictEqual(count, 1)
      const down = yield* Effect.flip(
        Effect.provideService(replay(), OutboxReader, {
          ...(yield* OutboxReader),
          matching: () => Effect.fail(away)
        })
      )
      assert.strictEqual(down._tag, "StoreError")
    }).pipe(Effect.provide(service))
  )

  it.live("begins no further item after two seconds", () =>
    Effect.gen(function* () {
      const [first, second, third] = yield* letters(3)
      const replayer = yield* OutboxReplayer
      const step = yield* Effect.provideService(replay(), OutboxReplayer, {
        ...replayer,
        replay: (letter) => Effect.andThen(Effect.sleep("1100 millis"), replayer.replay(letter))
      })
      assert.deepStrictEqual(step, {
        items: [
          { event_id: first, outcome: "done" },
          { event_id: second, outcome: "done" }
        ],
        next_after: second
      })
      assert.deepStrictEqual((yield* replay(second)).items, [{ event_id: third, outcome: "done" }])
    }).pipe(Effect.provide(service))
  )

  it.live("counts 10,000 and says that there are more", () =>
    Effect.gen(function* () {
      const counted = (length: number) =>
        Effect.gen(function* () {
          const runs = yield* RunList
          const ids = Array.from({ length }, () => Samples.runId())
          return yield* Effect.provideService(
            Bulks.countRuns.perform(Effect.succeed({}), olga),
            RunList,
            { ...runs, matching: ({ limit }) => Effect.succeed(ids.slice(0, limit)) }
          )
        })
      const { until: _, ...all } = yield* counted(10_000)
      assert.deepStrictEqual(all, { count: 10_000 })
      const { until: __, ...more } = yield* counted(20_000)
      assert.deepStrictEqual(more, { count: 10_000, is_cut: true })
    }).pipe(Effect.provide(service))
  )
})
