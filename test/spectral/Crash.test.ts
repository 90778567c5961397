/**
 * A turn with two specialists at once, whose process dies at each of its appends, before and after it is durable. Another
 * process takes the run over.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, Scope } from "effect"
import { TestClock } from "effect/testing"
import * as Stores from "../../layers/compose/assembly/StoreLayers.ts"
import { call, calls, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import type { Script } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AuthorizationDesk } from "../../services/AuthorizationDesk.ts"
import type { Append, RunJournal } from "../../services/RunJournal.ts"
import { StorePace } from "../../services/StorePace.ts"
import { spectral_name } from "../../src/spectral/agents/SpectralAgents.ts"
import { AgentName } from "../../src/value/Ids.ts"
import type { RunEvent } from "../../src/run/RunEvent.ts"
import * as H from "../runtime/Harness.ts"
import { ask, ended, olga, over, send } from "./Workspace.ts"
import * as WholeJournal from "../contracts/WholeJournal.ts"

const config = { lease_ms: 1_000, sweep_ms: 500, drain_ms: 0 }

/** Looks at nothing but the request, so that a turn that is asked for again is the same. */
const script: Script = ({ agent, step }) => {
  if (agent === spectral_name) {
    return step === 1
      ? calls([ask("scan-analyst"), ask("change-manager", "apply change set 7")])
      : text("It had 7, and 7 is applied.")
  }
  if (step > 1) return text(`${agent} is done`)
  return agent === "scan-analyst"
    ? calls([call("get_scan_scores", { n: 1 }), call("get_scan_detail", { n: 2 })])
    : call("apply_changeset", { n: 7 })
}

/** Where a process dies: at which of its appends, and whether that one is durable. */
interface Death {
  readonly at: number
  readonly durable: boolean
}

/** What a process does: it counts its appends, and from its death on nothing that it asks or does comes to anything. */
class Life {
  isOver = false
  appends = 0
  readonly #death: Death | undefined

  constructor(death?: Death) {
    this.#death = death
  }

  readonly alive = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.suspend(() => (this.isOver ? Effect.never : effect))

  readonly append =
    (append: RunJournal["Service"]["append"]) =>
    (events: Append): ReturnType<typeof append> =>
      Effect.suspend(() => {
        if (this.isOver) return Effect.never
        this.appends++
        if (this.appends !== this.#death?.at) return append(events)
        this.isOver = true
        return this.#death.durable ? Effect.andThen(append(events), Effect.never) : Effect.never
      })
}

/** What happened outside: reads by their number, changes by the key of their call. */
class Outside {
  readonly reads: Array<number> = []
  readonly changes: Array<string> = []
}

const bodiesOf = (life: Life, outside: Outside): Readonly<Record<string, H.TestTool>> => {
  const read = H.reads((n) => life.alive(Effect.sync(() => (outside.reads.push(n), `read ${n}`))))
  const apply = (n: number, key: string | undefined) =>
    life.alive(Effect.sync(() => (outside.changes.push(`${key}`), `applied ${n}`)))
  return {
    get_scan_scores: read,
    get_scan_detail: read,
    apply_changeset: H.asks((n, { key }) => apply(n, key), { idempotent: true })
  }
}

/** One process over the test's stores, which lives for as long as the test does. */
const boot = Effect.fnUntraced(function* (life: Life, outside: Outside) {
  const scope = yield* Scope.make()
  yield* Effect.addFinalizer(() => Scope.close(scope, Exit.void))
  const journal = yield* WholeJournal.journal
  const mortal: WholeJournal.WholeJournal = {
    ...journal,
    append: life.append(journal.append),
    heartbeat: (...args) => life.alive(journal.heartbeat(...args)),
    claim: (...args) => life.alive(journal.claim(...args)),
    recoverable: (...args) => life.alive(journal.recoverable(...args)),
    amend: (...args) => life.alive(journal.amend(...args)),
    // The dead do not give up their lease; their remains are still cleared away at the test's end.
    release: (owner) => (life.isOver ? Effect.void : journal.release(owner))
  }
  const context = yield* Layer.buildWithMemoMap(
    over({ script, config, bodies: bodiesOf(life, outside) }).pipe(
      Layer.provide(Layer.succeedContext(WholeJournal.context(mortal)))
    ),
    Layer.makeMemoMapUnsafe(),
    scope
  )
  return <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.provide(effect, context)
})

const authorise = AuthorizationDesk.use((desk) =>
  desk.grant({ agent: AgentName.make("change-manager"), action: "apply_changeset" }, olga)
)

/** Each call has one result, none of them guessed, and the run one end. */
const assertWhole = (events: ReadonlyArray<RunEvent>, outside: Outside, where: string) => {
  assert.deepInclude(
    H.end(events),
    { status: "complete", text: "It had 7, and 7 is applied." },
    where
  )
  assert.strictEqual(H.count(events, "RunEnded"), 1, where)
  const outcomes = H.settled(events).map(({ call: id, outcome }) => [
    id,
    outcome._tag === "Value" ? JSON.parse(outcome.json) : outcome
  ])
  assert.sameDeepMembers(
    outcomes,
    [
      ["0/1.0", "scan-analyst is done"],
      ["0/1.1", "change-manager is done"],
      ["0/1.0/1.0", "read 1"],
      ["0/1.0/1.1", "read 2"],
      ["0/1.1/1.0", "applied 7"]
    ],
    where
  )
  assert.strictEqual(H.count(events, "FrameOpened"), 2, where)
  assert.strictEqual(H.count(events, "ApprovalRequested"), 0, where)
  // Whoever receives changes tells repeated ones by their key: there is one.
  assert.strictEqual(new Set(outside.changes).size, 1, where)
  const dispatched = events.filter((event) => event._tag === "CallDispatched")
  assert.strictEqual(dispatched[0]?.authorized?.by, "olga", where)
  assert.strictEqual(new Set(dispatched.map(({ key }) => key)).size, 1, where)
}

/** The run of one message, whose first process dies so; how many appends that process had begun. */
const lived = (death?: Death) =>
  Effect.gen(function* () {
    const outside = new Outside()
    const life = new Life(death)
    const first = yield* boot(life, outside)
    yield* first(authorise)
    // A message whose acceptance is not durable was never acknowledged: it may be lost, and is sent again.
    const sent = yield* Effect.forkChild(first(send("how did it score? apply 7")))
    const where = JSON.stringify(death)
    for (let i = 0; i < 200; i++) yield* Effect.yieldNow
    const run = sent.pollUnsafe()
    assert.isTrue(run !== undefined && Exit.isSuccess(run), `the message is accepted: ${where}`)
    if (run === undefined || Exit.isFailure(run)) return life.appends
    if (death === undefined) {
      assertWhole(yield* first(ended(run.value)), outside, "undisturbed")
      assert.lengthOf(outside.reads, 2)
      assert.lengthOf(outside.changes, 1)
      return life.appends
    }
    assert.isTrue(life.isOver, where)
    const second = yield* boot(new Life(), outside)
    yield* TestClock.adjust("5 seconds")
    assertWhole(yield* second(ended(run.value)), outside, where)
    // A read whose result was not durable is read once more, and no other.
    assert.isAtMost(outside.reads.length, 4, where)
    assert.isAtMost(outside.changes.length, 2, where)
    return life.appends
  }).pipe(
    Effect.scoped,
    // Two processes share these stores.
    Effect.provideService(StorePace, (ms) => ms),
    Effect.provide(Stores.ephemeral)
  )

describe("a turn with two specialists whose process dies", () => {
  it.effect(
    "SA-07 SA-51 ends in the next process at every append: no call is lost, no change is made twice",
    () =>
      Effect.gen(function* () {
        const appends = yield* lived()
        assert.isAtLeast(appends, 6)
        for (let at = 1; at <= appends; at++) {
          for (const durable of [false, true]) yield* lived({ at, durable })
        }
      })
  )
})
