/**
 * Bugs that are planted, each as a port, a tool or a model that answers wrongly. Every one must be seen by the judge;
 * one that is not says that the simulation looks at too little.
 */
import { Effect } from "effect"
import type { RunId } from "../../src/value/Ids.ts"
import { statusOf } from "../../src/run/RunState.ts"
import { fold } from "../../src/run/RunFold.ts"
import type { RunEvent } from "../../src/run/RunEvent.ts"
import { mayEndWait } from "../../src/run/RunEvent.ts"
import type { Append, Fence } from "../../services/RunJournal.ts"
import type { CommitListener, Committed } from "../../services/RunNews.ts"
import type { Mutation } from "./Generation.ts"
import { pardoned } from "./Guards.ts"
import type { ScheduledLoop } from "../../layers/runtime/fiber/LoopScheduler.ts"
import type { Journal } from "./Ports.ts"
import { regressions } from "./Suite.ts"
import type { World } from "./World.ts"
import { handlerEffect } from "../../layers/runtime/tool/HandlerEffect.ts"

const entriesOf = (world: World, run: RunId) => world.store.runs.get(run)?.entries ?? []

const journal =
  (change: (inner: Journal, world: World) => Partial<Journal>): NonNullable<Mutation["ports"]> =>
  ({ journal: inner }, world) => ({ journal: { ...inner, ...change(inner, world) } })

/** An append and a transaction whose fence is what the mutant says. */
const fenced = (fence: (given: Fence, run: RunId, world: World) => Fence): Mutation => ({
  ports: journal((inner, world) => ({
    append: (append) =>
      Effect.suspend(() =>
        inner.append({ ...append, fence: fence(append.fence, append.run, world) })
      ),
    transact: (run, given, body, record) =>
      Effect.suspend(() => inner.transact(run, fence(given, run, world), body, record))
  }))
})

const appending = (
  change: (inner: Journal, append: Append, world: World) => ReturnType<Journal["append"]>
): Mutation => ({
  ports: journal((inner, world) => ({ append: (append) => change(inner, append, world) }))
})

const without = (tag: RunEvent["_tag"]): Mutation => ({
  ports: journal((inner) => ({
    append: (append) => {
      const events = append.events.filter((event) => event._tag !== tag)
      return events.length === 0 ? Effect.void : inner.append({ ...append, events })
    }
  }))
})

const amending = (
  change: (events: ReadonlyArray<RunEvent>) => ReadonlyArray<RunEvent>
): Mutation => ({
  ports: journal((inner) => ({
    amend: (run, command) =>
      inner.amend(run, (state, now) => {
        const amendment = command(state, now)
        return { ...amendment, events: change(amendment.events) }
      })
  }))
})

const respec = (name: string, spec: object): Mutation => ({
  tools: (tools) =>
    tools.map((tool) =>
      tool.spec.name === name ? { ...tool, spec: { ...tool.spec, ...spec } } : tool
    )
})

/** A scheduler whose fiber sleeps without a look at the loops that came since its last turn. */
const sleepy: NonNullable<Mutation["scheduling"]> = Effect.fnUntraced(function* (per_turn) {
  const waiting: Array<ScheduledLoop> = []
  let left = per_turn
  let wake: (() => void) | undefined
  const asleep = Effect.callback<void>((resume) => {
    wake = () => resume(Effect.void)
  })
  const turns = Effect.gen(function* () {
    for (;;) {
      // The same gap as between two operations of a fiber, and wide enough to be met within a few seeds.
      yield* Effect.yieldNow
      yield* asleep
      for (let more = true; more;) {
        yield* Effect.yieldNow
        const now = waiting.splice(0, per_turn)
        left = per_turn - now.length
        for (const loop of now) loop.resume()
        more = now.length > 0
      }
    }
  })
  yield* Effect.forkScoped(turns, { startImmediately: true })
  return {
    schedule: (loop) => {
      const begin = wake
      wake = undefined
      begin?.()
      if (left > 0 && waiting.length === 0) {
        left--
        loop.resume()
      } else waiting.push(loop)
    },
    waiting: () => waiting.length
  }
})

/** The same with members of its own: those of a class are not spread. */
const copied = (committed: Committed): Committed => {
  const { count, from, isEnd, mayEndWait: mayEnd, run, size } = committed
  const entries = () => committed.entries()
  return { count, from, isEnd, mayEndWait: mayEnd, run, size, entries }
}

/** What watchers are told of an append is what the mutant makes of it. */
const telling = (change: (committed: Committed) => ReadonlyArray<Committed>): Mutation => ({
  ports: journal((inner) => ({
    onCommitted: ({ accepts, onCommitted }) =>
      inner.onCommitted({
        accepts,
        onCommitted: (committed) => change(committed).forEach(onCommitted)
      })
  }))
})

/** Watchers are told of an append when it begins. */
const hasty: Mutation = {
  ports: journal((inner, world) => {
    const listeners = new Set<CommitListener>()
    return {
      onCommitted: (listener) => Effect.sync(() => void listeners.add(listener)),
      append: (append) =>
        Effect.suspend(() => {
          const { events, fence, run } = append
          const from = fence.length
          const entries = events.map((event, i) => ({ seq: from + i, at: world.now, event }))
          const kinds = {
            isEnd: events.at(-1)?._tag === "RunEnded",
            mayEndWait: events.some(({ _tag }) => mayEndWait(_tag))
          }
          const committed = { run, from, count: events.length, ...kinds, size: 0 }
          for (const { accepts, onCommitted } of listeners) {
            if (accepts(run)) onCommitted({ ...committed, entries: () => entries })
          }
          return inner.append(append)
        })
    }
  })
}

let counter = 0

export const mutants: Readonly<Record<string, Mutation>> = {
  "the scheduler of loops sleeps while some of them wait": {
    scheduling: sleepy,
    known: regressions
  },
  // The epoch alone is no bug that can be seen: a claim makes the journal longer, so that the length refuses a zombie
  // too, and what it then loads tells it of the claim.
  "neither epoch nor length is checked": fenced((_, run, world) => ({
    epoch: world.store.runs.get(run)?.epoch ?? 0,
    length: entriesOf(world, run).length
  })),
  "the length is not checked": fenced((given, run, world) => ({
    ...given,
    length: entriesOf(world, run).length
  })),
  "a stale append is acknowledged and its inputs are dropped": appending((inner, append) =>
    Effect.catchTag(inner.append(append), "StaleAppend", () => Effect.void)
  ),
  "an append is acknowledged before it is durable": appending((inner, append) =>
    Effect.asVoid(
      Effect.forkDetach(Effect.andThen(Effect.sleep(15), Effect.ignore(inner.append(append))))
    )
  ),
  "an append whose acknowledgement was lost is appended again": appending((inner, append, world) =>
    Effect.catchTag(inner.append(append), "JournalError", () =>
      Effect.suspend(() =>
        inner.append({
          ...append,
          fence: { ...append.fence, length: entriesOf(world, append.run).length }
        })
      )
    )
  ),
  "the state is not loaded again after a refusal": {
    ports: journal((inner, world) => {
      const known = new Map<RunId, number>()
      return {
        claim: (run, owner, seen) =>
          Effect.tap(inner.claim(run, owner, seen), () =>
            Effect.sync(() => known.set(run, entriesOf(world, run).length))
          ),
        read: (run, from, limit) =>
          inner.read(run, from, Math.min(limit, (known.get(run) ?? limit) - from))
      }
    })
  },
  "wakeups are lost, and the sweep looks at no run of its own": {
    ports: journal((inner) => ({
      onAmended: () => Effect.void,
      recoverable: (owner, agents, limit) =>
        Effect.map(inner.recoverable(owner, agents, limit), (heads) =>
          heads.filter((head) => head.owner === undefined && head.epoch === 0)
        )
    }))
  },
  "nothing is recovered": { ports: journal(() => ({ recoverable: () => Effect.succeed([]) })) },
  "a run that was begun is not recovered": {
    ports: journal((inner) => ({
      recoverable: (owner, agents, limit) =>
        Effect.map(inner.recoverable(owner, agents, limit), (heads) =>
          heads.filter((head) => head.epoch === 0)
        )
    }))
  },
  "a run with a question is marked parkable, whatever else it has to do": appending(
    (inner, append) => inner.append({ ...append, parkable: append.status === "awaiting_approval" })
  ),
  "a run that waits only for people is claimed at each start": appending((inner, append) =>
    inner.append({ ...append, parkable: false })
  ),
  "a claim leaves the epoch as it is": {
    ports: journal((inner, world) => ({
      claim: (run, owner, seen) =>
        Effect.map(inner.claim(run, owner, seen), (claim) => {
          const stored = world.store.runs.get(run)
          if (stored === undefined || claim.head.epoch < 2) return claim
          stored.entries.pop()
          stored.epoch--
          return {
            head: { ...claim.head, epoch: stored.epoch, length: stored.entries.length },
            entries: stored.entries.slice()
          }
        })
    }))
  },
  "a dispatch is not journaled": without("CallDispatched"),
  "a cancel closes no question": amending((events) =>
    events.filter((event) => event._tag !== "ApprovalClosed" || event.how !== "cancelled")
  ),
  "a decision is amended without a lock": {
    ports: journal((inner) => ({
      amend: (run, command) =>
        Effect.gen(function* () {
          const before = yield* inner.read(run, 0, 10_000)
          const state = fold(before.map((entry) => entry.event))
          yield* Effect.sleep(10)
          return yield* inner.amend(run, (_, now) => command(state, now))
        })
    }))
  },
  "a decision is applied twice": amending((events) =>
    events.flatMap((event): ReadonlyArray<RunEvent> =>
      event._tag === "ApprovalDecided" ? [event, event] : [event]
    )
  ),
  "a decision is bound to the arguments that were asked": amending((events) =>
    events.map((event) =>
      event._tag === "ApprovalDecided" && event.decision._tag === "Modify"
        ? { ...event, digest: event.digest.replaceAll(/./g, "0") }
        : event
    )
  ),
  "an expired question takes an answer": {
    ports: journal((inner) => ({
      amend: (run, command) => inner.amend(run, (state) => command(state, 0))
    }))
  },
  "nothing expires": {
    ports: ({ records }) => ({ records: { ...records, overdue: () => Effect.succeed([]) } })
  },
  "what ended may be amended": {
    ports: journal((inner) => ({
      amend: (run, command) =>
        inner.amend(run, (state, now) => {
          if (state.ended === undefined) return command(state, now)
          state.ended = undefined
          state.stopping = undefined
          return command(state, now)
        })
    }))
  },
  "creating a run again begins it again": {
    ports: journal((inner, world) => ({
      create: (run, ordinal, accepted) =>
        Effect.tap(inner.create(run, ordinal, accepted), (created) =>
          Effect.sync(() => {
            const stored = world.store.runs.get(run)
            if (!created && stored !== undefined) {
              stored.entries.push({ seq: stored.entries.length, at: world.now, event: accepted })
            }
          })
        )
    }))
  },
  "the records of questions are lost": appending((inner, append, world) =>
    Effect.tap(inner.append(append), () =>
      Effect.sync(() => {
        for (const event of append.events) {
          if (event._tag === "ApprovalRequested") world.store.pending.delete(event.approval)
        }
      })
    )
  ),
  "the status is not written with its events": appending((inner, append, world) =>
    inner.append({
      ...append,
      status: statusOf(fold(entriesOf(world, append.run).map((e) => e.event)))
    })
  ),
  "a transaction commits without its events": {
    ports: journal((inner) => ({
      transact: (run, fence, body, record) =>
        inner.transact(run, fence, body, (exit) => ({ ...record(exit), events: [] }))
    }))
  },
  "an idempotency key is drawn at each attempt": {
    tools: (tools) =>
      tools.map((tool) =>
        tool.spec.idempotent
          ? {
              ...tool,
              handler: (args, context) =>
                handlerEffect(tool.handler, args, {
                  ...context,
                  call: { ...context.call, key: `${context.call.key}-${++counter}` }
                })
            }
          : tool
      )
  },
  "a write that was lost is sent again": respec("post", { idempotent: true }),
  "what was lost is believed not to have happened, without a question": {
    tools: (tools) =>
      tools.map((tool) =>
        tool.reconcile === undefined
          ? tool
          : { ...tool, reconcile: () => Effect.succeed({ _tag: "NotHappened" }) }
      )
  },
  "what was lost is unknown, and nobody asks": respec("wire", { reconcile: false }),
  "a tool that asks runs without": respec("pay", { permission: "allow" }),
  "what runs is not what was approved": {
    tools: (tools) =>
      tools.map((tool) =>
        tool.spec.name === "sign"
          ? {
              ...tool,
              handler: (args, context) =>
                handlerEffect(tool.handler, { n: (args as { readonly n: number }).n + 1 }, context)
            }
          : tool
      )
  },
  "runs of an address begin in any order": {
    ports: journal((inner) => ({
      unfinished: (tenant, address, limit) =>
        Effect.map(inner.unfinished(tenant, address, 100), (heads) =>
          heads.toReversed().slice(0, limit)
        )
    }))
  },
  "messages of a key are claimed in any order": {
    ports: ({ outbox }, world) => ({
      outbox: {
        ...outbox,
        claim: (claim) =>
          Effect.suspend(() => {
            for (const key of world.store.keys.values()) {
              const all = [...key.waiting].toReversed()
              key.waiting.clear()
              for (const message of all) key.waiting.add(message)
            }
            return outbox.claim(claim)
          })
      }
    })
  },
  "a dispatch is removed before its run is begun": {
    ports: ({ journal: inner, outbox }) => ({
      journal: {
        ...inner,
        begin: (beginning, owner) =>
          Effect.gen(function* () {
            const { accepted, dispatch, ordinal, run } = beginning
            yield* Effect.ignore(outbox.delivered(dispatch.id, dispatch.claim))
            yield* inner.create(run, ordinal, accepted)
            return yield* Effect.orElseSucceed(inner.claim(run, owner, 0), () => undefined)
          })
      }
    })
  },
  "what a process held and never began is not free again": {
    ports: ({ outbox, tasks }, world) => ({
      outbox: { ...outbox, release: () => Effect.void },
      tasks: {
        ...tasks,
        accept: (task) =>
          Effect.tap(tasks.accept(task), ({ held }) =>
            Effect.sync(() => {
              const message = world.store.messages.get(task.message_id)
              if (held === true && message !== undefined) message.leased_until = Infinity
            })
          )
      }
    })
  },
  "a task is held though others of its address wait": {
    ports: ({ tasks }, world) => ({
      tasks: {
        ...tasks,
        accept: (task) =>
          Effect.map(tasks.accept(task), (accepted) => {
            const message = world.store.messages.get(task.message_id)
            if (!accepted.created || message === undefined) return accepted
            message.owner = task.claim?.owner
            message.leased_until = world.now + 1_000
            return { ...accepted, held: true }
          })
      }
    })
  },
  "a run that exists is begun again": {
    ports: journal((inner, world) => ({
      begin: (beginning, owner) =>
        Effect.map(inner.begin(beginning, owner), (claim) => {
          const stored = world.store.runs.get(beginning.run)
          if (claim !== undefined || stored === undefined) return claim
          const event: RunEvent = { _tag: "RunClaimed", epoch: 1, owner }
          stored.entries.push({ seq: stored.entries.length, at: world.now, event })
          return claim
        })
    }))
  },
  "a message is gone once it is claimed": {
    ports: ({ outbox }) => ({
      outbox: {
        ...outbox,
        claim: (claim) =>
          Effect.tap(outbox.claim(claim), (messages) =>
            Effect.ignore(
              Effect.forEach(messages, (message) => outbox.delivered(message.id, claim.owner))
            )
          )
      }
    })
  },
  "a key that another call holds is held again": {
    ports: ({ keys }) => ({
      keys: { ...keys, reserve: (claim, over) => Effect.as(keys.reserve(claim, over), true) }
    }),
    known: [221, 349, 493, 661].map((seed) => ({ seed, loops_per_turn: 1 }))
  },
  "a message sent again is another task": {
    ports: ({ tasks }) => ({
      tasks: {
        ...tasks,
        accept: (task) => tasks.accept({ ...task, idempotency_key: undefined })
      }
    })
  },
  "watchers are told of an append before it is durable": hasty,
  "watchers are told of an append twice, the second time behind itself": telling((committed) => [
    committed,
    { ...copied(committed), from: committed.from + committed.count }
  ]),
  "watchers are told of an append without its first entry": telling((committed) => {
    const { count } = committed
    return [
      {
        ...copied(committed),
        count: Math.max(count - 1, 1),
        entries: () => committed.entries()?.slice(count > 1 ? 1 : 0)
      }
    ]
  }),
  "a refusal of a guard is journaled as a pass": appending((inner, append) =>
    inner.append({ ...append, events: append.events.map(pardoned) })
  ),
  "a model is not shown what became of its calls": {
    model: (model) => ({
      turn: (request, sink) => {
        const transcript = request.transcript.filter((entry) => entry.role !== "tool")
        return model.turn({ ...request, transcript }, sink)
      }
    })
  }
}

/**
 * Seen, but not within the few seeds of a quick test: it takes a rare meeting of two writers, or of a wake and a sleep (the
 * second has a test of its own in `test/runtime/LoopScheduler.test.ts`).
 */
export const rare: ReadonlySet<string> = new Set([
  "the length is not checked",
  "the scheduler of loops sleeps while some of them wait"
])
