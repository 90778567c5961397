/**
 * Begins the runs of accepted tasks, once each and in their order.
 */
import { Effect } from "effect"
import type { AgentTask } from "../../src/delivery/AgentTask.ts"
import { RunLimits } from "../../src/run/RunLimits.ts"
import type { AgentDirectory } from "../../services/AgentDirectory.ts"
import type { RunJournal } from "../../services/RunJournal.ts"
import type { TaskStore } from "../../services/TaskStore.ts"

interface Services {
  readonly directory: AgentDirectory["Service"]
  readonly journal: RunJournal["Service"]
  readonly tasks: TaskStore["Service"]
}

const unpinned = { definition: "", tools: "" }
const page_max = 500

export const make = ({ directory, journal, tasks }: Services) => {
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

  return { accept, acceptUpTo }
}
