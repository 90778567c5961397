/**
 * One turn from a plan of models: what is tried again and when, which model is next, and what is not repeated.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber } from "effect"
import { TestClock } from "effect/testing"
import type { ModelDelta } from "../../services/ModelGateway.ts"
import type { CircuitPolicy, ModelPlan, ModelRetry } from "../../layers/model/plan/ModelPlan.ts"
import type { ProviderLimits } from "../../layers/model/plan/ProviderLimiter.ts"
import { text as scripted } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { fails, inTurn, model, planned, says } from "./Plans.ts"
import type { Doing } from "./Plans.ts"
import { rng } from "../simulation/Kernel.ts"

const gaps = (times: ReadonlyArray<number>) => times.slice(1).map((at, n) => at - times[n]!)

/** Runs a turn to its end while the clock goes on. */
const finished = <A, E>(turn: Effect.Effect<A, E>, ms = 300_000) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.forkChild(turn)
    yield* TestClock.adjust(ms)
    return yield* Fiber.await(fiber)
  })

const text = (exit: Exit.Exit<{ readonly text: string }, unknown>) =>
  Exit.isSuccess(exit) ? exit.value.text : "none"

describe("ResilientModelGateway", () => {
  it.effect("tries again after a transient failure and a jittered wait, and returns one turn", () =>
    Effect.gen(function* () {
      const broken: Doing = (_request, sink) => {
        sink({ kind: "reasoning", text: "hm", offset: 0 })
        sink({ kind: "text", text: "half", offset: 0 })
        return fails()(_request, sink, 0)
      }
      const main = model("main", inTurn(broken, fails(), says("whole")))
      const gateway = yield* planned({ models: [main] })
      const deltas: Array<ModelDelta> = []
      const exit = yield* finished(gateway.turn({}, (delta) => deltas.push(delta)))
      assert.strictEqual(text(exit), "whole")
      const [first, second] = gaps(main.times)
      assert.isTrue(first! >= 250 && first! <= 500, String(first))
      assert.isTrue(second! >= 500 && second! <= 1_000, String(second))
      assert.deepStrictEqual(deltas, [
        { kind: "reasoning", text: "hm", offset: 0 },
        { kind: "text", text: "half", offset: 0 },
        { kind: "reasoning", text: "", offset: 0 },
        { kind: "text", text: "", offset: 0 },
        { kind: "text", text: "whole", offset: 0 }
      ])
    })
  )

  it.effect("waits as long as the provider's answer says, up to its bound", () =>
    Effect.gen(function* () {
      for (const [retry_after_ms, least, most] of [
        [7_000, 7_000, 7_100],
        [30_000, 30_000, 30_100]
      ] as const) {
        const main = model("main", inTurn(fails("transient", { retry_after_ms }), says("ok")))
        const gateway = yield* planned({ models: [main] })
        assert.strictEqual(text(yield* finished(gateway.turn())), "ok")
        const [gap] = gaps(main.times)
        assert.isTrue(gap! >= least && gap! <= most, String(gap))
      }
    })
  )

  it.effect("calls the next model where the provider's wait is longer than the bound", () =>
    Effect.gen(function* () {
      const busy = model("busy", fails("transient", { retry_after_ms: 3_600_000 }))
      const gateway = yield* planned({ models: [busy, model("spare", says("spare"))] })
      assert.strictEqual((yield* gateway.turn()).text, "spare")
      assert.strictEqual((yield* gateway.turn()).text, "spare")
      assert.lengthOf(busy.asked, 1)
    })
  )

  it.effect(
    "asks nobody within a wait that is longer than the bound, and says how long it is",
    () =>
      Effect.gen(function* () {
        const busy = model(
          "busy",
          inTurn(fails("transient", { retry_after_ms: 90_000 }), says("at last"))
        )
        const gateway = yield* planned({ models: [busy] })
        const first = yield* Effect.flip(gateway.turn())
        assert.deepInclude(first, { kind: "transient", retry_after_ms: 90_000 })
        yield* TestClock.adjust(50_000)
        const second = yield* Effect.flip(gateway.turn())
        assert.deepInclude(second, { reason: "retry_later", retry_after_ms: 40_000 })
        assert.lengthOf(busy.asked, 1)
        yield* TestClock.adjust(40_000)
        assert.strictEqual((yield* gateway.turn()).text, "at last")
      })
  )

  it.effect("lets other turns wait out a wait within the bound, without an attempt in it", () =>
    Effect.gen(function* () {
      const busy = model(
        "busy",
        inTurn(fails("transient", { retry_after_ms: 20_000 }), says("at last"))
      )
      const gateway = yield* planned({ models: [busy], retry: { attempts_max: 1 } })
      yield* Effect.flip(gateway.turn())
      assert.strictEqual(text(yield* finished(gateway.turn())), "at last")
      assert.isAtLeast(gaps(busy.times)[0]!, 20_000)
    })
  )

  it.effect(
    "ends with the provider's own error after its attempts, and counts them in a plan",
    () =>
      Effect.gen(function* () {
        const alone = model("alone", fails())
        const one = yield* planned({ models: [alone] })
        const failure = yield* finished(Effect.flip(one.turn()))
        assert.isTrue(Exit.isSuccess(failure) && failure.value.message === "it is transient")
        assert.lengthOf(alone.asked, 3)
        const two = yield* planned({ models: [model("a", fails()), model("b", fails())] })
        const last = yield* finished(Effect.flip(two.turn()))
        assert.isTrue(
          Exit.isSuccess(last) &&
            last.value.message === "it is transient (the last of 6 attempts at 2 models)"
        )
      })
  )

  it.effect("takes its defaults for what its plan gives as undefined", () =>
    Effect.gen(function* () {
      const main = model("main", inTurn(fails(), says("whole")))
      const nothing = <A extends object>(...names: ReadonlyArray<keyof A>): A =>
        Object.fromEntries(names.map((name) => [name, undefined])) as A
      const gateway = yield* planned({
        models: [main],
        retry: nothing<ModelRetry>("attempts_max", "backoff_initial_ms", "attempt_timeout_ms"),
        circuit: nothing<CircuitPolicy>("failures_max", "open_ms"),
        limits: { [main.provider]: nothing<ProviderLimits>("concurrent_max", "queue_max") }
      })
      assert.strictEqual(text(yield* finished(gateway.turn())), "whole")
      const [gap] = gaps(main.times)
      assert.isTrue(gap! >= 250 && gap! <= 500, String(gap))
    })
  )

  it.effect("calls the models in the plan's order, each by its own name", () =>
    Effect.gen(function* () {
      const models = [
        model("a", fails(), "acme", "a-2026"),
        model("b", fails(), "best"),
        model("c", says("c"), "core", "c-2026")
      ]
      const gateway = yield* planned({ models, retry: { attempts_max: 1 } })
      const turn = yield* gateway.turn()
      assert.deepStrictEqual([turn.text, turn.model], ["c", "c-1"])
      assert.deepStrictEqual(
        models.map((each) => each.asked.map((asked) => asked.model)),
        [["a-2026"], [undefined], ["c-2026"]]
      )
    })
  )

  it.effect("begins with the model that the agent names, and continues with those after it", () =>
    Effect.gen(function* () {
      const [a, b, c] = [model("a", says("a")), model("b", fails()), model("c", says("c"))]
      const gateway = yield* planned({ models: [a!, b!, c!], retry: { attempts_max: 1 } })
      assert.strictEqual((yield* gateway.turn({ model: "b" })).text, "c")
      assert.lengthOf(a!.asked, 0)
      assert.strictEqual((yield* gateway.turn({ model: "elsewhere" })).text, "a")
      assert.strictEqual(a!.asked[0]!.model, "elsewhere")
    })
  )

  it.effect(
    "never repeats a refused request, and falls back after a refusal only where that is declared",
    () =>
      Effect.gen(function* () {
        for (const kind of ["refused", "configuration"] as const) {
          const main = model("main", fails(kind))
          const spare = model("spare", says("spare"))
          const strict = yield* planned({ models: [main, spare] })
          assert.strictEqual((yield* Effect.flip(strict.turn())).kind, kind)
          assert.deepStrictEqual([main.asked.length, spare.asked.length], [1, 0])
          const declared = yield* planned({
            models: [main, spare],
            fall_back_on: ["transient", kind]
          })
          assert.strictEqual((yield* declared.turn()).text, "spare")
        }
      })
  )

  it.effect("abandons an attempt that does not end, and calls the next model", () =>
    Effect.gen(function* () {
      const main = model(
        "main",
        inTurn(() => Effect.never, says("late"))
      )
      const gateway = yield* planned({ models: [main], retry: { attempt_timeout_ms: 1_000 } })
      assert.strictEqual(text(yield* finished(gateway.turn())), "late")
      assert.strictEqual(main.load.now, 0)
    })
  )

  it.effect("refuses an invalid plan, and names the field", () =>
    Effect.gen(function* () {
      const main = model("main", says("x"))
      const flaws: ReadonlyArray<readonly [plan: ModelPlan, says: string]> = [
        [{ models: [] }, "names no model"],
        [{ models: [main, main] }, "names main twice"],
        [{ models: [main], retry: { attempts_max: 0 } }, "retry.attempts_max"],
        [{ models: [main], circuit: { open_ms: 0.5 } }, "circuit.open_ms"],
        [{ models: [main], limits: { acme: { concurrent_max: 0 } } }, "limits.acme.concurrent_max"],
        [{ models: [main], limits: { other: {} } }, "other"]
      ]
      for (const [plan, part] of flaws) {
        const failure = yield* Effect.flip(planned(plan))
        assert.strictEqual(failure.kind, "configuration")
        assert.include(failure.message, part)
      }
    })
  )
})

describe("ResilientModelGateway: the circuit of a model", () => {
  const policy = {
    retry: { attempts_max: 1, backoff_initial_ms: 1 },
    circuit: { failures_max: 3, open_ms: 10_000 }
  }

  it.effect(
    "opens after consecutive failures, admits one probe, and closes when the probe succeeds",
    () =>
      Effect.gen(function* () {
        let works = false
        const main = model("main", (request, sink, n) =>
          works
            ? Effect.andThen(Effect.sleep(100), says("ok")(request, sink, n))
            : fails()(request, sink, n)
        )
        const gateway = yield* planned({ models: [main], ...policy })
        for (let n = 0; n < 3; n++) yield* Effect.flip(gateway.turn())
        const open = yield* Effect.flip(gateway.turn())
        assert.deepStrictEqual(
          [open.reason, open.kind, open.retry_after_ms],
          ["circuit_open", "transient", 10_000]
        )
        assert.lengthOf(main.asked, 3)
        yield* TestClock.adjust(9_999)
        yield* Effect.flip(gateway.turn())
        assert.lengthOf(main.asked, 3)
        yield* TestClock.adjust(1)
        works = true
        const turns = yield* Effect.forkChild(
          Effect.forEach([0, 1, 2, 3], () => Effect.exit(gateway.turn()), {
            concurrency: "unbounded"
          })
        )
        yield* TestClock.adjust(100)
        const exits = yield* Fiber.join(turns)
        assert.strictEqual(exits.filter(Exit.isSuccess).length, 1)
        assert.lengthOf(main.asked, 4)
        yield* finished(gateway.turn())
        assert.lengthOf(main.asked, 5)
      })
  )

  it.effect("opens again when the probe fails, and stays open when the probe is interrupted", () =>
    Effect.gen(function* () {
      const main = model(
        "main",
        inTurn(fails(), fails(), fails(), fails(), () => Effect.never)
      )
      const gateway = yield* planned({ models: [main], ...policy })
      for (let n = 0; n < 3; n++) yield* Effect.flip(gateway.turn())
      yield* TestClock.adjust(10_000)
      yield* Effect.flip(gateway.turn())
      assert.strictEqual((yield* Effect.flip(gateway.turn())).reason, "circuit_open")
      yield* TestClock.adjust(10_000)
      const probe = yield* Effect.forkChild(gateway.turn(), { startImmediately: true })
      assert.lengthOf(main.asked, 5)
      yield* Fiber.interrupt(probe)
      const next = yield* Effect.forkChild(gateway.turn(), { startImmediately: true })
      assert.lengthOf(main.asked, 6)
      yield* Fiber.interrupt(next)
      assert.strictEqual(main.load.now, 0)
    })
  )

  it.effect("is skipped while it is open, without a wait", () =>
    Effect.gen(function* () {
      const main = model("main", fails())
      const gateway = yield* planned({ models: [main, model("spare", says("spare"))], ...policy })
      for (let n = 0; n < 10; n++) assert.strictEqual((yield* gateway.turn()).text, "spare")
      assert.lengthOf(main.asked, 3)
    })
  )

  it.effect("is waited for where attempts are left and no other model is", () =>
    Effect.gen(function* () {
      const main = model("main", inTurn(fails(), fails(), fails(), says("back")))
      const gateway = yield* planned({ models: [main], circuit: policy.circuit })
      assert.isTrue(Exit.isFailure(yield* finished(gateway.turn(), 5_000)))
      assert.strictEqual(text(yield* finished(gateway.turn())), "back")
    })
  )

  it.effect("does not open after refusals", () =>
    Effect.gen(function* () {
      const main = model("main", fails("refused"))
      const gateway = yield* planned({ models: [main], ...policy })
      for (let n = 0; n < 10; n++) yield* Effect.flip(gateway.turn())
      assert.lengthOf(main.asked, 10)
    })
  )
})

describe("ResilientModelGateway: concurrent requests", () => {
  it.effect("run at most in the number that the provider allows, over all of its models", () =>
    Effect.gen(function* () {
      const slow: Doing = (request, sink, n) =>
        Effect.andThen(Effect.sleep(100), says("ok")(request, sink, n))
      const [a, b] = [model("a", slow), model("b", slow)]
      const gateway = yield* planned({
        models: [a!, b!],
        limits: { acme: { concurrent_max: 3 } }
      })
      let most = 0
      const watch = Effect.sync(() => {
        most = Math.max(most, a!.load.now + b!.load.now)
      })
      const turns = yield* Effect.forkChild(
        Effect.forEach(
          Array.from({ length: 30 }, (_, n) => n),
          (n) => Effect.tap(gateway.turn({ model: n % 2 === 0 ? "a" : "b" }), watch),
          { concurrency: "unbounded" }
        )
      )
      for (let n = 0; n < 20; n++) {
        yield* TestClock.adjust(50)
        yield* watch
      }
      assert.lengthOf(yield* Fiber.join(turns), 30)
      assert.strictEqual(most, 3)
    })
  )

  it.effect("are refused beyond the bound of the queue, with an error of its own", () =>
    Effect.gen(function* () {
      const main = model("main", () => Effect.never)
      const gateway = yield* planned({
        models: [main],
        limits: { acme: { concurrent_max: 1, queue_max: 0 } }
      })
      const first = yield* Effect.forkChild(gateway.turn(), { startImmediately: true })
      assert.strictEqual((yield* Effect.flip(gateway.turn())).reason, "queue_full")
      yield* Fiber.interrupt(first)
      assert.strictEqual(main.load.now, 0)
    })
  )

  it.effect("wait where they would use more tokens a minute than the provider allows", () =>
    Effect.gen(function* () {
      const counted: Doing = () =>
        Exit.succeed({
          ...scripted("ok"),
          usage: { input_tokens: 50_000, output_tokens: 10_000 }
        })
      const main = model("main", counted)
      const gateway = yield* planned({
        models: [main],
        limits: { acme: { tokens_per_minute: 60_000, wait_ms_max: 120_000 } }
      })
      const transcript = [{ role: "user" as const, text: "word ".repeat(20_000) }]
      yield* gateway.turn({ transcript })
      // The first request was counted as a whole minute's tokens, whatever its estimate was.
      const second = yield* Effect.forkChild(gateway.turn({ transcript }))
      yield* TestClock.adjust(15_000)
      assert.lengthOf(main.asked, 1)
      yield* TestClock.adjust(45_000)
      yield* Fiber.join(second)
      assert.lengthOf(main.asked, 2)
    })
  )

  it.effect(
    "leak no permit, have bounded attempts and keep the plan's order, in 40 random storms",
    () =>
      Effect.gen(function* () {
        for (let seed = 1; seed <= 40; seed++) yield* storm(seed)
      })
  )
})

/** Random failures, waits and interruptions against a plan; then everything works, and all permits are there. */
const storm = Effect.fnUntraced(function* (seed: number) {
  const next = rng(seed)
  const upTo = (n: number) => Math.floor(next() * n)
  let calm = false
  const attempts = new Map<number, Array<string>>()
  const doing =
    (name: string): Doing =>
    (request, sink, n) => {
      attempts.set(request.step, [...(attempts.get(request.step) ?? []), name])
      if (calm) return Effect.andThen(Effect.sleep(10), says(name)(request, sink, n))
      const what = next()
      const end =
        what < 0.45
          ? says(name)(request, sink, n)
          : what < 0.85
            ? fails("transient", next() < 0.3 ? { retry_after_ms: upTo(60_000) } : {})(
                request,
                sink,
                n
              )
            : what < 0.9
              ? fails("refused")(request, sink, n)
              : what < 0.95
                ? Effect.die("bug")
                : Effect.never
      return Effect.andThen(Effect.sleep(upTo(2_000)), end)
    }
  const names = ["a", "b", "c"]
  const models = names.map((name) => model(name, doing(name), name === "c" ? "other" : "acme"))
  const concurrent_max = 1 + upTo(3)
  const attempts_max = 1 + upTo(3)
  const gateway = yield* planned({
    models,
    retry: { attempts_max, attempt_timeout_ms: 5_000 },
    circuit: { failures_max: 1 + upTo(4), open_ms: 1 + upTo(20_000) },
    limits: {
      acme: { concurrent_max, tokens_per_minute: next() < 0.5 ? 0 : 60_000, wait_ms_max: 30_000 },
      other: { concurrent_max: 2, queue_max: 3 }
    }
  })
  const fibers: Array<Fiber.Fiber<unknown, unknown>> = []
  for (let step = 1; step <= 30; step++) {
    fibers.push(yield* Effect.forkChild(gateway.turn({ step })))
    if (next() < 0.5) yield* TestClock.adjust(upTo(1_000))
    if (next() < 0.2) yield* Effect.forkChild(Fiber.interrupt(fibers[upTo(fibers.length)]!))
  }
  yield* TestClock.adjust(600_000)
  for (const fiber of fibers) yield* Fiber.await(fiber)
  for (const [step, asked] of attempts) {
    const of = `seed ${seed}, step ${step}: ${asked.join(" ")}`
    assert.isAtMost(asked.length, attempts_max * names.length, of)
    assert.deepStrictEqual(asked, asked.toSorted(), of)
  }
  for (const each of models) assert.strictEqual(each.load.now, 0, `seed ${seed}`)
  assert.isAtMost(models[0]!.load.most, concurrent_max, `seed ${seed}`)
  assert.isAtMost(models[1]!.load.most, concurrent_max, `seed ${seed}`)
  // All permits are there again: as many as are allowed run at once.
  calm = true
  const after = yield* Effect.forkChild(
    Effect.forEach(Array.from({ length: 3 }), () => gateway.turn({ step: 1_000 }), {
      concurrency: "unbounded"
    })
  )
  yield* TestClock.adjust(60_000)
  assert.lengthOf(yield* Fiber.join(after), 3, `seed ${seed}`)
})
