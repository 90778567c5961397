/**
 * Begins the runs of accepted tasks, once each and in the order of their messages, and cancels the runs that a message
 * supersedes.
 */
import { Effect } from "effect"
import type { AgentTask, MessageExtras } from "../../../src/delivery/AgentTask.ts"
import { extrasOf } from "../../../src/delivery/AgentTask.ts"
import type { RunId } from "../../../src/value/Ids.ts"
import { forEachPage } from "../../../src/value/Pages.ts"
import { defined } from "../../../src/value/PlainObject.ts"
import { limitsWithin } from "../../../src/run/Nesting.ts"
import { agentOfRun } from "../../../src/run/RunState.ts"
import { cancelRun, RunNotFound } from "../../../src/run/RunCommand.ts"
import type { RunAccepted } from "../../../src/run/RunEvent.ts"
import { RunLimits } from "../../../src/run/RunLimits.ts"
import { JournalError } from "../../../services/RunJournal.ts"
import { StoreError } from "../../../services/StoreError.ts"
import type { NewTask } from "../../../services/TaskStore.ts"
import { amend } from "../feed/Observers.ts"
import { channelKey } from "../feed/ChannelKey.ts"
import type { ActorHost } from "./ActorHost.ts"

const unpinned = { definition: "", tools: "" }
/** Tasks of a conversation that are read at once. */
const page_max = 500
/** Runs of an address that one message supersedes. */
const superseded_max = 100

type Message = Pick<
  AgentTask,
  "tenant" | "address" | "conversation" | "message" | "by" | "trace_id"
> &
  MessageExtras &
  Pick<NewTask, "roles" | "via">

/** The first event of the task's run. */
export const runAcceptedOf = ({ loop }: ActorHost, task: Message): RunAccepted => {
  const agent = loop.directory.get(agentOfRun(task))
  return {
    _tag: "RunAccepted",
    tenant: task.tenant,
    address: task.address,
    conversation: task.conversation,
    message: task.message,
    by: task.by,
    ...(task.roles === undefined ? undefined : { roles: task.roles }),
    ...(task.via === undefined ? undefined : { via: task.via }),
    trace_id: task.trace_id,
    limits: limitsWithin(
      agent?.spec.limits ?? RunLimits.make({}),
      task.nested,
      loop.prices?.currency
    ),
    ...extrasOf(task),
    pins: agent?.pins ?? unpinned
  }
}

/** Begins the task's run in the journal, which is durable when it returns. A run that exists is left alone. */
export const beginRun = (host: ActorHost, task: AgentTask) =>
  Effect.suspend(() => {
    host.feed.follow(channelKey(task.tenant, task.conversation), task.id, task.ordinal)
    return host.loop.journal.create(task.id, task.ordinal, runAcceptedOf(host, task))
  })

/** Begins a task's run, and before it those of its conversation's earlier tasks, which it may not overtake. */
const beginUpTo = (host: ActorHost, { conversation, ordinal, tenant }: AgentTask) =>
  forEachPage(
    page_max,
    (last: AgentTask | undefined) =>
      host.tasks.ofConversation(tenant, conversation, last?.ordinal ?? 0, page_max),
    Effect.fnUntraced(function* (page) {
      for (const each of page) {
        if (each.ordinal > ordinal) return "enough"
        if (each.status === "pending") yield* beginRun(host, each)
      }
      return undefined
    })
  )

/** Where the agent's mailbox policy is `interrupt`: cancels the address's unfinished runs that came before the task. */
export const supersedeEarlier = Effect.fnUntraced(function* (host: ActorHost, task: AgentTask) {
  const { loop, onDurable } = host
  const { directory, journal, reader } = loop
  if (directory.get(task.address.agent)?.spec.mailbox !== "interrupt") return
  for (const head of yield* reader.unfinished(task.tenant, task.address, superseded_max)) {
    if (head.ordinal >= task.ordinal) continue
    yield* amend(journal, onDurable, head.run_id, (state) =>
      cancelRun(state, head.run_id, { by: task.by, ...defined({ via: task.via }) }, "superseded")
    ).pipe(Effect.catchTag(["RunIsOver", "RunNotFound", "RunQuarantined"], () => Effect.void))
  }
})

/** For commands, which know a store that is away as a JournalError alone. */
export const orJournalError = <A, E>(
  self: Effect.Effect<A, E>
): Effect.Effect<A, Exclude<E, StoreError> | JournalError> =>
  Effect.mapError(self, (error) =>
    error instanceof StoreError
      ? new JournalError({ message: error.message, lost: false })
      : (error as Exclude<E, StoreError>)
  )

/** Runs a command on a run. Where its task was accepted and not delivered yet, the run is begun first. */
export const withRunBegun = Effect.fnUntraced(function* <A, E>(
  host: ActorHost,
  run: RunId,
  command: Effect.Effect<A, E | RunNotFound | JournalError>
) {
  return yield* Effect.catchIf(
    command,
    (error): error is RunNotFound => error instanceof RunNotFound,
    (missing) =>
      Effect.gen(function* () {
        const task = yield* orJournalError(host.tasks.get(run))
        if (task === undefined) return yield* Effect.fail(missing)
        // One whose agent is not hosted here is begun alone: the command ends it, so that it overtakes nothing.
        yield* orJournalError(
          host.hosting.has(task.address) ? beginUpTo(host, task) : beginRun(host, task)
        )
        return yield* command
      })
  )
})
