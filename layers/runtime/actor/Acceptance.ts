/**
 * Begins the runs of accepted tasks, once each and in their order, and cancels those that a message takes the place of.
 */
import { Effect } from "effect"
import type { AgentTask } from "../../../src/delivery/AgentTask.ts"
import { cancelRun } from "../../../src/run/RunCommand.ts"
import { RunLimits } from "../../../src/run/RunLimits.ts"
import type { AgentDirectory } from "../../../services/AgentDirectory.ts"
import type { RunJournal } from "../../../services/RunJournal.ts"
import type { TaskStore } from "../../../services/TaskStore.ts"
import type { OnDurable } from "../desk/Observers.ts"
import { amend } from "../desk/Observers.ts"

interface Services {
  readonly directory: AgentDirectory["Service"]
  readonly journal: RunJournal["Service"]
  readonly tasks: TaskStore["Service"]
  readonly onDurable: OnDurable
}

const unpinned = { definition: "", tools: "" }
const page_max = 500

export const make = ({ directory, journal, tasks, onDurable }: Services) => {
  const accept = Effect.fnUntraced(function* (task: AgentTask) {
    const agent = directory.get(task.address.agent)
    return yield* journal.create(task.id, task.ordinal, {
      _tag: "RunAccepted",
      tenant: task.tenant,
      address: task.address,
      conversation: task.conversation,
      message: task.message,
      by: task.by,
      ...(task.roles === undefined ? undefined : { roles: task.roles }),
      trace_id: task.trace_id,
      ...(task.span_id === undefined ? undefined : { span_id: task.span_id }),
      ...(task.sampled === undefined ? undefined : { sampled: task.sampled }),
      limits: agent?.spec.limits ?? RunLimits.make({}),
      pins: agent?.pins ?? unpinned
    })
  })

  /** Begins a task's run, and before it those of the tasks that came before it: begun early, it may not overtake them. */
  const acceptUpTo = Effect.fnUntraced(function* (task: AgentTask) {
    for (let after = 0; ;) {
      const page = yield* tasks.ofConversation(task.tenant, task.conversation, after, page_max)
      for (const each of page) {
        if (each.ordinal > task.ordinal) return
        if (each.status === "pending") yield* accept(each)
      }
      if (page.length < page_max) return
      after = page.at(-1)!.ordinal
    }
  })

  /** A message to a busy actor whose policy is `interrupt` cancels what came before it. */
  const supersede = Effect.fnUntraced(function* (task: AgentTask) {
    if (directory.get(task.address.agent)?.spec.mailbox !== "interrupt") return
    for (const head of yield* journal.unfinished(task.tenant, task.address, 100)) {
      if (head.ordinal >= task.ordinal) continue
      yield* amend(journal, onDurable, head.run_id, (state) =>
        cancelRun(state, head.run_id, task.by, "superseded")
      ).pipe(Effect.catchTag(["RunIsOver", "RunNotFound", "RunQuarantined"], () => Effect.void))
    }
  })

  return { accept, acceptUpTo, supersede }
}
