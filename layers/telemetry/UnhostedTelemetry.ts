/**
 * Reports agents with waiting work that no living process hosts, in any version or in the version that the work needs:
 * as a metric, and as a warning when it lasts. The numbers cover all processes that share the store.
 */
import { Clock, Context, Effect, Layer, Metric } from "effect"
import { AgentDirectory, hostedBy } from "../../services/AgentDirectory.ts"
import { RunList } from "../../services/RunList.ts"
import { StorePace } from "../../services/StorePace.ts"

const waiting = Metric.gauge("troupe_unhosted", {
  description: "Messages and runs that wait for a process that hosts their agent, by agent"
})

/** Versions and tools that one warning names. */
const named_max = 10

/** The interval of reads, and how long an agent has no host before a warning, in ms. */
export const UnhostedPace = Context.Reference<{
  readonly interval_ms: number
  readonly grace_ms: number
}>("troupe/UnhostedPace", { defaultValue: () => ({ interval_ms: 5_000, grace_ms: 10_000 }) })

const make = Effect.gen(function* () {
  const runs = yield* RunList
  const hosted = hostedBy((yield* AgentDirectory).all)
  const { grace_ms, interval_ms } = yield* UnhostedPace
  const pace = yield* StorePace
  /** The first time each agent was seen without a host, in ms; undefined = a warning was logged. */
  const since = new Map<string, number | undefined>()
  const look = Effect.gen(function* () {
    const found = yield* runs.unhosted({ hosted })
    const now = yield* Clock.currentTimeMillis
    const counts = new Map<string, number>()
    const only = new Map<string, Set<string>>()
    for (const { agent, count, tool, version } of found) {
      counts.set(agent, (counts.get(agent) ?? 0) + count)
      const which = tool ?? version
      if (which !== undefined) only.set(agent, (only.get(agent) ?? new Set()).add(which))
    }
    for (const agent of since.keys()) {
      if (counts.has(agent)) continue
      since.delete(agent)
      yield* Metric.update(Metric.withAttributes(waiting, { agent }), 0)
    }
    for (const [agent, count] of counts) {
      yield* Metric.update(Metric.withAttributes(waiting, { agent }), count)
      if (!since.has(agent)) since.set(agent, now)
      const first = since.get(agent)
      if (first === undefined || now - first < grace_ms) continue
      since.set(agent, undefined)
      const which = only.get(agent)
      yield* Effect.logWarning("work waits for an agent that no living process hosts", {
        agent,
        count,
        ...(which === undefined ? undefined : { only: [...which].slice(0, named_max) })
      })
    }
  })
  // A failing store is ignored here; those who use it report the failure.
  yield* Effect.ignore(look).pipe(
    Effect.andThen(Effect.sleep(pace(interval_ms))),
    Effect.forever,
    Effect.withTracerEnabled(false),
    Effect.forkScoped
  )
})

export const layer: Layer.Layer<never, never, AgentDirectory | RunList> = Layer.effectDiscard(make)
