/** An approval whose record is gone from the store, and is restored from the journal. */
import { assert } from "@effect/vitest"
import { Effect, Logger } from "effect"
import { ApprovalDesk } from "../../services/ApprovalDesk.ts"
import { RunQuarantine } from "../../services/RunQuarantine.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import type { ApprovalId, RunId } from "../../src/value/Ids.ts"
import { ConversationId } from "../../src/value/Ids.ts"
import * as H from "../runtime/Harness.ts"

const options: H.Options = {
  script: ({ transcript }) => (transcript.length === 1 ? call("pay", { n: 1 }) : text("done")),
  tools: { pay: H.asks((n) => Effect.succeed(n), { approval_expires_ms: 3_600_000 }) },
  config: { park_ms: 20, idle_ms: 50, sweep_ms: 20, watch_ms: 20, audit_first_ms: 0 }
}

const own = (run: RunId) =>
  Effect.map(
    ApprovalDesk.use((desk) => desk.pending(H.alice, 500)),
    (all) => all.filter(({ run_id }) => run_id === run)
  )

const listed = (process: H.Process, run: RunId) =>
  Effect.repeat(Effect.andThen(Effect.sleep(5), process.run(own(run))), {
    until: (questions) => questions.length > 0
  })

/** `lose` removes the record, or only its place among the pending ones. */
export const comesBack = <R>(lose: (id: ApprovalId) => Effect.Effect<unknown, unknown, R>) =>
  Effect.gen(function* () {
    const first = yield* H.boot(options)
    const run = yield* first.run(H.send("pay"))
    const { approval } = yield* first.run(H.question(run))
    const [before] = yield* first.run(own(run))
    yield* lose(approval)
    assert.deepStrictEqual(yield* first.run(own(run)), [])
    yield* first.stop
    // The audit of the next process restores the record as it was.
    const second = yield* H.boot(options)
    assert.deepStrictEqual(yield* listed(second, run), [before])
    // So does the audit of a process that already runs.
    yield* lose(approval)
    const audit = second.run(RunQuarantine.use((quarantine) => quarantine.audit(1_000)))
    yield* audit
    assert.deepStrictEqual(yield* second.run(own(run)), [before])
    yield* audit
    assert.strictEqual((yield* second.run(own(run))).length, 1)
    yield* second.run(H.decide(approval, H.approve))
    assert.deepInclude(H.end(yield* second.run(H.ended(run))), { status: "complete" })
    // A decided approval is not restored.
    yield* audit
    assert.deepStrictEqual(yield* second.run(own(run)), [])
    yield* second.stop
  }).pipe(Effect.provide(Logger.layer([])))

const asksClient: H.Options = {
  ...options,
  tools: { pay: H.writes((n) => Effect.succeed(n)) },
  spied: (tool) => ({ ...tool, client: { expires_ms: 3_600_000 } })
}

/** The same of a call that waits for a client: it is listed and answered again. */
export const clientComesBack = <R>(lose: (id: ApprovalId) => Effect.Effect<unknown, unknown, R>) =>
  Effect.gen(function* () {
    const process = yield* H.boot(asksClient)
    const run = yield* process.run(H.send("pay", "client-lost"))
    const listed = process.run(
      ApprovalDesk.use((desk) => desk.clientCalls(ConversationId.make("client-lost"), H.alice))
    )
    const [before] = yield* Effect.repeat(Effect.andThen(Effect.sleep(5), listed), {
      until: (calls) => calls.length > 0
    })
    yield* lose(before!.id)
    assert.deepStrictEqual(yield* listed, [])
    yield* process.run(RunQuarantine.use((quarantine) => quarantine.audit(1_000)))
    assert.deepStrictEqual(yield* listed, [before!])
    yield* process.run(ApprovalDesk.use((desk) => desk.answer(before!.id, { result: 1 }, H.alice)))
    const all = yield* process.run(H.ended(run, "client-lost"))
    assert.deepInclude(H.end(all), { status: "complete" })
    yield* process.run(RunQuarantine.use((quarantine) => quarantine.audit(1_000)))
    assert.deepStrictEqual(yield* listed, [])
    yield* process.stop
  }).pipe(Effect.provide(Logger.layer([])))

/** The next start finds a gap in the journal of a run that nothing has read since. */
export const gapIsFound = <R>(
  inflict: (run: RunId) => Effect.Effect<unknown, unknown, R>,
  config: NonNullable<H.Options["config"]> = options.config!
) =>
  Effect.gen(function* () {
    const first = yield* H.boot(options)
    const run = yield* first.run(H.send("pay"))
    yield* first.run(H.question(run))
    yield* first.stop
    yield* inflict(run)
    const second = yield* H.boot({ ...options, config })
    const found = yield* Effect.repeat(
      Effect.andThen(
        Effect.sleep(5),
        second.run(
          RunQuarantine.use((quarantine) =>
            quarantine.quarantined({ tenant: H.tenant, limit: 500 })
          )
        )
      ),
      { until: (all) => all.some(({ run_id }) => run_id === run) }
    )
    assert.deepInclude(
      found.find(({ run_id }) => run_id === run),
      { reason: "gap", seq: 2 }
    )
    yield* second.stop
  }).pipe(Effect.provide(Logger.layer([])))
