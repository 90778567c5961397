import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger, Metric } from "effect"
import { PrometheusMetrics } from "effect/observability"
import { ToolTransientError, ToolUserError } from "../../src/error/ToolError.ts"
import type { RunEvent } from "../../src/run/RunEvent.ts"
import { errorKindOf } from "../../src/run/RunEvent.ts"
import type { Turn } from "../../src/run/RunDecider.ts"
import { CallRecords } from "../../services/CallRecords.ts"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import { call, calls, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as CallRecorder from "../../layers/runtime/feed/CallRecorder.ts"
import * as ToolCallTelemetry from "../../layers/telemetry/ToolCallTelemetry.ts"
import { seeded } from "../run/Interleaving.ts"
import * as H from "../runtime/Harness.ts"
import { asks, deny, reads, writes } from "../runtime/Harness.ts"

const refused = Effect.fail(new ToolUserError({ kind: "invalid_args", message: "no" }))
const away = Effect.fail(new ToolTransientError({ kind: "network", message: "away" }))

/** Attempts are counted by the call, so that what a call does does not depend on the others. */
const flaky = () => {
  const tried = new Map<string, number>()
  return reads(
    (n, { call, run }) =>
      Effect.suspend((): Effect.Effect<unknown, ToolTransientError> => {
        const key = `${run} ${call}`
        const attempt = (tried.get(key) ?? 0) + 1
        tried.set(key, attempt)
        return attempt > n % 4 ? Effect.succeed(attempt) : away
      }),
    { retry: { max_attempts: 3, backoff_initial_ms: 1, backoff_max_ms: 1 } }
  )
}

const tools = {
  good: reads((n) => Effect.succeed(n)),
  later: reads((n) => Effect.delay(Effect.succeed(n), 2)),
  bad: reads(() => refused),
  dies: reads(() => Effect.die(new Error("a defect"))),
  hangs: reads(() => Effect.never, { timeout_ms: 10 }),
  interrupts: reads(() => Effect.interrupt),
  written: writes((n) => Effect.succeed(n), { timeout_ms: 1_000 }),
  asked: asks((n) => Effect.succeed(n)),
  flaky: flaky()
}
/** Names that models make up are among them. */
const names = [...Object.keys(tools), "made_up", "hidden"]

const scriptOf = (seed: number): ReadonlyArray<Turn> => {
  const random = seeded(seed)
  const one = (n: number) => call(names[Math.floor(random() * names.length)]!, { n })
  const turns = Array.from({ length: 1 + Math.floor(random() * 3) }, (_, step) =>
    calls(Array.from({ length: 1 + Math.floor(random() * 6) }, (_, i) => one(step * 10 + i)))
  )
  return [...turns, text("done")]
}

/** Denies what is asked; of every third run it cancels the first question with the run. */
const played = Effect.fnUntraced(function* (seed: number) {
  const run = yield* H.send("go")
  const rest = yield* Effect.forkChild(
    Effect.gen(function* () {
      for (let nth = 1; ; nth++) {
        const { approval } = yield* H.question(run, nth)
        if (seed % 3 === 0) yield* H.cancel(run)
        else yield* Effect.ignore(H.decide(approval, deny))
      }
    })
  )
  const events = yield* H.ended(run)
  rest.interruptUnsafe()
  return { run, events }
})

type Count = Readonly<Record<string, number>>

const added = (keys: ReadonlyArray<string>): Count => {
  const counts: Record<string, number> = {}
  for (const key of keys) counts[key] = (counts[key] ?? 0) + 1
  return counts
}

const nameOf = (events: ReadonlyArray<RunEvent>, id: string): string => {
  for (const event of events) {
    if (event._tag !== "ModelTurned") continue
    const prefix = `${event.frame}/${event.step}.`
    if (id.startsWith(prefix)) return event.calls[Number(id.slice(prefix.length))]!.name
  }
  return "?"
}

/** What the journal says: the one truth. */
const journaled = (events: ReadonlyArray<RunEvent>) => {
  const settled = H.settled(events).map(({ call, outcome }) => {
    const name = nameOf(events, call)
    const unknown = outcome._tag === "Failed" && outcome.error.reason === "UNKNOWN_TOOL"
    const kind = errorKindOf(outcome)
    const status =
      kind === null
        ? "success"
        : kind === "timeout" && outcome._tag !== "Cancelled"
          ? "timeout"
          : "error"
    return { name, metric: unknown ? "(unknown)" : name, status, kind }
  })
  return {
    names: added(settled.map(({ name }) => name)),
    executions: added(settled.map(({ metric, status }) => `${metric} ${status}`)),
    durations: added(settled.map(({ metric }) => metric)),
    errors: added(
      settled.flatMap(({ kind, metric }) => (kind === null ? [] : [`${metric} ${kind}`]))
    ),
    timeouts: settled.filter(({ status }) => status === "timeout").length
  }
}

const measured = Effect.map(Metric.snapshot, (all) => {
  const of = (name: string, ...labels: ReadonlyArray<string>): Count =>
    Object.fromEntries(
      all
        .filter(({ id }) => id === `troupe_agentic_tools_${name}`)
        .map(({ attributes, state }) => [
          labels.map((label) => attributes?.[label]).join(" "),
          "count" in state ? Number(state.count) : 0
        ])
        // Those of the tools begin at 0.
        .filter(([, count]) => count !== 0)
    )
  return {
    executions: of("executions_total", "tool_name", "status"),
    durations: of("execution_duration_seconds", "tool_name"),
    errors: of("errors_total", "tool_name", "error_type"),
    timeouts: of("timeout_total")[""] ?? 0,
    filtered: of("filtered_total", "tool_name", "reason"),
    retries: of("retries_total", "tool_name", "error_kind"),
    exhausted: of("retries_exhausted_total")[""] ?? 0
  }
})

const stage = (seed: number, lines: Array<string>) => staged(scriptOf(seed), lines)

const staged = (script: ReadonlyArray<Turn>, lines: Array<string>) =>
  H.over({
    tools,
    script,
    agent: {
      tools: names.filter((name) => name in tools && name !== "hidden").map((n) => `test.${n}@1`)
    },
    observers: "ambient"
  }).pipe(
    Layer.provide(CallRecorder.layer.pipe(Layer.provideMerge(ToolCallTelemetry.layer))),
    Layer.provideMerge(Layer.fresh(EphemeralStores.layer)),
    Layer.provideMerge(
      Layer.mergeAll(
        Logger.layer([
          Logger.make<unknown, void>(({ message }) => {
            if (String(message) === "tool_call") lines.push("tool_call")
          })
        ]),
        Layer.succeed(Metric.MetricRegistry, new Map())
      )
    )
  )

/** The recorder writes a moment after the call. */
const recorded = Effect.fnUntraced(function* (run: string, least: number) {
  const records = yield* CallRecords
  for (let tries = 0; tries < 500; tries++) {
    const all = yield* records.ofRun(H.tenant, run as never, 500)
    if (all.filter(({ outcome }) => outcome !== undefined).length >= least) return all
    yield* Effect.yieldNow
  }
  return yield* records.ofRun(H.tenant, run as never, 500)
})

describe("the facts of completed calls", () => {
  it.live(
    "SM-46 SM-47 SM-90 SM-91 the log, the metrics, the records and the journal count the same, whatever happens",
    () =>
      Effect.gen(function* () {
        const seen = { calls: 0, retried: 0, timeouts: 0, cancelled: 0, exhausted: 0 }
        for (let seed = 0; seed < 60; seed++) {
          const lines: Array<string> = []
          yield* Effect.gen(function* () {
            const { events, run } = yield* played(seed)
            const truth = journaled(events)
            const { names, ...expected } = truth
            const at = `seed ${seed}`
            const total = Object.values(names).reduce((sum, n) => sum + n, 0)
            // Whoever decides tells of it after the commit, and by then the run may be over.
            for (let tries = 0; tries < 500 && lines.length < total; tries++) yield* Effect.sleep(1)
            const { exhausted, filtered, retries, ...metrics } = yield* measured
            assert.deepEqual(metrics as unknown, expected as unknown, at)
            assert.lengthOf(lines, total, at)
            const records = yield* recorded(run, total)
            const ends = records.filter(({ outcome }) => outcome !== undefined)
            assert.deepEqual(added(ends.map(({ tool_name }) => tool_name)), names, at)
            for (const { call, outcome } of H.settled(events)) {
              const its = ends.filter(({ call_id }) => call_id === call)
              assert.lengthOf(its, 1, at)
              assert.deepEqual(its[0]?.outcome, outcome, at)
            }
            const again = records.filter(({ retried }) => retried !== undefined)
            assert.deepEqual(
              added(again.map(({ retried, tool_name }) => `${tool_name} ${retried!.kind}`)),
              retries,
              at
            )
            const denied = H.settled(events).filter(
              ({ outcome }) => outcome._tag === "Denied"
            ).length
            assert.isAtLeast(filtered["asked approval_required"] ?? 0, denied, at)
            seen.calls += total
            seen.retried += again.length
            seen.timeouts += truth.timeouts
            seen.exhausted += exhausted
            seen.cancelled += H.settled(events).filter(
              ({ outcome }) => outcome._tag === "Cancelled"
            ).length
          }).pipe(Effect.provide(stage(seed, lines)))
        }
        for (const [what, count] of Object.entries(seen)) assert.isAbove(count, 0, what)
      }),
    { timeout: 120_000 }
  )

  it.live("SM-90 SM-91 are scraped under SemStreams' names, with a prefix of our own", () => {
    const lines: Array<string> = []
    const script = [
      calls([call("good", { n: 1 }), call("flaky", { n: 1 }), call("flaky", { n: 3 })]),
      calls([call("bad", { n: 1 }), call("hangs", { n: 1 }), call("asked", { n: 1 })]),
      text("done")
    ]
    return Effect.gen(function* () {
      const run = yield* H.send("go")
      const { approval } = yield* H.question(run)
      yield* H.decide(approval, deny)
      yield* H.ended(run)
      for (let tries = 0; tries < 500 && lines.length < 6; tries++) yield* Effect.sleep(1)
      const scraped = yield* PrometheusMetrics.format()
      for (const line of [
        'executions_total{tool_name="good",status="success"} 1',
        'executions_total{tool_name="hangs",status="timeout"} 1',
        'executions_total{tool_name="bad",status="error"} 1',
        'execution_duration_seconds_count{tool_name="good"} 1',
        'errors_total{tool_name="bad",error_type="invalid_args"} 1',
        "timeout_total 1",
        'filtered_total{tool_name="asked",reason="approval_required"} 1',
        'retries_total{tool_name="flaky",error_kind="network"} 3',
        "retries_exhausted_total 1",
        `registered ${Object.keys(tools).length}`
      ]) {
        assert.include(scraped, `troupe_agentic_tools_${line}`)
      }
      const bounds = [...scraped.matchAll(/seconds_bucket\{tool_name="good",le="([^"]+)"\}/g)]
      assert.deepEqual(
        bounds.map(([, bound]) => bound),
        [...Array.from({ length: 12 }, (_, i) => String(0.001 * 2 ** i)), "+Inf"]
      )
    }).pipe(Effect.provide(staged(script, lines)))
  })

  it.live("have a bounded number of series, whatever names a model makes up", () => {
    const lines: Array<string> = []
    const malformed = (name: string): Turn => ({
      ...call(name, null),
      calls: [{ model_id: "c", name, arguments: null, malformed: "{" }]
    })
    const made_up = Array.from({ length: 150 }, (_, n) => malformed(`made_up_${n}`))
    const script = [
      calls([call("good", { n: 1 }), malformed("long".repeat(100))]),
      ...[0, 50, 100].map((from) => calls(made_up.slice(from, from + 50))),
      calls([malformed("good"), malformed("made_up_0"), malformed("made_up_149")]),
      text("done")
    ]
    return Effect.gen(function* () {
      yield* H.ended(yield* H.send("go"))
      for (let tries = 0; tries < 500 && lines.length < 155; tries++) yield* Effect.sleep(1)
      const { executions } = yield* measured
      assert.isAtMost(Object.keys(executions).length, 103)
      assert.deepInclude(executions, {
        "good success": 1,
        "good error": 1,
        "made_up_0 error": 2,
        "(unknown) error": 52
      })
    }).pipe(Effect.provide(staged(script, lines)))
  })
})
