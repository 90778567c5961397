/** The walk of `npm start` in one process: a real receiver, the real relay, the Operations Agent, and its script. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, Option, Scope, Stream } from "effect"
import * as OperationsTools from "../../layers/spectral/agents/OperationsTools.ts"
import * as WebhookDelivery from "../../layers/channel/WebhookDelivery.ts"
import * as Runtime from "../../layers/compose/assembly/Runtime.ts"
import * as Stores from "../../layers/compose/assembly/StoreLayers.ts"
import * as ScriptedModelGateway from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as OutboxRelay from "../../layers/runtime/relay/OutboxRelay.ts"
import * as Incident from "../../scripts/incident/Incident.ts"
import * as Receiver from "../../scripts/incident/Receiver.ts"
import { script } from "../../scripts/incident/IncidentScript.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { ApprovalDesk } from "../../services/ApprovalDesk.ts"
import { Outbox } from "../../services/Outbox.ts"
import { OutboxReader } from "../../services/OutboxReader.ts"
import { RunReader } from "../../services/RunReader.ts"
import { operations } from "../../src/spectral/agents/Operations.ts"
import type { Approval, Decision } from "../../src/approval/Approval.ts"
import { ConversationId, Tenant } from "../../src/value/Ids.ts"
import { Principal } from "../../src/principal/Principal.ts"
import { eventually } from "../contracts/Contract.ts"
import * as Homes from "../process/Homes.ts"

const tenant = Tenant.make("acme")
const olga = new Principal({ id: "olga", tenant, roles: ["admin"] })
const ann = new Principal({ id: "ann", tenant, roles: ["approver"] })
const conversation = ConversationId.make("c-1")
const idOf = (order: number) => Incident.events(tenant)[order - 1001]!.id

const directory = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "troupe-incident-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

const runtime = (receiver: Receiver.Receiver, model: ScriptedModelGateway.Script) =>
  Runtime.layer({
    agents: [operations],
    tools: [OperationsTools.tools],
    deliveries: [
      WebhookDelivery.handlers.pipe(
        Effect.provideService(WebhookDelivery.WebhookConfig, {
          url: receiver.url,
          allow_ranges: ["127.0.0.0/8"]
        })
      )
    ]
  }).pipe(
    Layer.provide(ScriptedModelGateway.layer(model)),
    Layer.provide(
      Layer.effect(
        OutboxRelay.RelayConfig,
        Effect.map(OutboxRelay.RelayConfig, (config) => ({
          ...config,
          attempts_max: Incident.relay.attempts_max,
          backoff_initial_ms: 10
        }))
      )
    )
  )

/** A process over stores that the test holds. */
const boot = Effect.fnUntraced(function* (
  receiver: Receiver.Receiver,
  model: ScriptedModelGateway.Script = script
) {
  const scope = yield* Scope.make()
  yield* Effect.addFinalizer(() => Scope.close(scope, Exit.void))
  const context = yield* Layer.buildWithMemoMap(
    runtime(receiver, model),
    Layer.makeMemoMapUnsafe(),
    scope
  )
  return { context, stop: Scope.close(scope, Exit.void) }
})

const send = (text: string) =>
  AgentRuntime.use((it) => it.send({ agent: operations.name, conversation, text }, olga)).pipe(
    Effect.map(({ task }) => task.id)
  )

/** What the agent said at the end of a run. */
const said = (run: string) =>
  AgentRuntime.use((it) =>
    it.watch(conversation, { ordinal: 0, seq: -1 }, olga).pipe(
      Stream.flatMap((item) =>
        item._tag === "Event" && item.run === run && item.entry.event._tag === "RunEnded"
          ? Stream.succeed(item.entry.event.text)
          : Stream.empty
      ),
      Stream.runHead,
      Effect.map(Option.getOrThrow)
    )
  )

const ask = (text: string) => Effect.flatMap(send(text), said)

const pending = (n: number) =>
  eventually(
    ApprovalDesk.use((desk) => desk.pending(ann, 10)),
    (all) => all.length === n
  )

const decide = (approval: Approval | undefined, decision: Decision) =>
  ApprovalDesk.use((desk) => desk.decide(approval!.id, decision, ann))

const letter = (order: number) =>
  OutboxReader.use((reader) => reader.deadLetter(tenant, idOf(order)))

const depth = Outbox.use((outbox) => outbox.depth)

/** The incident, prepared: three dead letters and a receiver that is up again. */
const prepared = Effect.gen(function* () {
  const path = yield* directory
  const receiver = yield* Receiver.start(path)
  const process = yield* boot(receiver)
  assert.strictEqual(yield* Incident.prepare(tenant, receiver), 3)
  return { path, receiver, process }
})

type Body = Effect.Effect<void, unknown, Stores.Stores | Scope.Scope>

const test = (title: string, body: Body) =>
  it.live(title, () => body.pipe(Effect.scoped, Effect.provide(Stores.ephemeral)))

/** The same on every store: the replay commits with the journal's event on two of them. */
const testOnAll = (title: string, body: Body) => {
  test(title, body)
  for (const [engine, home] of Homes.some) {
    it.live(`${title} (${engine})`, () =>
      Effect.flatMap(home, (store) =>
        body.pipe(Effect.scoped, Effect.provide(Homes.storesOf(store)))
      )
    )
  }
}

describe("the walk", () => {
  test(
    "three refused events become dead letters with their history, and repairing moves none of them",
    Effect.gen(function* () {
      const { receiver } = yield* prepared
      assert.isTrue(receiver.repaired())
      assert.deepStrictEqual(receiver.accepted(), [])
      const { attempts, failures, status } = yield* letter(1003)
      assert.strictEqual(status, "dead")
      assert.strictEqual(attempts, 3)
      assert.deepStrictEqual(
        failures.map((failure) => failure.error),
        ["the receiver answered 503", "the receiver answered 503", "the receiver answered 503"]
      )
      assert.strictEqual(yield* depth, 0)
      assert.strictEqual(yield* Incident.prepare(tenant, receiver), 3)
      assert.strictEqual(yield* depth, 0, "a second start seeds nothing")
    })
  )

  testOnAll(
    "ST-45 asked what is stuck it lists; approved, the event is delivered once, and the audit says who and why",
    Effect.gen(function* () {
      const { process, receiver } = yield* prepared
      yield* Effect.gen(function* () {
        const list = yield* ask("What is stuck?")
        for (const order of [1001, 1002, 1003]) assert.include(list, idOf(order))
        assert.include(list, "the receiver answered 503")
        assert.include(list, "scripted model")
        const run = yield* send("please replay order 1003")
        const [approval] = yield* pending(1)
        assert.deepInclude(approval?.arguments as object, { event_id: idOf(1003) })
        assert.include(JSON.stringify(approval?.arguments), "order-1003 was refused 3 times")
        assert.strictEqual(yield* depth, 0)
        yield* decide(approval, { _tag: "Approve" })
        const end = yield* said(run)
        assert.include(end, "order-1003")
        assert.include(end, "approved by ann")
        yield* eventually(Effect.sync(receiver.accepted), (ids) => ids.length > 0)
        yield* eventually(depth, (n) => n === 0)
        assert.deepStrictEqual(receiver.accepted(), [idOf(1003)])
        assert.deepStrictEqual(receiver.duplicates(), [])
        const { resolved_by, resolved_reason, status } = yield* letter(1003)
        assert.deepStrictEqual([status, resolved_by], ["replayed", "ann"])
        assert.include(resolved_reason, "order-1003 was refused 3 times")
        const again = yield* ask("replay order 1003")
        assert.include(again, "was replayed before by ann")
        assert.include(again, 'last with "the receiver answered 503"')
      }).pipe(Effect.provide(process.context))
    })
  )

  test(
    "ST-45 denied, nothing is replayed, and it is not proposed again",
    Effect.gen(function* () {
      const { process, receiver } = yield* prepared
      yield* Effect.gen(function* () {
        const run = yield* send("replay the first")
        const [approval] = yield* pending(1)
        yield* decide(approval, { _tag: "Deny", reason: "wait for finance" })
        assert.include(yield* said(run), "ann denied it (wait for finance)")
        assert.deepStrictEqual(yield* pending(0), [])
        for (const order of [1001, 1002, 1003]) {
          assert.strictEqual((yield* letter(order)).status, "dead")
        }
        assert.strictEqual(yield* depth, 0)
        assert.deepStrictEqual(receiver.accepted(), [])
      }).pipe(Effect.provide(process.context))
    })
  )

  test(
    "asked for a revision it proposes anew with the note; replay all asks for each",
    Effect.gen(function* () {
      const { process, receiver } = yield* prepared
      yield* Effect.gen(function* () {
        const run = yield* send("replay all of them")
        const three = yield* pending(3)
        yield* decide(three[0], { _tag: "Approve" })
        yield* decide(three[1], { _tag: "Deny", reason: "no" })
        yield* decide(three[2], { _tag: "RequestRevision", note: "name the ticket OPS-7" })
        const [revised] = yield* pending(1)
        assert.include(JSON.stringify(revised?.arguments), "ann asked: name the ticket OPS-7")
        assert.notStrictEqual(revised?.id, three[2]?.id)
        yield* decide(revised, { _tag: "Approve" })
        const end = yield* said(run)
        assert.strictEqual(end.match(/approved by ann/g)?.length, 2)
        assert.strictEqual(end.match(/denied/g)?.length, 1)
        yield* eventually(Effect.sync(receiver.accepted), (ids) => ids.length === 2)
      }).pipe(Effect.provide(process.context))
    })
  )

  testOnAll(
    "another process takes the decision and delivers once: the script goes on where it was",
    Effect.gen(function* () {
      const { process, receiver, path } = yield* prepared
      const run = yield* Effect.provide(send("replay order 1002"), process.context)
      const [before] = yield* Effect.provide(pending(1), process.context)
      yield* process.stop
      const receiver2 = yield* Receiver.start(path)
      assert.isTrue(receiver2.repaired(), "a repair outlives the receiver")
      const second = yield* boot(receiver2)
      yield* Effect.gen(function* () {
        const [after] = yield* pending(1)
        assert.strictEqual(after?.id, before?.id)
        yield* decide(after, { _tag: "Approve" })
        assert.include(yield* said(run), "approved by ann")
        yield* eventually(Effect.sync(receiver.accepted), (ids) => ids.length > 0)
        assert.deepStrictEqual(receiver2.accepted(), [idOf(1002)])
      }).pipe(Effect.provide(second.context))
    })
  )

  test(
    "looks at an event, refuses what it does not find, and explains itself",
    Effect.gen(function* () {
      const { process } = yield* prepared
      yield* Effect.gen(function* () {
        assert.include(yield* ask("hello"), "what is stuck?")
        assert.include(yield* ask("replay order 4711"), "I find no dead letter for 4711")
        assert.include(yield* ask("why did order 1001 fail?"), '"total":"49.90"')
        assert.include(yield* ask("Which of them failed to send?"), "3 events")
        const unknown = "00000000-0000-4000-8000-000000000000"
        const missing = yield* ask(`replay ${unknown}`)
        assert.include(missing, `I could not look at ${unknown}: there is no dead letter`)
        // A person reads it: nothing of what only a model is told.
        assert.notMatch(missing, /ToolUserError|Change the arguments/)
        assert.deepStrictEqual(yield* pending(0), [])
      }).pipe(Effect.provide(process.context))
    })
  )

  test(
    "ST-46 a proposal without a reason is ToolUserError, and nobody is asked",
    Effect.gen(function* () {
      const path = yield* directory
      const { call, text } = ScriptedModelGateway
      const receiver = yield* Receiver.start(path)
      const process = yield* boot(receiver, [
        call("replay_dlq_event", { event_id: idOf(1001), reason: " " }),
        text("I gave no reason.")
      ])
      yield* Incident.prepare(tenant, receiver)
      yield* Effect.gen(function* () {
        const run = yield* send("replay it")
        assert.strictEqual(yield* said(run), "I gave no reason.")
        const reader = yield* RunReader
        const events = (yield* reader.read(run, 0, 100)).map((entry) => entry.event)
        const settled = events.find((event) => event._tag === "CallSettled")
        assert.deepInclude(settled?.outcome._tag === "Failed" ? settled.outcome.error : {}, {
          class: "ToolUserError",
          kind: "invalid_args"
        })
        assert.isUndefined(events.find((event) => event._tag === "ApprovalRequested"))
        assert.strictEqual((yield* letter(1001)).status, "dead")
      }).pipe(Effect.provide(process.context))
    })
  )
})
