/** How a service stands for a tenant: who works on its runs, and what waits. */
import { Clock, Effect } from "effect"
import { DeliveryHandlers } from "../../services/DeliveryHandlers.ts"
import { OutboxReader } from "../../services/OutboxReader.ts"
import type { OpenRun } from "../../services/RunList.ts"
import { RunList } from "../../services/RunList.ts"
import type { Owner } from "../../services/RunOwnership.ts"
import { RunOwnership } from "../../services/RunOwnership.ts"
import { StartSettings } from "../../services/StartSettings.ts"
import { ToolQueue } from "../../services/ToolQueue.ts"
import { ToolRegistry } from "../../services/ToolRegistry.ts"
import { counted_max } from "../../src/operation/Page.ts"
import * as StandingOperations from "../../src/operation/StandingOperations.ts"
import type { ToolOffer } from "../../src/queue/ToolOffer.ts"
import { needOf } from "../../src/run/Needs.ts"
import { toolKeyOf } from "../../src/tool/ToolSpec.ts"
import { defined } from "../../src/value/PlainObject.ts"
import { serve } from "./Served.ts"

/** The owners that are read, and those that an answer has. */
const owners_max = 500
const shown_max = 100

const minute = 60_000
/** The ages by which runs are counted, in ms. */
const ages = [minute, 10 * minute, 60 * minute, 1_440 * minute, 10_080 * minute, Infinity]

const isParked = ({ status }: OpenRun): boolean => status === "awaiting_approval"

const agesOf = (runs: ReadonlyArray<OpenRun>, now: number) =>
  ages.map((below, at) => {
    const those = runs.filter(({ created_at }) => {
      const age = Math.max(0, now - created_at)
      return age < below && age >= (ages[at - 1] ?? 0)
    })
    const waiting = those.filter(isParked).length
    return {
      working: those.length - waiting,
      waiting,
      ...(below === Infinity ? undefined : { below_ms: below })
    }
  })

const ownersOf = (owners: ReadonlyArray<Owner>, runs: ReadonlyArray<OpenRun>) => {
  const held = Map.groupBy(runs, ({ owner }) => owner)
  return owners
    .map(({ guarded, hosted, lease_until, owner, seen_at, since }) => ({
      id: owner,
      since,
      locks: guarded,
      agents: [...new Set(hosted.map((need) => needOf(need).agent))].slice(0, shown_max),
      runs: held.get(owner)?.length ?? 0,
      ...defined({ seen_at, lease_until })
    }))
    .sort((a, b) => b.runs - a.runs)
    .slice(0, shown_max)
}

const workersOf = (offers: ReadonlyArray<ToolOffer>) =>
  Array.from(
    Map.groupBy(offers, ({ worker }) => worker),
    ([id, all]) => ({
      id,
      provider: all[0]?.provider ?? "",
      available: all.some(({ available }) => available),
      tools: all.length
    })
  ).slice(0, shown_max)

export const processes = serve(
  StandingOperations.processes,
  Effect.fnUntraced(function* (_, { tenant }) {
    const runs = yield* RunList.use((list) => list.open(tenant, counted_max + 1))
    const owners = yield* RunOwnership.use((ownership) => ownership.owners(owners_max))
    const outbox = yield* OutboxReader.use((reader) => reader.undelivered(tenant))
    const queue = yield* ToolQueue
    const offers = yield* queue.list()
    const { all } = yield* ToolRegistry
    const specs = [...all, ...offers].map(({ spec }) => spec)
    const tools = new Set(specs.flatMap((spec) => [toolKeyOf(spec), spec.name]))
    const queued = yield* queue.queued(tenant, [...tools])
    const living = new Set(owners.map(({ owner }) => owner))
    const oldest_at = runs.reduce<number | undefined>(
      (oldest, { created_at }) => Math.min(oldest ?? created_at, created_at),
      undefined
    )
    return {
      owners: ownersOf(owners, runs),
      workers: workersOf(offers),
      runs: {
        count: runs.length,
        parked: runs.filter(isParked).length,
        unowned: runs.filter(({ owner }) => owner === undefined || !living.has(owner)).length,
        ages: agesOf(runs, yield* Clock.currentTimeMillis),
        ...defined({ oldest_at })
      },
      outbox: outbox.map(({ last_failure, ...each }) => ({
        ...each,
        ...defined({ last_failure })
      })),
      queue: queued.map(({ due_at, ...each }) => ({ ...each, ...defined({ due_at }) }))
    }
  })
)

/** The last failure as a code, which tells no text. */
const codeOf = (error: string): string =>
  /\b(?:[45]\d\d|[A-Z][A-Z0-9]{2,31}(?:_[A-Z0-9]{1,32}){0,4})\b/.exec(error)?.[0] ?? "other"

export const deliveries = serve(
  StandingOperations.deliveries,
  Effect.fnUntraced(function* (_, { tenant }) {
    const { byTopic } = yield* DeliveryHandlers
    const reader = yield* OutboxReader
    const waits = yield* reader.undelivered(tenant)
    const dies = yield* reader.undelivered(tenant, "dead")
    const topics = new Set([...byTopic.keys(), ...[...waits, ...dies].map(({ topic }) => topic)])
    const items = [...topics].sort().map((topic) => {
      const waiting = waits.find((each) => each.topic === topic)
      const dead = dies.find((each) => each.topic === topic)
      const [last] = [waiting?.last_failure, dead?.last_failure]
        .filter((each) => each !== undefined)
        .sort((a, b) => b.at - a.at)
      return {
        topic,
        delivered_here: byTopic.has(topic),
        waiting: waiting?.count ?? 0,
        failed: waiting?.failed ?? 0,
        dead: dead?.count ?? 0,
        ...defined({ oldest_at: waiting?.oldest_at }),
        ...(last !== undefined && { failed_at: last.at, failure: codeOf(last.error) })
      }
    })
    return { items }
  })
)

export const settings = serve(StandingOperations.settings, () =>
  Effect.map(StartSettings, (items) => ({ items }))
)
