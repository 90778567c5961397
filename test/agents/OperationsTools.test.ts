/** The tools alone: no model, no database, no loop (SA-30). */
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Layer } from "effect"
import { TestClock } from "effect/testing"
import * as OperationsTools from "../../layers/spectral/agents/OperationsTools.ts"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import { Outbox } from "../../services/Outbox.ts"
import { OutboxReader } from "../../services/OutboxReader.ts"
import { OutboxReplayer } from "../../services/OutboxReplayer.ts"
import { StoreError } from "../../services/StoreError.ts"
import { operations } from "../../src/spectral/agents/Operations.ts"
import { CallId, ConversationId, MessageId, RunId, Tenant } from "../../src/value/Ids.ts"
import type { CallContext, GovernedTool, MisdeclaredTool } from "../../src/tool/GovernedTool.ts"
import { permissionOf } from "../../src/tool/SideEffects.ts"
import { toolKeyOf } from "../../src/tool/ToolSpec.ts"
import { handlerEffect } from "../../layers/runtime/tool/HandlerEffect.ts"
import { contextOf, unobserved } from "../tool/CallContexts.ts"

type Requirements = OutboxReader | OutboxReplayer
type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false
type RequirementsOf<T> = T extends Effect.Effect<infer _A, infer _E, infer R> ? R : never

const tenant = Tenant.make("acme")
const hour_ms = 3_600_000
const idOf = (n: number) =>
  MessageId.make(`00000000-0000-4000-8000-${n.toString().padStart(12, "0")}`)

const call: CallContext = {
  ...unobserved,
  run: RunId.make("00000000-0000-4000-8000-00000000aaaa"),
  call: CallId.make("0/1.0"),
  conversation: ConversationId.make("c"),
  tenant,
  trace_id: "trace",
  principal: "olga",
  approved_by: undefined,
  roles: ["operator"],
  key: undefined
}

const toolOf = (name: string) =>
  Effect.map(OperationsTools.tools, (tools) => {
    const tool = tools.find((each) => each.spec.name === name)
    assert.isDefined(tool)
    return tool
  })

/** Decode, body, encode, as the gate does it; the value as the model would get it. */
const use = Effect.fnUntraced(function* (
  name: string,
  args: unknown,
  context: Partial<CallContext> = {}
) {
  const tool: GovernedTool = yield* toolOf(name)
  const decoded = tool.decode(args)
  if (Exit.isFailure(decoded)) return yield* Effect.fail({ refused: "arguments" } as const)
  const result = yield* handlerEffect(
    tool.handler,
    decoded.value,
    contextOf({ ...call, ...context })
  )
  const encoded = tool.encode(result)
  assert.isTrue(Exit.isSuccess(encoded))
  return Exit.isSuccess(encoded) ? (encoded.value as unknown) : undefined
})

const failure = (effect: Effect.Effect<unknown, unknown, Requirements>) =>
  Effect.map(Effect.flip(effect), (error) => {
    const { _tag, kind, message, reason } = error as {
      readonly _tag: string
      readonly kind: string
      readonly reason?: string
      readonly message: string
    }
    return { _tag, kind, reason, message }
  })

/** Events 1, 2, ... die one an hour, the first at one hour. */
const dead = Effect.fnUntraced(function* (
  letters: ReadonlyArray<{ readonly topic: string; readonly tenant?: Tenant }>
) {
  const outbox = yield* Outbox
  for (const [i, letter] of letters.entries()) {
    yield* TestClock.adjust(hour_ms)
    const id = idOf(i + 1)
    yield* outbox.enqueue([
      {
        id,
        tenant: letter.tenant ?? tenant,
        key: "k",
        topic: letter.topic,
        payload: { order: i + 1 }
      }
    ])
    const claim = { owner: "a", topics: [letter.topic], limit: 1, lease_ms: 1_000 }
    yield* outbox.claim(claim)
    yield* outbox.failed(id, "a", "first", 0)
    yield* outbox.claim(claim)
    yield* outbox.failed(id, "a", "POST https://u:p@host/x?key=1 said 503", undefined)
  }
})

const idsOf = (result: unknown) =>
  (result as { readonly events: ReadonlyArray<{ readonly event_id: string }> }).events.map(
    (event) => Number(event.event_id.slice(-4))
  )

const test = (
  title: string,
  body: Effect.Effect<void, unknown, Outbox | OutboxReader | OutboxReplayer>
) => it.effect(title, () => Effect.provide(body, EphemeralStores.layer))

describe("list_dlq_events", () => {
  test(
    "ST-43 SA-30 is a read that gives summaries, newest first, of this tenant alone",
    Effect.gen(function* () {
      yield* dead([{ topic: "a" }, { topic: "b" }, { topic: "a", tenant: Tenant.make("other") }])
      const { spec } = yield* toolOf("list_dlq_events")
      assert.strictEqual(spec.category, "read")
      assert.strictEqual(permissionOf(spec), "allow")
      assert.deepStrictEqual(yield* use("list_dlq_events", {}), {
        events: [
          {
            event_id: idOf(2),
            handler_name: "b",
            dead_at: "1970-01-01T02:00:00.000Z",
            attempts: 2,
            last_error: "POST [address] said 503"
          },
          {
            event_id: idOf(1),
            handler_name: "a",
            dead_at: "1970-01-01T01:00:00.000Z",
            attempts: 2,
            last_error: "POST [address] said 503"
          }
        ],
        more: false
      })
    })
  )

  test(
    "ST-43 honours handler, age, both times and the limit, and says when there are more",
    Effect.gen(function* () {
      yield* dead([{ topic: "a" }, { topic: "b" }, { topic: "a" }, { topic: "b" }, { topic: "a" }])
      const cases: ReadonlyArray<readonly [unknown, ReadonlyArray<number>, boolean]> = [
        [{}, [5, 4, 3, 2, 1], false],
        [{ handler_name: "b" }, [4, 2], false],
        [{ handler_name: "nobody" }, [], false],
        [{ limit: 2 }, [5, 4], true],
        [{ limit: 5 }, [5, 4, 3, 2, 1], false],
        [{ age_range: "60m" }, [5, 4], false],
        [{ age_range: "2h" }, [5, 4, 3], false],
        [{ age_range: "1w" }, [5, 4, 3, 2, 1], false],
        [{ age_range: { from: "1970-01-01T04:00:00Z" } }, [5, 4], false],
        [{ age_range: { to: "1970-01-01T03:00:00+01:00" } }, [2, 1], false],
        [
          { age_range: { from: "1970-01-01T02:00Z", to: "1970-01-01T04:00:00.000Z" } },
          [4, 3, 2],
          false
        ],
        [{ age_range: { from: "1970-01-01", to: "1970-01-01" } }, [5, 4, 3, 2, 1], false],
        [{ age_range: {} }, [5, 4, 3, 2, 1], false],
        [{ handler_name: "a", age_range: "3h", limit: 1 }, [5], true]
      ]
      for (const [args, ids, more] of cases) {
        const result = yield* use("list_dlq_events", args)
        assert.deepStrictEqual(idsOf(result), ids, JSON.stringify(args))
        assert.strictEqual((result as { readonly more: boolean }).more, more)
      }
    })
  )

  test(
    "ST-43 gives 20 unless it is told otherwise",
    Effect.gen(function* () {
      yield* dead(Array.from({ length: 21 }, () => ({ topic: "a" })))
      assert.strictEqual(idsOf(yield* use("list_dlq_events", {})).length, 20)
    })
  )

  test(
    "ST-43 refuses arguments that no model should send, before the body",
    Effect.gen(function* () {
      const tool = yield* toolOf("list_dlq_events")
      for (const args of [
        { limit: 0 },
        { limit: 101 },
        { limit: 1.5 },
        { limit: "20" },
        { handler_name: "" },
        { age_range: "yesterday" },
        { age_range: "0h" },
        { age_range: { from: "2026-11-22T09:30:00" } },
        { age_range: { from: "2026-13-01" } },
        { age_range: { from: "2026-11-23", to: "2026-11-22" } },
        { tenant: "other" },
        null
      ]) {
        assert.isTrue(Exit.isFailure(tool.decode(args)), JSON.stringify(args))
      }
    })
  )

  it.effect("tells the model the forms of age_range and the bounds of limit", () =>
    Effect.gen(function* () {
      const { spec } = yield* toolOf("list_dlq_events")
      const text = JSON.stringify(spec.input_schema)
      assert.include(text, "24h")
      assert.include(text, "ISO 8601")
      assert.include(text, '"maximum":100')
      assert.notInclude(text, "tenant")
    }).pipe(Effect.provide(EphemeralStores.layer))
  )
})

describe("get_dlq_event_detail", () => {
  test(
    "ST-44 SA-30 is a read that gives payload and sanitised history",
    Effect.gen(function* () {
      yield* dead([{ topic: "a" }])
      const { spec } = yield* toolOf("get_dlq_event_detail")
      assert.strictEqual(spec.category, "read")
      const at = "1970-01-01T01:00:00.000Z"
      assert.deepStrictEqual(yield* use("get_dlq_event_detail", { event_id: idOf(1) }), {
        event_id: idOf(1),
        handler_name: "a",
        key: "k",
        payload: { order: 1 },
        attempts: 2,
        failures: [
          { at, attempt: 1, error: "first" },
          { at, attempt: 2, error: "POST [address] said 503" }
        ],
        dead_at: at,
        status: "dead"
      })
    })
  )

  test(
    "ST-44 answers an unknown id, another tenant's and nonsense with ToolUserError not_found",
    Effect.gen(function* () {
      yield* dead([{ topic: "a", tenant: Tenant.make("other") }])
      for (const event_id of [idOf(1), idOf(99), "nonsense"]) {
        const error = yield* failure(use("get_dlq_event_detail", { event_id }))
        assert.strictEqual(error._tag, "ToolUserError")
        assert.strictEqual(error.kind, "not_found")
        assert.include(error.message, event_id)
      }
    })
  )
})

describe("replay_dlq_event", () => {
  const depth = Effect.flatMap(Outbox, (outbox) => outbox.depth)

  test(
    "ST-45 SA-30 is a mutation that asks, runs in the journal's transaction, and replays once",
    Effect.gen(function* () {
      yield* dead([{ topic: "a" }])
      const { spec } = yield* toolOf("replay_dlq_event")
      assert.strictEqual(spec.category, "mutate")
      assert.strictEqual(permissionOf(spec), "ask")
      assert.isTrue(spec.transactional)
      assert.match(spec.effect_description, /again/)
      const args = { event_id: idOf(1), reason: "  the receiver is repaired " }
      assert.deepStrictEqual(yield* use("replay_dlq_event", args, { approved_by: "ann" }), {
        event_id: idOf(1),
        handler_name: "a",
        status: "replayed",
        replayed_by: "ann"
      })
      assert.strictEqual(yield* depth, 1)
      const letter = yield* Effect.flatMap(OutboxReader, (r) => r.deadLetter(tenant, idOf(1)))
      assert.deepStrictEqual(
        [letter.status, letter.resolved_by, letter.resolved_reason],
        ["replayed", "ann", "the receiver is repaired"]
      )
      const again = yield* failure(use("replay_dlq_event", args))
      assert.strictEqual(again._tag, "ToolUserError")
      assert.strictEqual(again.reason, "DEAD_LETTER_RESOLVED")
      assert.strictEqual(yield* depth, 1)
    })
  )

  test(
    "ST-45 writes down who asked where nobody had to approve",
    Effect.gen(function* () {
      yield* dead([{ topic: "a" }])
      yield* use("replay_dlq_event", { event_id: idOf(1), reason: "again" })
      const letter = yield* Effect.flatMap(OutboxReader, (r) => r.deadLetter(tenant, idOf(1)))
      assert.strictEqual(letter.resolved_by, "olga")
    })
  )

  test(
    "ST-46 refuses a missing, empty or blank reason with the arguments, before anybody is asked",
    Effect.gen(function* () {
      yield* dead([{ topic: "a" }])
      const tool = yield* toolOf("replay_dlq_event")
      const event_id = idOf(1)
      for (const args of [
        { event_id },
        { event_id, reason: "" },
        { event_id, reason: " \t\n\u00a0\u2003" },
        { event_id, reason: null },
        { event_id, reason: "x".repeat(1_001) }
      ]) {
        assert.isTrue(Exit.isFailure(tool.decode(args)))
      }
      assert.strictEqual(yield* depth, 0)
    })
  )

  test(
    "ST-45 does not touch an unknown event, or another tenant's",
    Effect.gen(function* () {
      yield* dead([{ topic: "a", tenant: Tenant.make("other") }])
      for (const event_id of [idOf(1), idOf(99), "nonsense"]) {
        const error = yield* failure(use("replay_dlq_event", { event_id, reason: "r" }))
        assert.deepStrictEqual([error._tag, error.kind], ["ToolUserError", "not_found"])
      }
      assert.strictEqual(yield* depth, 0)
    })
  )
})

describe("the dead-letter tools", () => {
  it.effect("ST-50 need exactly the injected reader and replayer", () =>
    Effect.gen(function* () {
      const exact: Same<RequirementsOf<typeof OperationsTools.tools>, Requirements> = true
      assert.isTrue(exact)
      const tools: Effect.Effect<unknown, MisdeclaredTool, Requirements> = OperationsTools.tools
      const built = (yield* Effect.provide(
        tools,
        EphemeralStores.layer
      )) as ReadonlyArray<GovernedTool>
      assert.deepStrictEqual(
        built.map((tool) => toolKeyOf(tool.spec)),
        operations.tools as Array<string>
      )
    })
  )

  it.effect("SA-30 a store that is away is ToolTransientError without the store's words", () => {
    const away = Effect.fail(new StoreError({ message: "postgres://u:p@db is away" }))
    const stores = Layer.merge(
      Layer.succeed(OutboxReader, {
        deadLetters: () => away,
        matching: () => away,
        undelivered: () => away,
        deadLetter: () => away
      }),
      Layer.succeed(OutboxReplayer, { replay: () => away, discard: () => away })
    )
    return Effect.gen(function* () {
      for (const [name, args] of [
        ["list_dlq_events", {}],
        ["get_dlq_event_detail", { event_id: "e" }],
        ["replay_dlq_event", { event_id: "e", reason: "r" }]
      ] as const) {
        assert.deepStrictEqual(yield* failure(use(name, args)), {
          _tag: "ToolTransientError",
          kind: "external",
          reason: "STORE_UNAVAILABLE",
          message: "the store of dead letters did not answer"
        })
      }
    }).pipe(Effect.provide(stores))
  })

  it.effect("SA-30 a defect of a store stays a defect", () =>
    Effect.gen(function* () {
      const bug = Effect.die(new Error("a bug"))
      const exit = yield* Effect.exit(use("list_dlq_events", {})).pipe(
        Effect.provideService(OutboxReader, {
          deadLetters: () => bug,
          matching: () => bug,
          undelivered: () => bug,
          deadLetter: () => bug
        }),
        Effect.provideService(OutboxReplayer, { replay: () => bug, discard: () => bug })
      )
      assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
    })
  )
})
