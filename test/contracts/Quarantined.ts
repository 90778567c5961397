/**
 * A run whose stored journal is damaged while a runtime holds it, and what every reader sees of it. `inflict` breaks the
 * stored events of a run that waits for an approval, and returns the effect that repairs them.
 */
import { assert } from "@effect/vitest"
import { Effect, Exit, Logger, References, Stream } from "effect"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { ApprovalDesk } from "../../services/ApprovalDesk.ts"
import { RunJournal } from "../../services/RunJournal.ts"
import { RunOwnership } from "../../services/RunOwnership.ts"
import { RunQuarantine } from "../../services/RunQuarantine.ts"
import { RunReader } from "../../services/RunReader.ts"
import type { RunQuery } from "../../services/RunList.ts"
import { RunList } from "../../services/RunList.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { CallId, ConversationId, Tenant } from "../../src/value/Ids.ts"
import type { RunId } from "../../src/value/Ids.ts"
import type { QuarantineReason } from "../../src/run/Quarantine.ts"
import { RunQuarantined } from "../../src/run/Quarantine.ts"
import * as H from "../runtime/Harness.ts"

export interface Damage<R> {
  readonly reason: QuarantineReason
  readonly seq: number
  readonly inflict: (run: RunId) => Effect.Effect<Effect.Effect<unknown, unknown, R>, unknown, R>
}

const config = { park_ms: 20, idle_ms: 50, sweep_ms: 20, watch_ms: 20 }

const options: H.Options = {
  script: ({ transcript }) => (transcript.length === 1 ? call("pay", { n: 1 }) : text("done")),
  tools: { pay: H.asks((n) => Effect.succeed(n), { approval_expires_ms: 3_600_000 }) },
  config
}

const stranger = H.person("bob", ["admin"], Tenant.make("globex"))

/** Every value that is logged at error level, as one line. */
const errors = () => {
  const lines: Array<string> = []
  const logger = Logger.make(({ fiber, logLevel, message }) => {
    const more = JSON.stringify(fiber.getRef(References.CurrentLogAnnotations))
    if (logLevel === "Error") lines.push(`${String(message)} ${more}`)
  })
  return { lines, layer: Logger.layer([logger]) }
}

const failed = <A, E, R>(effect: Effect.Effect<A, E, R>, damage: Damage<never>, run: RunId) =>
  Effect.map(Effect.flip(effect), (error) => {
    assert.instanceOf(error, RunQuarantined)
    const { reason, seq } = damage
    assert.strictEqual(`${error}`, `${new RunQuarantined({ run_id: run, reason, seq })}`)
  })

/** Other runs go on: one of another tenant asks, is decided and ends. */
const anotherCompletes = Effect.fnUntraced(function* (process: H.Process, conversation: string) {
  const run = yield* process.run(H.send("hello", conversation, stranger))
  yield* process.run(
    H.until((event, id) => id === run && event._tag === "ApprovalRequested", conversation, stranger)
  )
  const [question] = yield* process.run(ApprovalDesk.use((desk) => desk.pending(stranger, 500)))
  yield* process.run(H.decide(question!.id, H.approve, stranger))
  const all = yield* process.run(H.ended(run, conversation, stranger))
  assert.deepInclude(H.end(all), { status: "complete" })
})

const rawOf = (run: RunId) =>
  RunQuarantine.use((quarantine) => quarantine.raw(H.tenant, run, 0, 10_000))

/** Every entry point refuses the run as quarantined, and changes nothing. */
const refusedEverywhere = Effect.fnUntraced(function* (
  process: H.Process,
  run: RunId,
  approval: Parameters<typeof H.decide>[0],
  damage: Damage<never>
) {
  const before = yield* process.run(rawOf(run))
  yield* failed(process.run(H.decide(approval, H.approve)), damage, run)
  yield* failed(process.run(H.cancel(run)), damage, run)
  const settlement = { _tag: "Failed", message: "no" } as const
  yield* failed(
    process.run(
      AgentRuntime.use((runtime) => runtime.settle(run, CallId.make("0/1.0"), settlement, H.alice))
    ),
    damage,
    run
  )
  yield* failed(
    process.run(RunOwnership.use((ownership) => ownership.claim(run, "me"))),
    damage,
    run
  )
  yield* failed(
    process.run(RunQuarantine.use((quarantine) => quarantine.liftQuarantine(run, H.tenant))),
    damage,
    run
  )
  // The body of a transaction does not run either.
  let ran = false
  const { epoch, length } = yield* process.run(RunReader.use((reader) => reader.head(run)))
  const body = Effect.sync(() => {
    ran = true
  })
  const refused = RunJournal.use((journal) =>
    Effect.flip(
      journal.transact(run, { epoch, length }, body, () => ({ events: [], status: "processing" }))
    )
  )
  assert.deepInclude(yield* process.run(refused), { _tag: "StaleAppend", length })
  assert.isFalse(ran)
  // A watcher gets the events that can be read, and then the failure.
  const seen: Array<number> = []
  const watched = AgentRuntime.use((runtime) =>
    runtime.watch(ConversationId.make("c-1"), { ordinal: 0, seq: -1 }, H.alice).pipe(
      Stream.runForEach((item) =>
        Effect.sync(() => {
          if (item._tag === "Event" && item.run === run) seen.push(item.entry.seq)
        })
      )
    )
  )
  yield* failed(process.run(watched), damage, run)
  if (damage.reason !== "unfoldable") assert.strictEqual(seen.length, damage.seq)
  assert.deepStrictEqual(yield* process.run(rawOf(run)), {
    quarantined: true,
    events: before.events
  })
})

/** Lists mark the run as quarantined, and the run that waits behind it says why it waits. */
const marked = Effect.fnUntraced(function* (
  process: H.Process,
  run: RunId,
  later: RunId,
  damage: Damage<never>
) {
  const list = (query: Partial<RunQuery>) =>
    process.run(RunList.use((runs) => runs.list({ tenant: H.tenant, limit: 500, ...query })))
  // Newest first.
  const two = yield* list({ limit: 2 })
  assert.deepStrictEqual(
    two.map(({ id, quarantined }) => [id, quarantined]),
    [
      [later, undefined],
      [run, true]
    ]
  )
  const awaiting = yield* list({ status: "awaiting_approval" })
  assert.isFalse(awaiting.some(({ id }) => id === run))
  const questions = yield* process.run(ApprovalDesk.use((desk) => desk.pending(H.alice, 500)))
  const own = questions.filter(({ run_id }) => run_id === run)
  assert.deepStrictEqual(
    own.map(({ altered, quarantined }) => [quarantined, altered]),
    [[true, undefined]]
  )
  const behind = AgentRuntime.use((runtime) =>
    Stream.runDrain(runtime.watch(ConversationId.make("c-1"), { ordinal: 2, seq: -1 }, H.alice))
  )
  yield* failed(process.run(behind), damage, run)
})

const listed = (tenant: Tenant) =>
  RunQuarantine.use((quarantine) => quarantine.quarantined({ tenant, limit: 500 }))

/** The whole scenario, over stores that the test provides. */
export const isQuarantined = <R>(damage: Damage<R>) =>
  Effect.gen(function* () {
    const log = errors()
    const first = yield* Effect.provide(H.boot(options), log.layer)
    const run = yield* first.run(H.send("pay"))
    const { approval } = yield* first.run(H.question(run))
    const later = yield* first.run(H.send("and then?"))
    const repair = yield* damage.inflict(run)
    const described = damage as unknown as Damage<never>
    yield* Effect.provide(refusedEverywhere(first, run, approval, described), log.layer)
    yield* marked(first, run, later, described)
    yield* anotherCompletes(first, "x-1")
    const [entry, ...others] = yield* first.run(listed(H.tenant))
    assert.deepStrictEqual(others, [])
    const { at, length, ...shown } = entry!
    assert.isAbove(at, 0)
    assert.isAbove(length, 2)
    assert.deepStrictEqual(shown, {
      run_id: run,
      agent: H.agentName,
      conversation: ConversationId.make("c-1"),
      reason: damage.reason,
      seq: damage.seq,
      waiting: 1
    })
    assert.deepStrictEqual(yield* first.run(listed(stranger.tenant)), [])
    const lines = log.lines.filter((line) => line.includes(run))
    assert.strictEqual(lines.length, 1, lines.join("\n"))
    assert.include(lines[0], damage.reason)
    yield* first.stop

    const second = yield* Effect.provide(H.boot(options), log.layer)
    yield* anotherCompletes(second, "x-2")
    yield* Effect.provide(refusedEverywhere(second, run, approval, described), log.layer)
    assert.strictEqual(log.lines.filter((line) => line.includes(run)).length, 1)
    const { tenant: other } = stranger
    for (const foreign of [
      RunQuarantine.use((quarantine) => Effect.asVoid(quarantine.liftQuarantine(run, other))),
      RunQuarantine.use((quarantine) => Effect.asVoid(quarantine.raw(other, run, 0, 10)))
    ]) {
      assert.strictEqual((yield* Effect.flip(second.run(foreign)))._tag, "RunNotFound")
    }

    yield* repair
    yield* second.run(RunQuarantine.use((quarantine) => quarantine.liftQuarantine(run, H.tenant)))
    assert.deepStrictEqual(yield* second.run(listed(H.tenant)), [])
    yield* second.run(H.decide(approval, H.approve))
    assert.deepInclude(H.end(yield* second.run(H.ended(run))), { status: "complete" })
    // The run that waited behind it goes on.
    const next = yield* second.run(H.question(later))
    yield* second.run(H.decide(next.approval, H.approve))
    assert.deepInclude(H.end(yield* second.run(H.ended(later))), { status: "complete" })
    assert.isTrue(Exit.isSuccess(yield* Effect.exit(second.stop)))
  })
