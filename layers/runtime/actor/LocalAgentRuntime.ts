/**
 * Actors of one process. Each lives in a fiber of a FiberMap, with its own memory Layer, from its first message until it
 * has nothing to do; whatever it knew is in the journal. Runs without an owner, and what others wrote to those that are
 * here, are found by a slow sweep, so no message, decision or cancel depends on a wakeup that arrives.
 */
import { Clock, Context, Effect, FiberMap, FiberSet, Layer, Scope, Semaphore } from "effect"
import { Digest, SecureRandom } from "effect/crypto"
import { AgentNotFound } from "../../../src/agent/AgentSpec.ts"
import { message_bytes_max } from "../../../src/conversation/Conversation.ts"
import { MessageTooLarge } from "../../../src/delivery/AgentTask.ts"
import type { Address, RunId, Tenant } from "../../../src/Ids.ts"
import { actorKey, ConversationId, MessageId, RunId as RunIds } from "../../../src/Ids.ts"
import type { MisdeclaredPolicy } from "../../../src/permission/PolicyCheck.ts"
import type { Principal } from "../../../src/Principal.ts"
import { rolesOf } from "../../../src/Principal.ts"
import { cancelBy, RunNotFound, settleBy } from "../../../src/run/RunCommand.ts"
import { AgentDirectory } from "../../../services/AgentDirectory.ts"
import { AgentMemories } from "../../../services/AgentMemory.ts"
import type { Message } from "../../../services/AgentRuntime.ts"
import { AgentRuntime, ShuttingDown } from "../../../services/AgentRuntime.ts"
import { ApprovalDesk } from "../../../services/ApprovalDesk.ts"
import { ModelGateway } from "../../../services/ModelGateway.ts"
import { Owners } from "../../../services/Owners.ts"
import { PriceBook } from "../../../services/PriceBook.ts"
import type { RunHead } from "../../../services/RunJournal.ts"
import { JournalError, RunJournal } from "../../../services/RunJournal.ts"
import { TaskDispatch } from "../../../services/TaskDispatch.ts"
import { StoreError, TaskStore } from "../../../services/TaskStore.ts"
import { Tokenizer } from "../../../services/Tokenizer.ts"
import type { ToolRegistry } from "../../../services/ToolRegistry.ts"
import * as Acceptance from "./Acceptance.ts"
import { actorList } from "./ActorList.ts"
import type { Actor } from "./Actor.ts"
import * as Actors from "./Actor.ts"
import { digestOf } from "../tool/CallDigests.ts"
import { decoded } from "./DecodedRuntime.ts"
import * as Deadlines from "../tool/Deadlines.ts"
import { amend, makeOnDurable } from "../desk/Observers.ts"
import { reporter, reportExit } from "../tool/Faults.ts"
import * as Feed from "../loop/Feed.ts"
import * as GovernedInvoker from "../tool/GovernedInvoker.ts"
import * as Hosting from "./Hosting.ts"
import * as LimitApproval from "../loop/LimitApproval.ts"
import * as OpenQuestions from "../desk/OpenQuestions.ts"
import { drainRun, wakeRun } from "../loop/RunWakeup.ts"
import { every } from "./Periodic.ts"
import * as LoopScheduler from "../loop/LoopScheduler.ts"
import * as PromptMeter from "../loop/PromptMeter.ts"
import * as RoleDirectory from "../desk/RoleDirectory.ts"
import * as RunSpans from "./RunSpans.ts"
import { RuntimeConfig } from "./RuntimeConfig.ts"
import { watch } from "./Watch.ts"

const encoder = new TextEncoder()
/** Stopped actors that are remembered, for the list and so that a sweep leaves them alone. */
const stopped_max = 1_000

const make = Effect.gen(function* () {
  const config = yield* RuntimeConfig
  const clock = yield* Clock.Clock
  const digest = yield* Digest.Digest
  const random = yield* SecureRandom.SecureRandom
  const journal = yield* RunJournal
  const tasks = yield* TaskStore
  const directory = yield* AgentDirectory
  const model = yield* ModelGateway
  const desk = yield* ApprovalDesk
  const memories = yield* AgentMemories
  const report = yield* reporter
  const onDurable = yield* makeOnDurable(clock, report)
  const deadlines = yield* Deadlines.make
  const scheduler = yield* (yield* LoopScheduler.LoopScheduling)(config.loops_per_turn)
  const { invoker, policy_version } = yield* GovernedInvoker.make(deadlines)
  const feed = Feed.make()
  const owner = yield* random.uuidV4()
  const owners = yield* Owners
  const questions = yield* OpenQuestions.OpenQuestions
  const hosting = Hosting.make(directory)
  const rehydrating = yield* Semaphore.make(config.rehydrate_max)
  const fibers = yield* FiberMap.make<string, void, never>()
  const fork = yield* FiberMap.runtime(fibers)<never>()
  const background = yield* FiberSet.makeRuntime<never, void, never>()

  const actors = new Map<string, Actor>()
  const resident = new Map<RunId, Actor>()
  /** Runs that wait for a person, and of which nothing is in the process: what is kept of each is this entry. */
  const parked = new Map<RunId, string>()
  /** Runs that others amended and that no actor here has taken up since: a sweep looks at them again. */
  const unseen = new Set<RunId>()
  const stopped = new Map<string, Actor>()
  let stopping = false

  const { accept, acceptUpTo, supersede } = Acceptance.make({
    directory,
    journal,
    tasks,
    onDurable
  })

  const host: Actors.Host = {
    owner,
    config,
    tasks,
    feed,
    onDurable,
    questions,
    background,
    rehydrating,
    hosting,
    directoryFor: RoleDirectory.make(directory),
    loop: {
      journal,
      model,
      directory,
      deadlines,
      scheduler,
      weights: PromptMeter.make(yield* Tokenizer),
      clock,
      prices: yield* PriceBook,
      report,
      askLimitApproval: LimitApproval.make({ digest, random, policy_version }),
      invoker
    },
    isStopping: () => stopping,
    now: () => clock.currentTimeMillisUnsafe(),
    leave: (actor, head) => {
      if (actors.get(actor.key) === actor) actors.delete(actor.key)
      // An actor that came after this one may have the run already.
      if (actor.run !== undefined && resident.get(actor.run) === actor) {
        resident.delete(actor.run)
        OpenQuestions.drop(questions, actor.run, "parked")
      }
      if (head !== undefined) parked.set(head.run_id, actor.key)
      if (actor.state === "stopped") {
        stopped.set(actor.key, actor)
        if (stopped.size > stopped_max) stopped.delete(stopped.keys().next().value!)
      }
    },
    began: (actor, run) => {
      resident.set(run, actor)
      parked.delete(run)
      unseen.delete(run)
    },
    failing: (run, { message, reason }) =>
      void background(Effect.logWarning("a run fails", { run_id: run, reason, message })),
    ended: (run) => {
      OpenQuestions.drop(questions, run, "amended")
      resident.delete(run)
      parked.delete(run)
    }
  }

  /** Wakes the actor of a tenant's address, or starts it, with its first run if that was just found. */
  const wake = (tenant: Tenant, address: Address, found?: RunHead): void => {
    // What is not hosted here waits for a process that has it: here it could only fail.
    if (!hosting.has(address)) return
    const key = actorKey(tenant, address)
    const present = actors.get(key)
    if (present !== undefined) {
      return found === undefined ? Actors.mail(present) : Actors.find(present, found)
    }
    if (stopping) return
    const actor = Actors.make(tenant, address, found)
    actors.set(key, actor)
    stopped.delete(key)
    // The scope is not in the fiber's context: a context of its own would be most of what a waiting actor holds.
    const scope = Scope.makeUnsafe()
    const life = Effect.onExit(
      Effect.flatMap(Scope.provide(memories.get(tenant, address), scope), (memory) =>
        Actors.supervise(host, actor, memory)
      ),
      (exit) => Scope.close(scope, exit)
    )
    // Whatever ended it, an entry without a fiber would swallow every later message.
    fork(key, life).addObserver((exit) => {
      host.leave(actor, undefined)
      reportExit(report, "an actor broke", exit, { address: key, run_id: actor.run })
    })
  }

  /** A command from outside: the run's owner looks at it now, or, where nobody has the run, an actor is started. */
  const rouse = Effect.fnUntraced(function* (run: RunId) {
    const head = yield* journal.head(run)
    feed.wake(Feed.placeOf(head.tenant, head.conversation))
    const waits = head.rests || head.quarantined === true
    if (waits || !hosting.has(head.address, head.needs)) return void unseen.delete(run)
    parked.delete(run)
    const over = ["complete", "failed", "cancelled"].includes(head.status)
    const isFree = head.owner === undefined || head.owner === owner
    if (over || !isFree) unseen.delete(run)
    // Also for one that is over: messages may have waited behind it.
    if (isFree) wake(head.tenant, head.address)
  })

  const amended = (run: RunId | undefined): void => {
    if (run === undefined) return Actors.look(resident.values())
    const actor = resident.get(run)
    if (actor !== undefined) return wakeRun(actor.wakeup)
    if (stopping) return
    unseen.add(run)
    background(Effect.ignore(rouse(run)))
  }

  const recover = Effect.fnUntraced(function* () {
    for (const head of yield* journal.recoverable(owner, hosting.hosted, config.recover_max)) {
      // Also for an actor that has it, is idle, or was stopped while the journal was away.
      wake(head.tenant, head.address, head)
    }
    // What waits only for people is taken up when somebody answers; until then all that there is of it is its entry.
    for (const head of yield* journal.adopt(owner, hosting.hosted, config.recover_max)) {
      if (resident.has(head.run_id)) continue
      parked.set(head.run_id, actorKey(head.tenant, head.address))
    }
    // The journal did not answer at the wakeup, or another run of the address was first.
    for (const run of unseen) {
      yield* Effect.catchTag(rouse(run), "RunNotFound", () => Effect.sync(() => unseen.delete(run)))
    }
  })

  const deliver = Effect.fn("TaskDispatch.deliver")(function* (id: RunId) {
    const task = yield* tasks.get(id)
    if (task === undefined || task.status === "complete" || task.status === "failed") return
    // Claims leave it to its host; begun here, its run would have no limits and no definition.
    if (!hosting.has(task.address)) return yield* new StoreError({ message: "not hosted here" })
    yield* accept(task)
    yield* supersede(task)
    feed.wake(Feed.placeOf(task.tenant, task.conversation))
    wake(task.tenant, task.address)
  })

  const send = Effect.fn("AgentRuntime.send", { kind: "producer" })(function* (
    message: Message,
    by: Principal
  ) {
    if (stopping) return yield* new ShuttingDown()
    const agent = directory.get(message.agent)
    if (agent === undefined) {
      const available = directory.all.map((each) => each.spec.name)
      return yield* new AgentNotFound({ agent: message.agent, available })
    }
    const { idempotency_key, text } = message
    if (text.length * 3 > message_bytes_max && encoder.encode(text).length > message_bytes_max) {
      return yield* new MessageTooLarge({ bytes_max: message_bytes_max })
    }
    // The same key again must name the same conversation, or a retry would never find what the first try accepted.
    const conversation =
      message.conversation ??
      ConversationId.make(
        idempotency_key === undefined
          ? yield* random.uuidV7()
          : (yield* digestOf(digest, { tenant: by.tenant, idempotency_key })).slice(0, 32)
      )
    return yield* tasks.accept({
      id: RunIds.make(yield* random.uuidV7()),
      tenant: by.tenant,
      address: { agent: agent.spec.name, key: conversation },
      conversation,
      message: text,
      by: by.id,
      roles: rolesOf(by),
      ...(yield* RunSpans.sender(random)),
      channel_origin: message.channel_origin ?? "api",
      initiated_by: "customer",
      idempotency_key,
      waiting_max: agent.spec.mailbox_max,
      reject_when_busy: agent.spec.mailbox === "reject",
      message_id: MessageId.make(yield* random.uuidV7())
    })
  })

  /** A task that was accepted and not delivered yet has no run; a command begins it, so that it can be changed. */
  const begun = Effect.fnUntraced(function* <A, E>(
    run: RunId,
    command: Effect.Effect<A, E | RunNotFound | JournalError>
  ) {
    return yield* Effect.catchIf(
      command,
      (error): error is RunNotFound => error instanceof RunNotFound,
      (missing) =>
        Effect.gen(function* () {
          const task = yield* Effect.orElseSucceed(tasks.get(run), () => undefined)
          if (task === undefined) return yield* Effect.fail(missing)
          // One of an agent that is not hosted here is begun alone: the command ends it, so that it overtakes nothing.
          const begin = hosting.has(task.address) ? acceptUpTo(task) : accept(task)
          yield* Effect.catchTag(begin, "StoreError", ({ message }) =>
            Effect.fail(new JournalError({ message, lost: false }))
          )
          return yield* command
        })
    )
  })

  yield* journal.beat(owner, config.lease_ms)
  yield* owners.attend(owner, hosting.hosted)
  yield* journal.amended(amended)
  // The last finalizer to be added is the first to run: steps on their way end before their fibers are interrupted.
  yield* Effect.addFinalizer(() =>
    Effect.gen(function* () {
      stopping = true
      for (const actor of actors.values()) {
        drainRun(actor.wakeup)
        Actors.mail(actor)
      }
      yield* Effect.timeoutOption(FiberMap.awaitEmpty(fibers), config.drain_ms)
      yield* FiberMap.clear(fibers)
      yield* Effect.ignore(journal.release(owner))
    })
  )
  yield* every(Math.max(config.lease_ms / 3, 1), journal.beat(owner, config.lease_ms))
  yield* every(config.sweep_ms, Effect.andThen(desk.expire(500), recover()))
  // What those had is taken up now, and not at the next sweep.
  yield* owners.gone(() => void (stopping || background(Effect.ignore(recover()))))
  yield* recover()

  const runtime = decoded(
    { digest, tasks },
    {
      send,
      watch: (conversation, after, { tenant }) =>
        watch(
          { journal, tasks, deadlines, feed, watch_ms: config.watch_ms },
          tenant,
          conversation,
          after
        ),
      interrupt: (run, by, reason) =>
        begun(
          run,
          amend(journal, onDurable, run, (state) => cancelBy(state, run, by, reason))
        ),
      settle: (run, call, settlement, by) =>
        amend(journal, onDurable, run, (state, now) =>
          settleBy(state, run, call, settlement, by, now)
        ),
      actors: (limit, tenant) =>
        Effect.sync(() => actorList({ actors, parked, stopped }, limit, tenant))
    }
  )
  return Context.make(AgentRuntime, runtime).pipe(
    Context.add(TaskDispatch, TaskDispatch.of({ agents: hosting.agents, deliver }))
  )
})

export const layer: Layer.Layer<
  AgentRuntime | TaskDispatch,
  JournalError | MisdeclaredPolicy,
  | AgentDirectory
  | AgentMemories
  | ApprovalDesk
  | Digest.Digest
  | ModelGateway
  | OpenQuestions.OpenQuestions
  | RunJournal
  | SecureRandom.SecureRandom
  | TaskStore
  | ToolRegistry
> = Layer.effectContext(make)
