import { assert } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"
import * as Classify from "../../src/error/Classify.ts"
import type { CallMessage, ResultMessage } from "../../src/queue/CallMessage.ts"
import * as CallMessages from "../../src/queue/CallMessage.ts"
import { readReply } from "../../src/queue/ToolMessage.ts"
import { timeoutMs } from "../../src/semstreams/ToolTimeout.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as Component from "./Component.ts"
import type { Body } from "./Stage.ts"
import * as Stage from "./Stage.ts"
import type { Driven } from "./Vectors.ts"
import { conformance, hasShape, isRecord, rowsOf } from "./Vectors.ts"

type Fields = Readonly<Record<string, unknown>>

const configured = (value: unknown, expect: Fields): Driven => ({
  rows: "SM-25",
  run: Effect.sync(() => {
    const parsed = timeoutMs(value)
    if ("ms" in expect) {
      assert.isTrue(Result.isSuccess(parsed), Result.isFailure(parsed) ? parsed.failure : "")
      if (Result.isSuccess(parsed)) assert.strictEqual(parsed.success, expect.ms)
      return
    }
    assert.isTrue(Result.isFailure(parsed), "it should have been refused")
    if (Result.isFailure(parsed) && typeof expect.error === "string") {
      assert.include(parsed.failure, expect.error)
    }
  })
})

interface Ran {
  readonly body: Body
  readonly timeout_ms: number
  readonly wait_ms: number
  /** When the run is cancelled, in ms after its start; absent = never. */
  readonly interrupt_ms?: number
}

/** Plays a run with one call. Gives the call's result as SemStreams' message, and the run's status. */
const result = (ran: Ran, wire: CallMessage) =>
  Effect.gen(function* () {
    const run = yield* Stage.begin
    if (ran.interrupt_ms !== undefined) {
      yield* Stage.after(ran.interrupt_ms)
      yield* AgentRuntime.use((runtime) => runtime.interrupt(run, Stage.operator, "enough"))
    }
    yield* Stage.after(ran.wait_ms)
    const all = yield* Stage.events(run)
    const settled = Stage.tagged(all, "CallSettled")
    assert.lengthOf(settled, 1)
    const [fact] = yield* Stage.facts
    const shown = CallMessages.resultOf(wire, settled[0]!.outcome)
    assert.strictEqual(fact?.error_kind ?? undefined, shown.error_kind)
    assert.strictEqual(fact?.metadata.ok, shown.error === undefined)
    return { shown, ended: Stage.tagged(all, "RunEnded")[0]?.status }
  })

const staged = <A, E, R>(ran: Ran, proof: Effect.Effect<A, E, R>) =>
  Stage.stage(
    {
      tools: {
        tool: { governance: { side_effects: "read", timeout_ms: ran.timeout_ms }, body: ran.body }
      },
      script: [call("tool"), text("so be it")]
    },
    proof
  )

const wire: CallMessage = { id: "call-1", name: "tool" }

const meets = (shown: ResultMessage, expect: Fields) => {
  for (const [key, value] of Object.entries(expect)) {
    switch (key) {
      case "errorKind":
        assert.strictEqual(shown.error_kind, value ?? undefined)
        break
      case "error":
        if (typeof value === "string") assert.include(shown.error, value)
        else assert.strictEqual(shown.error !== undefined, value === true)
        break
      case "content":
        assert.deepEqual(JSON.parse(shown.content ?? "null"), value)
        break
      case "asResult":
        break
      default: {
        const [, field] = /^result\.(\w+)$/.exec(key) ?? []
        assert.isDefined(field, `the driver does not know ${key}`)
        assert.deepEqual((shown as Fields)[field!], value, key)
      }
    }
  }
}

/** A tool that takes `toolMs` under a timeout, in a run that may be cancelled meanwhile. */
const timed = (input: Fields, expect: Fields): Driven => {
  let released = 0
  const tool_ms = Number(input.toolMs)
  const ran: Ran = {
    body: () =>
      Effect.sleep(tool_ms).pipe(
        Effect.as("done"),
        Effect.onInterrupt(() => Effect.sync(() => void released++))
      ),
    timeout_ms: Number(input.timeoutMs),
    wait_ms: Math.max(tool_ms, Number(input.timeoutMs)),
    ...(input.interruptAfterMs === undefined
      ? undefined
      : { interrupt_ms: Number(input.interruptAfterMs) })
  }
  return {
    rows: rowsOf(
      [ran.interrupt_ms === undefined, "SM-19 SM-26"],
      [ran.interrupt_ms !== undefined, "SM-27 ST-11"]
    ),
    run: staged(
      ran,
      Effect.gen(function* () {
        const { ended, shown } = yield* result(ran, wire)
        meets(shown, expect)
        assert.strictEqual(released, expect.errorKind === "timeout" ? 1 : 0)
        assert.strictEqual(ended, ran.interrupt_ms === undefined ? "complete" : "cancelled")
      })
    )
  }
}

/** A body that fails with a kind of error, before or after its deadline. */
const inner = (kind: string, deadlineHit: boolean, expect: Fields): Driven => {
  const fails = Effect.fail(Classify.toolErrorFrom(kind, "an inner failure"))
  const ran: Ran = {
    // It cannot be interrupted, so that its failure arrives after the deadline.
    body: () =>
      deadlineHit ? Effect.uninterruptible(Effect.andThen(Effect.sleep(50), fails)) : fails,
    timeout_ms: 10,
    wait_ms: 100
  }
  return {
    rows: "SM-28",
    run: staged(
      ran,
      Effect.gen(function* () {
        const { ended, shown } = yield* result(ran, wire)
        meets(shown, expect)
        assert.strictEqual(ended, "complete")
      })
    )
  }
}

/** Calls a tool with this body through a component. */
const called = (message: CallMessage, body: Effect.Effect<unknown, unknown>) =>
  Effect.gen(function* () {
    const registry = yield* Component.registryOf([Component.reading(message.name, () => body)])
    const { result } = yield* Component.over(registry, {}, Component.execute(message))
    return result
  })

/** A body that ends as another runtime's tool does, perhaps with an untyped failure. It never fails its loop. */
const foreign = (body: Effect.Effect<unknown, unknown>, expect: Fields): Driven => ({
  rows: "SM-18 SM-19",
  run: Effect.gen(function* () {
    meets(yield* called(wire, body), expect)
    const ran: Ran = { body: () => body, timeout_ms: 1_000, wait_ms: 0 }
    yield* staged(
      ran,
      Effect.gen(function* () {
        const { ended, shown } = yield* result(ran, wire)
        meets(shown, expect)
        assert.strictEqual(ended, "complete")
      })
    )
  })
})

const decodeResult = Schema.decodeUnknownResult(CallMessages.ResultMessage)

/** A result message of another runtime's worker; cases leave out its call_id. */
const wireResult = (given: Fields, expect: Fields): Driven => {
  const decoded = decodeResult({ call_id: wire.id, ...given })
  if (Result.isFailure(decoded)) return undefined
  const reply = readReply(decoded.success)
  return foreign(
    reply._tag === "Failed"
      ? Effect.fail(reply.error)
      : Effect.succeed(reply._tag === "Value" ? reply.value : null),
    expect
  )
}

const decodeCall = Schema.decodeUnknownResult(CallMessages.CallMessage)

/** A call message whose loop_id and trace_id its result repeats. */
const carried = (given: Fields, expect: Fields): Driven => {
  const decoded = decodeCall({ ...wire, ...given })
  if (Result.isFailure(decoded)) return undefined
  return {
    rows: "SM-14 SM-15 SM-16 SM-21",
    run: Effect.gen(function* () {
      const shown = yield* called(decoded.success, Effect.succeed("done"))
      meets(shown, expect)
      const codec = Schema.fromJsonString(CallMessages.ResultMessage)
      meets(Schema.decodeUnknownSync(codec)(Schema.encodeSync(codec)(shown)), expect)
    })
  }
}

conformance("timeout_and_classify", ({ expect, input }): Driven => {
  if (!isRecord(expect)) return undefined
  if (hasShape(input, ["timeout"])) return configured(input.timeout, expect)
  if (hasShape(input, ["timeoutMs", "toolMs"], ["interruptAfterMs"])) return timed(input, expect)
  if (hasShape(input, ["innerKind", "deadlineHit"])) {
    return inner(String(input.innerKind), input.deadlineHit === true, expect)
  }
  if (hasShape(input, ["result"]) && isRecord(input.result)) return wireResult(input.result, expect)
  if (hasShape(input, ["raw"])) return foreign(Effect.fail(input.raw), expect)
  if (hasShape(input, ["call"]) && isRecord(input.call)) return carried(input.call, expect)
  return undefined
})
