/**
 * Worlds and the candidates for their rules, in one process, lost at its end.
 */
import { Clock, Effect, Layer } from "effect"
import { SecureRandom } from "effect/crypto"
import type { Tenant } from "../../../../src/value/Ids.ts"
import { WorldUnknown } from "../../../../src/spectral/worlds/contracts/WorldAnswer.ts"
import { candidate_texts } from "../../../../src/spectral/worlds/contracts/WorldTexts.ts"
import type { WorldId } from "../../../../src/spectral/worlds/contracts/WorldId.ts"
import type { RuleCandidate } from "../../../../src/spectral/worlds/RuleCandidate.ts"
import {
  candidates_open_max,
  TooManyCandidates
} from "../../../../src/spectral/worlds/RuleCandidate.ts"
import { RuleNotFound } from "../../../../src/spectral/worlds/World.ts"
import type { EvalSet, Rule, World } from "../../../../src/spectral/worlds/World.ts"
import { publishedMessage } from "../../../../src/spectral/worlds/PublishedMessage.ts"
import { Outbox } from "../../../../services/Outbox.ts"
import { RuleProposals } from "../../../../services/spectral/worlds/RuleProposals.ts"
import {
  readVersion,
  VersionRefused,
  WorldPublisher
} from "../../../../services/spectral/worlds/WorldPublisher.ts"
import {
  rule_page_max,
  worlds_max,
  WorldReader
} from "../../../../services/spectral/worlds/WorldReader.ts"
import { offerRows, tenantKey } from "../../EphemeralStore.ts"

interface StoredWorld {
  readonly tenant: Tenant
  world: World
  /** Sorted by id. */
  rules: ReadonlyArray<Rule>
  eval_sets: ReadonlyArray<EvalSet>
  /** By id, oldest first. */
  readonly candidates: Map<string, RuleCandidate>
}

type Worlds = Map<string, StoredWorld>

const byId =
  <K extends string>(key: K) =>
  (a: Record<K, string>, b: Record<K, string>): number =>
    a[key] < b[key] ? -1 : 1

const reader = (worlds: Worlds): WorldReader["Service"] => {
  const get = (tenant: Tenant, id: WorldId) => worlds.get(tenantKey(tenant, id))
  return {
    worlds: (tenant) =>
      Effect.sync(() =>
        [...worlds.values()]
          .filter((each) => each.tenant === tenant)
          .map(({ world }) => world)
          .toSorted(byId("world_id"))
          .slice(0, worlds_max)
      ),
    world: (tenant, id) =>
      Effect.suspend(() => {
        const found = get(tenant, id)
        return found === undefined
          ? Effect.fail(new WorldUnknown({ world: id }))
          : Effect.succeed(found.world)
      }),
    rules: (tenant, id) => Effect.sync(() => get(tenant, id)?.rules ?? []),
    rulePage: (tenant, id, { after = "", limit }) =>
      Effect.sync(() => {
        const rules = get(tenant, id)?.rules ?? []
        const from = rules.findIndex(({ rule_id }) => rule_id > after)
        const count = Math.min(Math.max(limit, 0), rule_page_max)
        return from < 0 ? [] : rules.slice(from, from + count)
      }),
    rule: (tenant, id, rule_id) =>
      Effect.suspend(() => {
        const found = get(tenant, id)?.rules.find((rule) => rule.rule_id === rule_id)
        return found === undefined
          ? Effect.fail(new RuleNotFound({ world_id: id, rule_id }))
          : Effect.succeed(found)
      }),
    evalSets: (tenant, id) => Effect.sync(() => get(tenant, id)?.eval_sets ?? [])
  }
}

const publisher = (
  worlds: Worlds,
  outbox: Outbox["Service"],
  random: SecureRandom.SecureRandom["Service"]
): WorldPublisher["Service"] => ({
  publish: Effect.fnUntraced(function* (tenant, given) {
    const version = yield* readVersion(given)
    const id = yield* random.uuidV7()
    const { eval_sets, rules, world } = version
    const key = tenantKey(tenant, world.world_id)
    const before = worlds.get(key)
    const next = (before?.world.version ?? 0) + 1
    if (world.version !== next) {
      return yield* new VersionRefused({
        message: `version ${world.version} of ${world.world_id} is not the next one`
      })
    }
    worlds.set(key, {
      tenant,
      world,
      rules: rules.toSorted(byId("rule_id")),
      eval_sets: eval_sets.toSorted(byId("eval_set_id")),
      candidates: before?.candidates ?? new Map()
    })
    return yield* outbox.enqueue([publishedMessage(tenant, id, version)])
  })
})

const proposals = (worlds: Worlds): RuleProposals["Service"] => ({
  propose: (tenant, candidate) =>
    Effect.gen(function* () {
      const { candidate_id, world_id } = candidate
      const proposed_at = yield* Clock.currentTimeMillis
      const found = worlds.get(tenantKey(tenant, world_id))
      if (found === undefined) return yield* new WorldUnknown({ world: world_id })
      const known = found.candidates.get(candidate_id)
      if (known !== undefined) return known
      if (found.candidates.size >= candidates_open_max) {
        return yield* new TooManyCandidates({ world_id, open_max: candidates_open_max })
      }
      const proposed: RuleCandidate = { ...candidate, proposed_at, status: "proposed" }
      found.candidates.set(candidate_id, proposed)
      return proposed
    }),
  open: (tenant, world, limit) =>
    Effect.sync(() =>
      [...(worlds.get(tenantKey(tenant, world))?.candidates.values() ?? [])].slice(0, limit)
    )
})

/**
 * Registers the candidates for erasures: what proposers said and who they are, which the other stores keep in one text column.
 */
const offerCandidates = (worlds: Worlds): Effect.Effect<void> =>
  offerRows("rule_candidates", (whose) =>
    [...worlds.values()]
      .filter(({ tenant }) => tenant === whose)
      .flatMap(({ candidates }) =>
        Array.from(candidates, ([id, candidate]) => {
          const { candidate_id, proposed_at, status, world_id, ...said } = candidate
          return {
            value: said,
            texts: candidate_texts,
            remove: () => void candidates.delete(id),
            replace: (marked: unknown) => {
              const kept = { candidate_id, proposed_at, status, world_id }
              candidates.set(id, { ...(marked as typeof said), ...kept })
            }
          }
        })
      )
  )

export const layer: Layer.Layer<WorldReader | WorldPublisher | RuleProposals, never, Outbox> =
  Layer.unwrap(
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const random = yield* SecureRandom.SecureRandom
      const worlds: Worlds = new Map()
      yield* offerCandidates(worlds)
      return Layer.mergeAll(
        Layer.succeed(WorldReader, reader(worlds)),
        Layer.succeed(WorldPublisher, publisher(worlds, outbox, random)),
        Layer.succeed(RuleProposals, proposals(worlds))
      )
    })
  ).pipe(Layer.provide(SecureRandom.layerWebCrypto))
