/** Code that breaks by itself: an operator reads what and where, and nobody else reads anything of it. */
import { assert, describe, it } from "@effect/vitest"
import { createHash } from "node:crypto"
import { Effect, Layer, Logger, References, Schema, Stream } from "effect"
import { HttpServer } from "effect/http"
import * as Server from "../../layers/compose/assembly/HttpSurface.ts"
import * as ToolWorker from "../../layers/compose/assembly/ToolWorker.ts"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import * as EphemeralToolQueue from "../../layers/ephemeral/EphemeralToolQueue.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as CallRecorder from "../../layers/runtime/feed/CallRecorder.ts"
import * as MergedDeliveryHandlers from "../../layers/runtime/relay/MergedDeliveryHandlers.ts"
import * as OutboxRelay from "../../layers/runtime/relay/OutboxRelay.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { CallRecords } from "../../services/CallRecords.ts"
import { Outbox } from "../../services/Outbox.ts"
import { ToolQueue } from "../../services/ToolQueue.ts"
import { exceptionFrom } from "../../src/error/Exception.ts"
import { ConversationId, MessageId } from "../../src/value/Ids.ts"
import { tool, wrap } from "../../src/tool/DeclaredTool.ts"
import { eventually } from "../contracts/Contract.ts"
import * as H from "./Harness.ts"

const secret = "order 4711 of hunter2"

interface Line {
  readonly level: string
  readonly message: string
  readonly about: Readonly<Record<string, unknown>>
}

/** What is logged, in a list of the test's. */
const sink = () => {
  const lines: Array<Line> = []
  const logger = Logger.make<unknown, void>(({ fiber, logLevel, message }) => {
    const said = Array.isArray(message) ? message.map(String).join(" ") : String(message)
    const about = fiber.getRef(References.CurrentLogAnnotations)
    lines.push({ level: logLevel, message: said, about })
  })
  return { lines, layer: Logger.layer([logger]) }
}

const broken = (lines: ReadonlyArray<Line>) =>
  lines.filter(({ about }) => String(about["exception.message"]).includes(secret))

/** Everything that a run says to others: its events, its feed, what its model read, and what HTTP answers. */
const said = Effect.fnUntraced(function* (run: string) {
  const server = yield* HttpServer.HttpServer
  const url = HttpServer.formatAddress(server.address)
  const answers: Array<string> = []
  const paths = [`runs/${run}`, `runs/${run}/events`, "conversations", "conversations/c-1/messages"]
  for (const path of paths) {
    const headers = { authorization: "Bearer token" }
    const answer = yield* Effect.promise(() => fetch(`${url}/v1/${path}`, { headers }))
    answers.push(yield* Effect.promise(() => answer.text()))
  }
  const feed = yield* AgentRuntime.use((runtime) =>
    runtime.watch(ConversationId.make("c-1"), { ordinal: 0, seq: -1 }, H.alice).pipe(
      Stream.takeUntil((item) => item._tag === "Event" && item.entry.event._tag === "RunEnded"),
      Stream.runCollect
    )
  )
  return JSON.stringify([answers, feed, yield* H.requests])
})

const credentials = [
  { sha256: createHash("sha256").update("token").digest("hex"), principal: H.alice }
]
const served = (options: H.Options, lines: Layer.Layer<never>) =>
  Server.layer({ listen: { port: 0 }, credentials }).pipe(
    Layer.provideMerge(H.over({ observers: "ambient", ...options })),
    Layer.provideMerge(CallRecorder.layer),
    Layer.provideMerge(EphemeralStores.layer),
    Layer.provideMerge(lines)
  )

const thrown: unknown = new Error(secret)

const bodies: ReadonlyArray<readonly [title: string, tool: H.TestTool]> = [
  [
    "a read that throws",
    H.reads(() => {
      throw thrown
    })
  ],
  ["a promise that is rejected", H.reads(() => Effect.promise(() => Promise.reject(thrown)))],
  ["a defect after a wait", H.reads(() => Effect.delay(Effect.die(thrown), 1))],
  ["a failure of no class", H.reads(() => Effect.fail(thrown as never))],
  ["a write that dies", H.writes(() => Effect.die(thrown))],
  [
    "a read with attempts",
    H.reads(() => Effect.die(thrown), {
      retry: { max_attempts: 2, backoff_initial_ms: 1, backoff_max_ms: 1 }
    })
  ],
  ["a transactional write", H.writes(() => Effect.die(thrown), { transactional: true })],
  ["a tool with a limit", H.reads(() => Effect.die(thrown), { concurrency_max: 1 })]
]

describe("a fault of a tool", () => {
  for (const [title, broke] of bodies) {
    it.live(`ST-18 is in the log and the record of its call, and nowhere else: ${title}`, () => {
      const { layer, lines } = sink()
      return Effect.gen(function* () {
        const run = yield* H.send("hello")
        assert.strictEqual(H.end(yield* H.ended(run))?.status, "complete")
        const [line, ...more] = broken(lines)
        assert.deepStrictEqual(more, [])
        assert.strictEqual(line?.level, "Error")
        assert.include(String(line?.about["exception.stacktrace"]), "Faults.test.ts")
        const { call_id, run_id, tenant, tool, trace_id } = line!.about
        assert.deepStrictEqual([run_id, tenant, tool], [run, "acme", "t"])
        assert.isString(call_id)
        assert.isString(trace_id)
        const records = yield* CallRecords
        const [record] = yield* eventually(
          records.ofRun(H.tenant, run, 10),
          (all) => all.length > 0
        )
        assert.strictEqual(record?.exception?.message, secret)
        assert.include(record?.exception?.stacktrace, "Faults.test.ts")
        assert.notInclude(JSON.stringify(record?.outcome), "hunter2")
        assert.notInclude(yield* said(run), "hunter2")
      }).pipe(
        Effect.provide(
          served({ tools: { t: broke }, script: [call("t", { n: 1 }), text("done")] }, layer)
        )
      )
    })
  }

  it.live("ST-18 names the member of a result that its schema refuses, to operators only", () => {
    const { layer, lines } = sink()
    return Effect.gen(function* () {
      const run = yield* H.send("hello")
      yield* H.ended(run)
      const [line] = lines.filter(({ message }) => message === "a tool broke")
      assert.include(String(line?.about["exception.message"]), "order")
      assert.notInclude(yield* said(run), "Expected string")
    }).pipe(
      Effect.provide(
        served(
          {
            tools: {
              t: {
                ...H.reads(() => Effect.succeed({ order: 4711 })),
                success: Schema.Struct({ order: Schema.String }) as never
              }
            },
            script: [call("t", { n: 1 }), text("done")]
          },
          layer
        )
      )
    )
  })
})

describe("a fault outside of tools is logged at error level", () => {
  const logs = (title: string, what: string, options: Partial<H.Options>) =>
    it.live(title, () => {
      const { layer, lines } = sink()
      return Effect.gen(function* () {
        const run = yield* H.send("hello")
        yield* H.ended(run)
        const found = broken(lines)
        assert.deepStrictEqual(
          found.map(({ level, message }) => [level, message]),
          [["Error", what]]
        )
        assert.notInclude(yield* said(run), "hunter2")
      }).pipe(
        Effect.provide(
          served(
            {
              tools: { t: H.reads((n) => Effect.succeed(n)) },
              script: [call("t", { n: 1 }), text("done")],
              ...options
            },
            layer
          )
        )
      )
    })

  logs("a model gateway that dies", "a turn of a model broke", {
    script: () => {
      throw thrown
    }
  })
  logs("an observer of calls, which takes nothing from the run", "an observer broke", {
    observers: [
      () => {
        throw thrown
      }
    ]
  })
  it.live("the reconcile of a tool", () => {
    const { layer, lines } = sink()
    return Effect.gen(function* () {
      const run = yield* H.send("hello")
      yield* H.happened(run, "CallUnknown")
      assert.deepStrictEqual(
        broken(lines).map(({ level, message }) => [level, message]),
        [["Error", "the reconcile of a tool broke"]]
      )
      assert.notInclude(JSON.stringify(yield* H.events(run)), "hunter2")
    }).pipe(
      Effect.provide(
        served(
          {
            tools: { t: H.writes(() => Effect.never, { timeout_ms: 10 }) },
            script: [call("t", { n: 1 }), text("done")],
            spied: (governed) => ({
              ...governed,
              spec: { ...governed.spec, reconcile: true },
              reconcile: () => Effect.die(thrown)
            })
          },
          layer
        )
      )
    )
  })
})

describe("a fault outside of runs", () => {
  it.live("of a delivery handler is logged, and its dead letter has no stack", () => {
    const { layer, lines } = sink()
    const id = MessageId.make("00000000-0000-4000-8000-000000000001")
    const handlers = MergedDeliveryHandlers.layer(
      Effect.succeed([["t", () => Effect.die(thrown)] as const])
    )
    return Effect.gen(function* () {
      const outbox = yield* Outbox
      yield* outbox.enqueue([{ id, tenant: H.tenant, key: "k", topic: "t", payload: {} }])
      const [line] = yield* eventually(
        Effect.sync(() => broken(lines)),
        (all) => all.length > 0
      )
      assert.strictEqual(line?.message, "a delivery handler broke")
      assert.strictEqual(line?.level, "Error")
      assert.include(String(line?.about["exception.stacktrace"]), "Faults.test.ts")
      assert.strictEqual(line?.about["message_id"], id)
    }).pipe(
      Effect.provide(
        OutboxRelay.layer.pipe(
          Layer.provide(handlers),
          Layer.provideMerge(EphemeralStores.layer),
          Layer.provideMerge(layer)
        )
      )
    )
  })

  it.live("of a worker's tool is logged by the worker, and its reply does not quote it", () => {
    const { layer, lines } = sink()
    const bad = tool({ namespace: "t", name: "bad", side_effects: "read" }, () => {
      throw thrown
    })
    return Effect.gen(function* () {
      const queue = yield* ToolQueue
      const payload = { id: "c-1", name: "t.bad@1", arguments: {}, loop_id: "r" }
      const expires_at = 4_000_000_000_000
      yield* queue.send({ id: "c-1", tool: "t.bad@1", tenant: H.tenant, expires_at, payload })
      const reply = yield* queue.awaited("c-1")
      assert.notInclude(JSON.stringify(reply), "hunter2")
      const [line] = broken(lines)
      assert.strictEqual(line?.message, "a tool broke")
      assert.strictEqual(line?.about["tenant"], "acme")
    }).pipe(
      Effect.provide(
        ToolWorker.layer({ tools: [bad] }).pipe(
          Layer.provideMerge(EphemeralToolQueue.layer),
          Layer.provideMerge(layer)
        )
      )
    )
  })

  it.live("of an interceptor counts as a fault of its tool", () => {
    const { layer, lines } = sink()
    const good = tool({ namespace: "t", name: "good", side_effects: "read" }, () => 1)
    const wrapped = wrap(good, () => Effect.die(thrown))
    return Effect.gen(function* () {
      const queue = yield* ToolQueue
      const payload = { id: "c-2", name: "t.good@1", arguments: {}, loop_id: "r" }
      const expires_at = 4_000_000_000_000
      yield* queue.send({ id: "c-2", tool: "t.good@1", tenant: H.tenant, expires_at, payload })
      yield* queue.awaited("c-2")
      assert.strictEqual(broken(lines)[0]?.message, "a tool broke")
    }).pipe(
      Effect.provide(
        ToolWorker.layer({ tools: [wrapped] }).pipe(
          Layer.provideMerge(EphemeralToolQueue.layer),
          Layer.provideMerge(layer)
        )
      )
    )
  })
})

describe("the text of an exception", () => {
  const of = (error: unknown) => {
    const exit = Effect.runSyncExit(Effect.die(error))
    if (exit._tag === "Success") throw new Error("it has to fail")
    return exceptionFrom(exit.cause)
  }

  it("is bounded, and contains no key, no address and no escape sequence", () => {
    const key = "sk-abcdefghijklmnop1234567890"
    const inner = new Error(`${key} of bob@example.com \u001b[31mred`)
    const { message, stacktrace, type } = of(new TypeError("x".repeat(100_000), { cause: inner }))
    assert.strictEqual(type, "TypeError")
    assert.isAtMost(message.length, 2_000)
    assert.isAtMost(stacktrace.length, 8_000)
    const small = of(inner)
    for (const part of [key, "bob@", "\u001b"]) {
      assert.notInclude(JSON.stringify(small), part)
    }
  })

  it("is made of anything that can be thrown", () => {
    for (const value of [undefined, null, 0, "text", { a: 1 }, Symbol("s")]) {
      assert.isString(of(value).message)
    }
  })
})
