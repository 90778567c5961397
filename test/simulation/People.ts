/**
 * Whoever is outside: clients that send until they are answered, people who decide early, late, twice or not at all
 * until they are asked again, an operator who settles what nobody knows, and somebody who cancels.
 */
import { Effect, Stream } from "effect"
import type { Exit } from "effect"
import type { Cursor, FeedItem } from "../../src/run/FeedItem.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { ApprovalDesk } from "../../services/ApprovalDesk.ts"
import { Outbox } from "../../services/Outbox.ts"
import { OutboxReplayer } from "../../services/OutboxReplayer.ts"
import type { Approval, Decision } from "../../src/approval/Approval.ts"
import type { CallId, RunId } from "../../src/value/Ids.ts"
import { ConversationId, MessageId, Tenant } from "../../src/value/Ids.ts"
import { canonical } from "../../src/value/Canonical.ts"
import { Principal } from "../../src/principal/Principal.ts"
import type { Settlement } from "../../src/run/UnknownCall.ts"
import { supervisor } from "./Agents.ts"
import type { Generation, Services } from "./Generation.ts"
import { note_topic } from "./Generation.ts"
import type { World } from "./World.ts"

const tenant = Tenant.make("acme")
const person = (id: string, roles: Principal["roles"]) => new Principal({ id, tenant, roles })
const client = person("client", ["operator"])
const operator = person("operator", ["operator"])
const admin = person("admin", ["admin"])
const other = person("other", ["admin"])
const viewer = person("viewer", ["viewer"])

export interface Town {
  readonly world: World
  /** A process that answers, if there is one. */
  readonly live: () => Generation | undefined
  /** No faults any more: people answer what is left. */
  readonly isQuiet: () => boolean
  /** Everything that needs no person has had the time to happen: those who forgot their question answer it now. */
  readonly isLate: () => boolean
  readonly isOver: () => boolean
}

/** Calls whoever is alive; undefined when nobody answered. */
const call = <A, E>(
  { live }: Town,
  effect: Effect.Effect<A, E, Services>
): Effect.Effect<Exit.Exit<A, E> | undefined> =>
  Effect.suspend(() => live()?.call(effect) ?? Effect.succeed(undefined))

const errorOf = (exit: Exit.Exit<unknown, unknown> | undefined): string => {
  if (exit === undefined) return "died"
  if (exit._tag === "Success") return ""
  for (const reason of exit.cause.reasons) {
    if (reason._tag === "Fail") return (reason.error as { readonly _tag: string })._tag
  }
  return "died"
}

/** Errors after which nobody knows whether it was done: it is tried again. */
const isOpen = (error: string) =>
  error === "died" || error === "JournalError" || error === "StoreError" || error === "ShuttingDown"

const untilAnswered = <A, E>(
  town: Town,
  effect: Effect.Effect<A, E, Services>
): Effect.Effect<Exit.Exit<A, E>> =>
  Effect.gen(function* () {
    for (;;) {
      const exit = yield* call(town, effect)
      if (exit !== undefined && !isOpen(errorOf(exit))) return exit
      yield* Effect.sleep(town.world.between(20, 400))
    }
  })

export const sending = (town: Town, conversation: number, count: number) =>
  Effect.gen(function* () {
    const { world } = town
    for (let i = 0; i < count; i++) {
      yield* Effect.sleep(world.between(0, 1_500))
      const key = `${conversation}.${i}`
      const exit = yield* untilAnswered(
        town,
        AgentRuntime.use((runtime) =>
          runtime.send(
            {
              agent: supervisor,
              conversation: ConversationId.make(`talk-${conversation}`),
              text: `message ${key}`,
              idempotency_key: key
            },
            client
          )
        )
      )
      if (exit._tag === "Failure") world.violate(`a message was refused: ${errorOf(exit)}`)
      else world.accepted.set(key, exit.value.task.id)
    }
  })

/** A side run is given while the run before it waits, and again to who comes back behind an event of that one. */
const isSideRun = (run: World["store"]["runs"] extends Map<RunId, infer R> ? R : never): boolean =>
  run.entries.some(({ event }) => event._tag === "RunBeside")

/** Checks that an event is the journal's, and the next one of its run, in its turn; `given` has the last one of each run. */
const checkNext = (
  { store, violate }: Pick<World, "store"> & { readonly violate: (what: string) => void },
  given: Map<number, number>,
  { entry, ordinal, run }: Extract<FeedItem, { _tag: "Event" }>
): void => {
  const stored = store.runs.get(run)
  if (stored === undefined || canonical(stored.entries[entry.seq]) !== canonical(entry)) {
    return violate("a watcher was given what the journal does not have")
  }
  const others = [...store.runs.values()].filter(
    (each) => each.conversation === conversationOf(store, run)
  )
  const last = given.get(ordinal) ?? -1
  if (entry.seq !== last + 1) {
    violate("a watcher was given an event twice, or one was left out")
  }
  const isEarly = others.some(
    (each) => each.ordinal < ordinal && given.get(each.ordinal) !== each.entries.length - 1
  )
  if (entry.seq === 0 && isEarly && !isSideRun(stored)) {
    violate("a watcher was given a run before the end of the one before it")
  }
  given.set(ordinal, entry.seq)
}

const conversationOf = (store: World["store"], run: RunId) => store.runs.get(run)?.conversation

/**
 * Watches a conversation from its start: leaves, or is cut off by a crash, and comes back behind what it was given, in any
 * process. Ends when everything is over.
 */
export const watching = (town: Town, conversation: number) =>
  Effect.gen(function* () {
    const { isOver, world } = town
    const id = ConversationId.make(`talk-${conversation}`)
    const pause_ms = world.between(0, 3) * 40
    const checked = { store: world.store, violate: (what: string) => world.violate(what) }
    let after: Cursor = { ordinal: 0, seq: -1 }
    const given = new Map<number, number>()
    world.watched.set(id, given)
    const session = (ms: number) =>
      AgentRuntime.use((runtime) =>
        runtime.watch(id, after, client).pipe(
          Stream.runForEach((item) =>
            Effect.suspend(() => {
              if (item._tag !== "Event") return Effect.void
              checkNext(checked, given, item)
              after = item.cursor ?? { ordinal: item.ordinal, seq: item.entry.seq }
              world.count("an event that was given to a watcher")
              return pause_ms > 0 && world.chance(0.3) ? Effect.sleep(pause_ms) : Effect.void
            })
          ),
          Effect.timeoutOption(ms)
        )
      )
    while (!isOver()) {
      const exit = yield* call(town, session(world.between(200, 8_000)))
      const error = errorOf(exit)
      if (error !== "" && !isOpen(error)) world.violate(`a watcher failed: ${error}`)
      world.count("a watcher that came back")
      yield* Effect.sleep(world.between(0, 300))
    }
  })

/** Messages of the outbox that are no tasks, two keys in turn. */
export const noting = (town: Town, count: number) =>
  Effect.gen(function* () {
    const { world } = town
    for (let i = 0; i < count; i++) {
      yield* Effect.sleep(world.between(0, 800))
      const hex = (world.seed * 1_000 + i).toString(16).padStart(12, "0").slice(-12)
      const id = MessageId.make(`00000000-0000-4000-8000-${hex}`)
      const message = { id, tenant, key: `notes-${i % 2}`, topic: note_topic, payload: i }
      yield* untilAnswered(
        town,
        Outbox.use((outbox) => outbox.enqueue([message]))
      )
    }
  })

const answers = ["Approve", "Approve", "Approve", "Deny", "Modify", "RequestRevision"] as const

const decisionOf = (world: World): Decision => {
  switch (world.pick(answers)) {
    case "Approve":
      return { _tag: "Approve" }
    case "Deny":
      return { _tag: "Deny", reason: "no" }
    case "Modify":
      return { _tag: "Modify", arguments: { n: world.between(1_000, 2_000) } }
    case "RequestRevision":
      return { _tag: "RequestRevision", note: "smaller" }
  }
}

const decide = (town: Town, approval: Approval, decision: Decision, by: Principal) =>
  Effect.gen(function* () {
    const { world } = town
    const exit = yield* untilAnswered(
      town,
      ApprovalDesk.use((desk) => desk.decide(approval.id, decision, by))
    )
    if (exit._tag === "Success") {
      world.count(`a person who said ${decision._tag}`)
      if (world.decided.has(approval.id))
        world.violate("two decisions on one approval were acknowledged")
      world.decided.set(approval.id, decision)
    } else world.count(`a decision refused as ${errorOf(exit)}`)
    return exit
  })

const deciding = (town: Town, approval: Approval) =>
  Effect.gen(function* () {
    const { world } = town
    const how = world.random()
    const wait = how < 0.15 ? world.between(2_500, 9_000) : world.between(0, 1_500)
    yield* Effect.sleep(wait)
    if (how > 0.95) {
      const exit = yield* call(
        town,
        ApprovalDesk.use((desk) => desk.decide(approval.id, { _tag: "Approve" }, viewer))
      )
      if (exit?._tag === "Success") world.violate("a viewer decided")
      world.count("somebody without the right")
    }
    if (how > 0.75) {
      world.count("two people at once")
      yield* Effect.all(
        [
          decide(town, approval, { _tag: "Approve" }, admin),
          decide(town, approval, { _tag: "Deny", reason: "the other way" }, other)
        ],
        { concurrency: "unbounded" }
      )
    } else {
      const exit = yield* decide(town, approval, decisionOf(world), admin)
      // A question about a limit takes yes or no.
      if (errorOf(exit) === "DecisionUnfit") {
        yield* decide(town, approval, { _tag: "Approve" }, admin)
      }
    }
  })

export const approving = (town: Town) =>
  Effect.gen(function* () {
    const { isOver, isQuiet, world } = town
    const known = new Set<string>()
    while (!isOver()) {
      for (const [id, { record }] of world.store.pending) {
        if (known.has(id)) continue
        known.add(id)
        // Some are forgotten until everything is quiet.
        if (!isQuiet() && world.chance(0.1)) {
          world.count("a question that nobody saw for long")
          yield* Effect.forkChild(Effect.andThen(late(town), deciding(town, record)))
        } else yield* Effect.forkChild(deciding(town, record))
      }
      yield* Effect.sleep(world.between(50, 300))
    }
  })

const late = ({ isLate }: Town) =>
  Effect.gen(function* () {
    while (!isLate()) yield* Effect.sleep(1_000)
  })

const settling = (town: Town, run: RunId, of: CallId) =>
  Effect.gen(function* () {
    const { world } = town
    yield* Effect.sleep(world.between(0, 3_000))
    const how = world.pick(["Succeeded", "Failed", "RunAgain"] as const)
    const settlement: Settlement =
      how === "Succeeded"
        ? { _tag: how, json: "1" }
        : how === "Failed"
          ? { _tag: how, message: "it was not done" }
          : { _tag: how }
    const exit = yield* untilAnswered(
      town,
      AgentRuntime.use((runtime) => runtime.settle(run, of, settlement, operator))
    )
    world.count(exit._tag === "Success" ? `an operator who said ${how}` : "a settlement too late")
  })

export const operating = (town: Town) =>
  Effect.gen(function* () {
    const { isOver, isQuiet, world } = town
    const seen = new Map<RunId, number>()
    const replayed = new Set<string>()
    while (!isOver()) {
      for (const run of world.store.runs.values()) {
        for (let i = seen.get(run.run_id) ?? 0; i < run.entries.length; i++) {
          const { event } = run.entries[i]!
          if (event._tag === "CallUnknown")
            yield* Effect.forkChild(settling(town, run.run_id, event.call))
        }
        seen.set(run.run_id, run.entries.length)
      }
      if (isQuiet()) {
        for (const { letter } of world.store.dead.values()) {
          if (letter.status !== "dead") continue
          replayed.add(letter.event_id)
          world.count("a dead letter that was replayed")
          const { event_id } = letter
          yield* untilAnswered(
            town,
            OutboxReplayer.use((replayer) =>
              replayer.replay({ tenant, event_id, reason: "the fault is over", by: "operator" })
            )
          )
        }
      }
      yield* Effect.sleep(world.between(100, 500))
    }
  })

export const cancelling = (town: Town, p: number) =>
  Effect.gen(function* () {
    const { isQuiet, world } = town
    const known = new Set<RunId>()
    while (!isQuiet()) {
      for (const [id] of world.store.tasks) {
        if (known.has(id)) continue
        known.add(id)
        if (world.chance(p)) yield* Effect.forkChild(cancel(town, id))
      }
      yield* Effect.sleep(100)
    }
  })

const cancel = (town: Town, run: RunId) =>
  Effect.gen(function* () {
    const { world } = town
    yield* Effect.sleep(world.between(0, 2_500))
    const exit = yield* untilAnswered(
      town,
      AgentRuntime.use((runtime) => runtime.interrupt(run, operator, "changed my mind"))
    )
    if (exit._tag === "Success") {
      world.count("a cancel")
      world.cancelled.add(run)
    } else world.count("a cancel that came too late")
  })
