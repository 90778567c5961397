/**
 * Worlds and the candidates for their rules. A proposal commits with the transaction of the call that makes it. A version is
 * published in a transaction of its own.
 */
import { Clock, Effect, Layer, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { Outbox } from "../../../../services/Outbox.ts"
import { Rows } from "../../../../services/Rows.ts"
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
import type { RulePage } from "../../../../services/spectral/worlds/WorldReader.ts"
import { WorldUnknown } from "../../../../src/spectral/worlds/contracts/WorldAnswer.ts"
import { WorldId } from "../../../../src/spectral/worlds/contracts/WorldId.ts"
import { candidate_texts } from "../../../../src/spectral/worlds/contracts/WorldTexts.ts"
import type { NewVersion } from "../../../../src/spectral/worlds/NewVersion.ts"
import { publishedMessage } from "../../../../src/spectral/worlds/NewVersion.ts"
import {
  CandidateDraft,
  candidates_open_max,
  CandidateStatus,
  TooManyCandidates
} from "../../../../src/spectral/worlds/RuleCandidate.ts"
import type { RuleCandidate } from "../../../../src/spectral/worlds/RuleCandidate.ts"
import {
  EvalSet,
  eval_sets_max,
  Rule,
  RuleNotFound,
  rules_max,
  World
} from "../../../../src/spectral/worlds/World.ts"
import { Tenant } from "../../../../src/value/Ids.ts"
import type { Stored } from "../../TypedRows.ts"
import { int4, int8, json, oneOf, place, table, tableRows, text } from "../../TypedRows.ts"

type Driver = Rows["Service"]

const of_world = { tenant: text(Tenant), world_id: text(WorldId) }
const group = ["tenant", "world_id"]

const worlds = table({
  name: "worlds",
  what: "world models",
  key: group,
  columns: { ...of_world, version: int4, world: json(World) }
})

const worldRules = table({
  name: "world_rules",
  what: "rules",
  key: [...group, "rule_id"],
  columns: { ...of_world, rule_id: text(Schema.String), rule: json(Rule) },
  group
})

const evalSets = table({
  name: "world_eval_sets",
  what: "EvalSets",
  key: [...group, "eval_set_id"],
  columns: { ...of_world, eval_set_id: text(Schema.String), eval_set: json(EvalSet) },
  group
})

const candidates = table({
  name: "rule_candidates",
  what: "rule candidates",
  key: [...group, "candidate_id"],
  columns: {
    position: place,
    ...of_world,
    candidate_id: text(Schema.String),
    proposed_at: int8,
    status: oneOf(CandidateStatus),
    /** The content and the proposer. */
    draft: json(Schema.Struct({ ...CandidateDraft.fields, proposed_by: Schema.String }))
  },
  group,
  erased: { marked: { draft: candidate_texts } }
})

export const worldTables = [candidates, evalSets, worldRules, worlds]

const candidateOf = ({
  draft,
  position: _place,
  tenant: _tenant,
  ...row
}: Stored<typeof candidates.columns>): RuleCandidate => ({ ...draft, ...row })

const reader = (driver: Driver): WorldReader["Service"] => {
  const published = tableRows(driver, worlds)
  const rules = tableRows(driver, worldRules)
  const sets = tableRows(driver, evalSets)
  const rulesBehind = (tenant: Tenant, world_id: WorldId, { after, limit }: RulePage) =>
    Effect.map(
      rules.all({
        where: { tenant, world_id, rule_id: after === undefined ? undefined : [">", after] },
        order: ["rule_id"],
        limit
      }),
      (found) => found.map(({ rule }) => rule)
    )
  return {
    worlds: (tenant) =>
      Effect.map(
        published.all({ where: { tenant }, order: ["world_id"], limit: worlds_max }),
        (found) => found.map(({ world }) => world)
      ),
    world: Effect.fnUntraced(function* (tenant, id) {
      const found = yield* published.one({ tenant, world_id: id })
      return found === undefined ? yield* new WorldUnknown({ world: id }) : found.world
    }),
    rules: (tenant, id) => rulesBehind(tenant, id, { limit: rules_max }),
    rulePage: (tenant, id, { after, limit }) =>
      rulesBehind(tenant, id, { after, limit: Math.min(Math.max(limit, 0), rule_page_max) }),
    rule: Effect.fnUntraced(function* (tenant, world_id, rule_id) {
      const found = yield* rules.one({ tenant, world_id, rule_id })
      return found === undefined ? yield* new RuleNotFound({ world_id, rule_id }) : found.rule
    }),
    evalSets: (tenant, world_id) =>
      Effect.map(
        sets.all({ where: { tenant, world_id }, order: ["eval_set_id"], limit: eval_sets_max }),
        (found) => found.map(({ eval_set }) => eval_set)
      )
  }
}

/**
 * Of two publishers of the same version, the second waits for the first one's row; then its version is no longer the next.
 */
const publishing = (driver: Driver, outbox: Outbox["Service"]) => {
  const published = tableRows(driver, worlds)
  const rules = tableRows(driver, worldRules)
  const sets = tableRows(driver, evalSets)
  return Effect.fnUntraced(function* (tenant: Tenant, next: NewVersion, event_id: string) {
    const { world } = next
    const { version, world_id } = world
    const where = { tenant, world_id }
    const taken =
      version === 1
        ? yield* published.add([{ ...where, version, world }])
        : yield* published.set({ where: { ...where, version: version - 1 } }, { version, world })
    if (taken === 0) {
      const message = `version ${version} of ${world_id} is not the next one`
      return yield* new VersionRefused({ message })
    }
    yield* rules.remove({ where })
    yield* sets.remove({ where })
    yield* rules.add(next.rules.map((rule) => ({ ...where, rule_id: rule.rule_id, rule })))
    yield* sets.add(
      next.eval_sets.map((eval_set) => ({
        ...where,
        eval_set_id: eval_set.eval_set_id,
        eval_set
      }))
    )
    return yield* outbox.enqueue([publishedMessage(tenant, event_id, next)])
  }, driver.transaction)
}

const proposals = (driver: Driver): RuleProposals["Service"] => {
  const rows = tableRows(driver, candidates)
  const { world } = reader(driver)
  return {
    propose: Effect.fnUntraced(function* (tenant, { candidate_id, world_id, ...draft }) {
      const key = { tenant, world_id, candidate_id }
      // The limit holds.
      yield* driver.alone(`troupe candidates ${tenant} ${world_id}`)
      const known = yield* rows.one(key)
      if (known !== undefined) return candidateOf(known)
      yield* world(tenant, world_id)
      const open = yield* rows.count({ where: { tenant, world_id, status: "proposed" } })
      if (open >= candidates_open_max) {
        return yield* new TooManyCandidates({ world_id, open_max: candidates_open_max })
      }
      const proposed_at = yield* Clock.currentTimeMillis
      const proposed = { ...key, proposed_at, status: "proposed" as const, draft }
      const added = yield* rows.add([proposed])
      // Another proposal with the same id came first.
      const first = added > 0 ? undefined : yield* rows.one(key)
      return candidateOf(first ?? { ...proposed, position: 0 })
    }, driver.transaction),
    open: (tenant, world_id, limit) =>
      Effect.map(
        rows.all({ where: { tenant, world_id, status: "proposed" }, order: ["position"], limit }),
        (found) => found.map(candidateOf)
      )
  }
}

export const layer: Layer.Layer<
  WorldReader | WorldPublisher | RuleProposals,
  never,
  Outbox | Rows
> = Layer.unwrap(
  Effect.gen(function* () {
    const driver = yield* Rows
    const random = yield* SecureRandom.SecureRandom
    const publish = publishing(driver, yield* Outbox)
    return Layer.mergeAll(
      Layer.succeed(WorldReader, reader(driver)),
      Layer.succeed(WorldPublisher, {
        publish: Effect.fnUntraced(function* (tenant, version) {
          const read = yield* readVersion(version)
          yield* publish(tenant, read, yield* random.uuidV7())
        })
      }),
      Layer.succeed(RuleProposals, proposals(driver))
    )
  })
).pipe(Layer.provide(SecureRandom.layerWebCrypto))
