/**
 * A real service without a socket: the runtime over real stores, a model that follows each message's plan, and tools
 * whose effects happen outside. Argument: a `WorkerConfig`. Speaks with its parent over IPC and ends with it.
 */
import { flushCompileCache } from "node:module"
import { Clock, Context, Deferred, Effect, Layer, Logger, Redacted, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { SqlClient } from "effect/sql"
import * as NodeMain from "../../layers/compose/entries/NodeMain.ts"
import * as Runtime from "../../layers/compose/assembly/Runtime.ts"
import * as Stores from "../../layers/compose/assembly/StoreLayers.ts"
import {
  call,
  calls,
  layer as scripted,
  text
} from "../../layers/model/tape/ScriptedModelGateway.ts"
import { RelayConfig } from "../../layers/runtime/relay/OutboxRelay.ts"
import { remote } from "../../layers/runtime/queue/RemoteTool.ts"
import { defaults, RuntimeConfig } from "../../layers/runtime/actor/RuntimeConfig.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { ApprovalDesk } from "../../services/ApprovalDesk.ts"
import { DeliveryFailed } from "../../services/DeliveryHandlers.ts"
import type { RoomHandlers } from "../../services/DeliveryHandlers.ts"
import type { ModelRequest } from "../../services/ModelGateway.ts"
import { Outbox } from "../../services/Outbox.ts"
import { TaskStore } from "../../services/TaskStore.ts"
import type { Append } from "../../services/RunJournal.ts"
import type { Claim } from "../../services/RunOwnership.ts"
import { RunReader } from "../../services/RunReader.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { webhook_topic } from "../../src/delivery/IncomingEvent.ts"
import { ToolTransientError } from "../../src/error/ToolError.ts"
import type { CallId } from "../../src/value/Ids.ts"
import {
  AgentName,
  ApprovalId,
  ConversationId,
  MessageId,
  RunId,
  Tenant
} from "../../src/value/Ids.ts"
import { Principal } from "../../src/principal/Principal.ts"
import type { RunAccepted } from "../../src/run/RunEvent.ts"
import { RunLimits } from "../../src/run/RunLimits.ts"
import { tool as declared } from "../../src/tool/DeclaredTool.ts"
import type { CallContext } from "../../src/tool/GovernedTool.ts"
import { callOf, govern } from "../../src/tool/GovernedTool.ts"
import * as Outside from "./Outside.ts"
import type { Hold, Notice, Plan, Point, Question, Request, WorkerConfig } from "./Plan.ts"
import { skewed } from "./SkewedClock.ts"
import * as WholeJournal from "../contracts/WholeJournal.ts"

const config = JSON.parse(process.argv[2]!) as WorkerConfig
const tenant = Tenant.make("acme")
const personOf = (id: string) => new Principal({ id, tenant, roles: ["operator"] })

let skew_ms = 0

const say = (notice: Notice) => process.send?.(notice)

const nameOf = ({ point, tag }: Hold) => `${point} ${tag}`
const holds = new Map<string, Deferred.Deferred<void>>()
const hold = (each: Hold) => holds.set(nameOf(each), Deferred.makeUnsafe())
for (const each of config.holds) hold(each)

/** Says so and waits where the parent has asked for it; costs nothing elsewhere. */
const reach = (point: Point, tag: string): Effect.Effect<void> =>
  Effect.suspend(() => {
    const held = holds.get(nameOf({ point, tag }))
    if (held === undefined) return Effect.void
    say({ notice: "reached", point, tag })
    return Deferred.await(held)
  })

/** The plan's tag by run, from its claim on: the journal's port knows no message. */
const tags = new Map<string, string>()

const planOf = ({ transcript }: ModelRequest): Plan => {
  const first = transcript[0]!
  return JSON.parse(first.role === "user" ? first.text : "{}") as Plan
}

/** Looks at nothing but the transcript. */
const model = (request: ModelRequest) =>
  Effect.gen(function* () {
    const plan = planOf(request)
    yield* reach("model", plan.tag)
    if (config.model_ms > 0) yield* Effect.sleep(config.model_ms)
    const taken = request.transcript.filter((entry) => entry.role === "assistant").length
    const step = plan.steps[taken]
    return step === undefined
      ? text(`did ${plan.tag}`)
      : calls(step.map((tool, index) => call(tool, { step: taken, index })))
  })

/** To the counter. An answer that does not come says nothing about the effect. */
const effect = (tool: string, call: CallContext) =>
  Outside.effect(config.counter, tool, tags.get(call.run) ?? "", call)

const toldTool = declared(
  {
    namespace: "work",
    name: "told",
    side_effects: "external",
    permission: "allow",
    timeout_ms: 3_000,
    input: Schema.Struct({ step: Schema.Int, index: Schema.Int }),
    output: Schema.Boolean,
    reconcile: (_, call) => Outside.happened(config.counter, call)
  },
  (_, call) => effect("told", call)
)

const soleTool = declared(
  {
    namespace: "work",
    name: "sole",
    side_effects: "external",
    permission: "allow",
    idempotency: { key: "sole-{step}", scope: "tenant" },
    // What was lost is unknown, and not sent again.
    idempotent: false,
    input: Schema.Struct({ step: Schema.Int, index: Schema.Int }),
    output: Schema.Boolean
  },
  (_, call) => effect("sole", call)
)

const tool = <const Name extends string>(name: Name) =>
  Tool.make(name, {
    description: `The tool ${name}.`,
    // Two calls of one turn are never the same: the second would be refused.
    parameters: Schema.Struct({ step: Schema.Int, index: Schema.Int }),
    success: Schema.Boolean,
    failure: ToolTransientError
  })
const Kit = Toolkit.make(tool("read"), tool("once"), tool("gated"), tool("keyed"), tool("row"))

const tools = govern(
  Kit,
  {
    read: { namespace: "work", side_effects: "read" },
    once: { namespace: "work", side_effects: "external", permission: "allow" },
    gated: { namespace: "work", side_effects: "external" },
    keyed: { namespace: "work", side_effects: "external", permission: "allow", idempotent: true },
    row: { namespace: "work", side_effects: "write", permission: "allow", transactional: true }
  },
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql`CREATE TABLE IF NOT EXISTS public.ledger (run text NOT NULL, call text NOT NULL)`
    return Kit.of({
      read: () => Effect.succeed(true),
      once: (_, context) => effect("once", callOf(context)),
      gated: (_, context) => effect("gated", callOf(context)),
      keyed: (_, context) => effect("keyed", callOf(context)),
      row: Effect.fnUntraced(function* (_, context) {
        const { call, run } = callOf(context)
        yield* Effect.orDie(
          sql`INSERT INTO public.ledger (run, call) VALUES (${run}::text, ${call}::text)`
        )
        yield* reach("transaction", tags.get(run) ?? "")
        return true
      })
    })
  })
)

/** Those whose bodies are in a worker of the queue. */
const far = config.remote ? Outside.remote.map((options) => remote(options)) : []

const agent = AgentSpec.make({
  name: AgentName.make("worker"),
  instructions: "Follow the plan.",
  tools: [
    "read",
    "once",
    "gated",
    "keyed",
    "told",
    "row",
    "sole",
    "posted",
    "reposted",
    ...(config.remote ? Outside.remote.map(({ name }) => name) : [])
  ],
  limits: RunLimits.make({ steps_max: 100 })
})

const subjectOf = (payload: unknown): string =>
  typeof payload === "object" && payload !== null && "subject" in payload
    ? String(payload.subject)
    : ""

const webhook: RoomHandlers = [
  [
    webhook_topic,
    ({ id, payload }) =>
      Effect.gen(function* () {
        const tag = subjectOf(payload)
        yield* reach("send", tag)
        const body = JSON.stringify({ tool: "webhook", tag, run: "", call: "", key: id })
        yield* Effect.tryPromise({
          try: (signal) =>
            fetch(config.counter, { method: "POST", body, signal }).then((it) => it.text()),
          catch: () => new DeliveryFailed({ message: "the counter did not answer" })
        })
        yield* reach("sent", tag)
      })
  ]
]

/** The journal, the tasks and the outbox with the stop points around them. */
const watched = Layer.effectContext(
  Effect.gen(function* () {
    const journal = yield* WholeJournal.journal
    const tasks = yield* TaskStore
    const outbox = yield* Outbox
    const has = ({ events }: Append, tag: string) => events.some((event) => event._tag === tag)
    const fenced =
      <E extends { readonly _tag: string }>(run: string) =>
      (error: E) =>
        Effect.sync(() => {
          if (error._tag === "FencedOff") say({ notice: "fenced", run })
        })
    /** The control: whoever was refused believes that it is right, and writes all the same. */
    const anyway = Effect.fnUntraced(function* (append: Append) {
      const { epoch, length } = yield* Effect.orDie(journal.head(append.run))
      yield* journal.append({ ...append, fence: { epoch, length } })
    })
    const append: typeof journal.append = Effect.fnUntraced(function* (append) {
      const tag = tags.get(append.run) ?? ""
      const dispatches = has(append, "CallDispatched")
      if (dispatches) yield* reach("dispatch", tag)
      if (has(append, "CallSettled")) yield* reach("settle", tag)
      yield* journal.append(append).pipe(
        Effect.tapError(fenced(append.run)),
        Effect.catchTag(["FencedOff", "StaleAppend"], (error) =>
          config.unfenced ? anyway(append) : Effect.fail(error)
        )
      )
      if (dispatches) yield* reach("dispatched", tag)
    })
    const transact: typeof journal.transact = (run, fence, body, record) =>
      Effect.suspend(() => reach("dispatch", tags.get(run) ?? "")).pipe(
        Effect.andThen(journal.transact(run, fence, body, record)),
        Effect.tapError(fenced(run)),
        Effect.tap(() => reach("committed", tags.get(run) ?? "")),
        Effect.tap(() => reach("dispatched", tags.get(run) ?? ""))
      )
    const tagged = (run: string, { message }: RunAccepted) =>
      tags.set(run, (JSON.parse(message) as Plan).tag)
    const claimed = (run: string, { entries }: Claim) => {
      const event = entries[0]?.event
      if (event?._tag === "RunAccepted") tagged(run, event)
    }
    const claim: typeof journal.claim = (run, owner) =>
      Effect.tap(journal.claim(run, owner), (claim) => Effect.sync(() => claimed(run, claim)))
    const onAmended: typeof journal.onAmended = (listener, claimant) =>
      journal.onAmended((run, claim) => {
        if (run !== undefined && claim !== undefined) claimed(run, claim)
        listener(run, claim)
      }, claimant)
    const accept: typeof tasks.accept = (task) =>
      Effect.tap(tasks.accept(task), ({ begun }) => {
        const { tag } = JSON.parse(task.message) as Plan
        tags.set(task.id, tag)
        return begun === undefined ? Effect.void : reach("begun", tag)
      })
    const whole = { ...journal, onAmended, append, claim, transact }
    return WholeJournal.context(whole).pipe(
      Context.add(TaskStore, { ...tasks, accept }),
      Context.add(Outbox, {
        ...outbox,
        claim: (claim) => Effect.andThen(reach("claim", "relay"), outbox.claim(claim))
      })
    )
  })
)

const runtime = Runtime.layer({
  agents: [agent],
  tools: [tools, toldTool, soleTool, Outside.direct(config.counter), ...far],
  deliveries: [Effect.succeed(webhook)]
}).pipe(
  Layer.provide(scripted(model, { requests_max: 0 })),
  Layer.provide(
    Layer.succeed(RuntimeConfig, {
      ...defaults,
      park_ms: config.park_ms,
      lease_ms: config.lease_ms,
      sweep_ms: config.sweep_ms
    })
  ),
  Layer.provide(
    Layer.effect(
      RelayConfig,
      Effect.map(RelayConfig, (relay) => ({
        ...relay,
        timeout_ms: config.relay_ms,
        lease_margin_ms: 500,
        attempts_max: 1_000
      }))
    )
  )
)

const { store } = config
const stores =
  "directory" in store
    ? Stores.directory(store.directory)
    : Stores.postgres(Redacted.make(store.postgres))

/** What the parent wants done. */
const done = Effect.fnUntraced(function* (request: Request) {
  const runtime = yield* AgentRuntime
  switch (request.op) {
    case "send": {
      const text = JSON.stringify(request.plan)
      // The same key is the same message only at the same address.
      const conversation = ConversationId.make(request.conversation ?? request.key)
      const message = { agent: agent.name, text, conversation, idempotency_key: request.key }
      return (yield* runtime.send(message, personOf("user"))).task.id
    }
    case "decide": {
      const desk = yield* ApprovalDesk
      const id = ApprovalId.make(request.approval)
      return yield* desk.decide(id, { _tag: "Approve" }, personOf(request.by))
    }
    case "settle": {
      const { call, run, settlement } = request
      return yield* runtime.settle(RunId.make(run), call as CallId, settlement, personOf("olga"))
    }
    case "webhooks": {
      const outbox = yield* Outbox
      return yield* outbox.enqueue(
        request.subjects.map((subject) => ({
          id: MessageId.make(crypto.randomUUID()),
          tenant,
          key: subject,
          topic: webhook_topic,
          payload: { type: "done", subject, data: null }
        }))
      )
    }
    case "hold":
      return void hold(request.hold)
    case "skew":
      return void (skew_ms = request.ms)
    case "release":
      return void Deferred.doneUnsafe(holds.get(nameOf(request.hold))!, Effect.void)
    default:
      return yield* told(request)
  }
})

/** What the parent wants to know. */
const told = Effect.fnUntraced(function* (request: Question) {
  switch (request.op) {
    case "pending": {
      const all = yield* ApprovalDesk.use((desk) => desk.pending(personOf("user"), 500))
      return all.map(({ id, run_id }) => ({ id, run: run_id }))
    }
    case "events":
      return yield* RunReader.use((reader) =>
        Effect.forEach(request.runs, (run) => reader.read(RunId.make(run), 0, 10_000))
      )
    case "statuses":
      return yield* RunReader.use((reader) =>
        Effect.forEach(request.runs, (run) =>
          reader.head(RunId.make(run)).pipe(
            Effect.map(({ status }) => status),
            // Accepted, and not begun.
            Effect.catchTag("RunNotFound", () => Effect.succeed("pending" as const))
          )
        )
      )
    case "actors":
      return yield* AgentRuntime.use((it) => it.actors(1_000))
    case "rows":
      return yield* SqlClient.SqlClient.use(
        (sql) => sql`SELECT run, call FROM public.ledger ORDER BY run, call`
      )
    case "memory":
      return Math.round(process.memoryUsage.rss() / 2 ** 20)
    case "depth":
      return yield* Outbox.use((outbox) => outbox.depth)
  }
})

const main = Effect.gen(function* () {
  const context = yield* Layer.build(
    runtime.pipe(Layer.provideMerge(watched), Layer.provideMerge(stores))
  )
  const fork = Effect.runForkWith(context)
  process.on("message", ({ id, ...request }: Request & { readonly id: number }) => {
    fork(
      Effect.match(done(request as Request), {
        onSuccess: (answer) => process.send?.({ id, answer: answer ?? null }),
        onFailure: (error) => process.send?.({ id, error: error._tag })
      })
    )
  })
  say({ notice: "ready" })
  // A killed process would leave nothing for the next one.
  flushCompileCache()
  return yield* Effect.never
})

// The scope may be gone: nobody is left to be served.
process.on("disconnect", () => process.exit())
process.on("SIGTERM", () => say({ notice: "stopping" }))
NodeMain.run(
  Effect.scoped(main).pipe(
    // The real clock, wrong by what the parent has said.
    Effect.updateService(
      Clock.Clock,
      skewed(() => skew_ms)
    ),
    Effect.provide(Logger.layer([Logger.withConsoleError(Logger.formatLogFmt)]))
  )
)
