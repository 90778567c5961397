/**
 * Worlds and the candidates for their rules in SQL. A proposal is one statement, which commits with the transaction of the call
 * that makes it. A version is published in a transaction of its own.
 */
import { Clock, Effect, Layer, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import type { Tenant } from "../../../../src/value/Ids.ts"
import { WorldUnknown } from "../../../../src/spectral/worlds/contracts/WorldAnswer.ts"
import type { WorldId } from "../../../../src/spectral/worlds/contracts/WorldId.ts"
import type { NewVersion } from "../../../../src/spectral/worlds/NewVersion.ts"
import {
  CandidateDraft,
  candidates_open_max,
  RuleCandidate,
  TooManyCandidates
} from "../../../../src/spectral/worlds/RuleCandidate.ts"
import {
  EvalSet,
  eval_sets_max,
  Rule,
  RuleNotFound,
  rules_max,
  World
} from "../../../../src/spectral/worlds/World.ts"
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
import type { RulePage } from "../../../../services/spectral/worlds/WorldReader.ts"
import type { StartError } from "../../engine/Migrations.ts"
import * as SpectralTables from "../SpectralTables.ts"
import { rowDecoder } from "../../engine/DecodedRows.ts"
import { inTransaction, orStoreError } from "../../engine/SqlFailure.ts"
import * as TenantReads from "../../engine/TenantReads.ts"

type Sql = SqlClient.SqlClient

/** The SQL client, and the service that runs reads on behalf of a tenant. */
interface WorldReads {
  readonly sql: Sql
  readonly reads: TenantReads.TenantReads["Service"]
}

const decodeWorlds = rowDecoder(
  Schema.Struct({ world: Schema.fromJsonString(World) }),
  "world models"
)
const decodeRules = rowDecoder(Schema.Struct({ rule: Schema.fromJsonString(Rule) }), "rules")
const decodeEvalSets = rowDecoder(
  Schema.Struct({ eval_set: Schema.fromJsonString(EvalSet) }),
  "EvalSets"
)

/** The rules after `after`, by id. No id is empty, so the empty text is before all of them. */
const rulesBehind = (
  { reads, sql }: WorldReads,
  tenant: Tenant,
  id: WorldId,
  { after = "", limit }: RulePage
) =>
  sql
    .unsafe(
      `SELECT rule FROM troupe.world_rules WHERE tenant = $1::text AND world_id = $2::text AND rule_id > $3::text
       ORDER BY rule_id LIMIT $4::int4`,
      [tenant, id, after, limit]
    )
    .pipe(
      reads.of(tenant),
      Effect.flatMap(decodeRules),
      Effect.mapBoth({
        onSuccess: (rows) => rows.map(({ rule }) => rule),
        onFailure: orStoreError
      })
    )

const reader = (of: WorldReads): WorldReader["Service"] => {
  const { reads, sql } = of
  return {
    worlds: (tenant) =>
      sql
        .unsafe(
          `SELECT world FROM troupe.worlds WHERE tenant = $1::text ORDER BY world_id LIMIT ${worlds_max}`,
          [tenant]
        )
        .pipe(
          reads.of(tenant),
          Effect.flatMap(decodeWorlds),
          Effect.mapBoth({
            onSuccess: (rows) => rows.map(({ world }) => world),
            onFailure: orStoreError
          })
        ),
    world: Effect.fnUntraced(function* (tenant, id) {
      const rows = yield* reads.of(tenant)(
        sql.unsafe(
          `SELECT world FROM troupe.worlds WHERE tenant = $1::text AND world_id = $2::text`,
          [tenant, id]
        )
      )
      const [row] = yield* decodeWorlds(rows)
      return row === undefined ? yield* new WorldUnknown({ world: id }) : row.world
    }, Effect.mapError(orStoreError)),
    rules: (tenant, id) => rulesBehind(of, tenant, id, { limit: rules_max }),
    rulePage: (tenant, id, { after, limit }) =>
      rulesBehind(of, tenant, id, { after, limit: Math.min(Math.max(limit, 0), rule_page_max) }),
    rule: Effect.fnUntraced(function* (tenant, id, rule_id) {
      const rows = yield* reads.of(tenant)(
        sql.unsafe(
          `SELECT rule FROM troupe.world_rules
       WHERE tenant = $1::text AND world_id = $2::text AND rule_id = $3::text`,
          [tenant, id, rule_id]
        )
      )
      const [row] = yield* decodeRules(rows)
      return row === undefined ? yield* new RuleNotFound({ world_id: id, rule_id }) : row.rule
    }, Effect.mapError(orStoreError)),
    evalSets: (tenant, id) =>
      sql
        .unsafe(
          `SELECT eval_set FROM troupe.world_eval_sets WHERE tenant = $1::text AND world_id = $2::text
         ORDER BY eval_set_id LIMIT ${eval_sets_max}`,
          [tenant, id]
        )
        .pipe(
          reads.of(tenant),
          Effect.flatMap(decodeEvalSets),
          Effect.mapBoth({
            onSuccess: (rows) => rows.map(({ eval_set }) => eval_set),
            onFailure: orStoreError
          })
        )
  }
}

/**
 * Takes the next version of a world. Of two publishers of the same version, the second waits for the first one's row; then its
 * version is no longer the next.
 */
const take = `INSERT INTO troupe.worlds AS w (tenant, world_id, version, world)
  SELECT $1::text, $2::text, $3::int4, $4::text
  WHERE $3::int4 = 1 OR EXISTS (SELECT FROM troupe.worlds WHERE tenant = $1::text AND world_id = $2::text)
  ON CONFLICT (tenant, world_id) DO UPDATE SET version = excluded.version, world = excluded.world
  WHERE w.version + 1 = excluded.version RETURNING w.version`

const replaced = [
  `DELETE FROM troupe.world_rules WHERE tenant = $1::text AND world_id = $2::text`,
  `DELETE FROM troupe.world_eval_sets WHERE tenant = $1::text AND world_id = $2::text`
]

const publish = (
  sql: Sql,
  outbox: Outbox["Service"],
  tenant: Tenant,
  version: NewVersion,
  event_id: string
) =>
  Effect.gen(function* () {
    const { eval_sets, rules, world } = version
    const id = world.world_id
    const taken = yield* sql.unsafe(take, [tenant, id, world.version, JSON.stringify(world)])
    if (taken.length === 0) {
      return yield* new VersionRefused({
        message: `version ${world.version} of ${id} is not the next one`
      })
    }
    for (const statement of replaced) yield* sql.unsafe(statement, [tenant, id])
    yield* sql.unsafe(
      `INSERT INTO troupe.world_rules (tenant, world_id, rule_id, rule)
       SELECT $1::text, $2::text, r.id, r.text FROM json_to_recordset($3::text::json) AS r(id text, text text)`,
      [
        tenant,
        id,
        JSON.stringify(rules.map((rule) => ({ id: rule.rule_id, text: JSON.stringify(rule) })))
      ]
    )
    yield* sql.unsafe(
      `INSERT INTO troupe.world_eval_sets (tenant, world_id, eval_set_id, eval_set)
       SELECT $1::text, $2::text, e.id, e.text FROM json_to_recordset($3::text::json) AS e(id text, text text)`,
      [
        tenant,
        id,
        JSON.stringify(eval_sets.map((set) => ({ id: set.eval_set_id, text: JSON.stringify(set) })))
      ]
    )
    return yield* outbox.enqueue([publishedMessage(tenant, event_id, version)])
  }).pipe(inTransaction(sql), Effect.mapError(orStoreError))

/** The content and the proposer of a candidate, as the column `draft` stores them. */
const StoredDraft = Schema.Struct({ ...CandidateDraft.fields, proposed_by: Schema.String })
const encodeDraft = Schema.encodeEffect(Schema.fromJsonString(StoredDraft))

const statuses = ["proposed", "accepted", "rejected"] as const

const Candidate = Schema.Struct({
  world_id: RuleCandidate.fields.world_id,
  candidate_id: Schema.String,
  proposed_at: Schema.Int,
  status: Schema.Literals([0, 1, 2]),
  draft: Schema.fromJsonString(StoredDraft)
})
const decodeCandidates = rowDecoder(Candidate, "rule candidates")

const candidateOf = ({ draft, status, ...row }: typeof Candidate.Type): RuleCandidate => ({
  ...draft,
  ...row,
  status: statuses[status]
})

/**
 * Gives the candidate if it exists. Otherwise it is inserted, if the world exists and fewer candidates than the limit are open.
 */
const queue = `WITH known AS (
    SELECT world_id, candidate_id, proposed_at::float8 AS proposed_at, status, draft FROM troupe.rule_candidates
    WHERE tenant = $1::text AND world_id = $2::text AND candidate_id = $3::text
  ), queued AS (
    INSERT INTO troupe.rule_candidates (tenant, world_id, candidate_id, proposed_at, draft)
    SELECT $1::text, $2::text, $3::text, $4::int8, $5::text
    WHERE NOT EXISTS (SELECT FROM known)
      AND EXISTS (SELECT FROM troupe.worlds WHERE tenant = $1::text AND world_id = $2::text)
      AND (SELECT count(*) FROM troupe.rule_candidates WHERE tenant = $1::text AND world_id = $2::text AND status = 0)
        < ${candidates_open_max}
    ON CONFLICT (tenant, world_id, candidate_id) DO UPDATE SET status = troupe.rule_candidates.status
    RETURNING world_id, candidate_id, proposed_at::float8 AS proposed_at, status, draft
  )
  SELECT * FROM known UNION ALL SELECT * FROM queued`

const proposals = (of: WorldReads): RuleProposals["Service"] => {
  const { reads, sql } = of
  return {
    propose: Effect.fnUntraced(function* (tenant, { candidate_id, world_id, ...draft }) {
      const now = yield* Clock.currentTimeMillis
      const text = yield* Effect.orDie(encodeDraft(draft))
      const rows = yield* sql.unsafe(queue, [tenant, world_id, candidate_id, now, text])
      const [row] = yield* decodeCandidates(rows)
      if (row !== undefined) return candidateOf(row)
      yield* reader(of).world(tenant, world_id)
      return yield* new TooManyCandidates({ world_id, open_max: candidates_open_max })
    }, Effect.mapError(orStoreError)),
    open: (tenant, world, limit) =>
      sql
        .unsafe(
          `SELECT world_id, candidate_id, proposed_at::float8 AS proposed_at, status, draft FROM troupe.rule_candidates
         WHERE tenant = $1::text AND world_id = $2::text AND status = 0 ORDER BY position LIMIT $3::int4`,
          [tenant, world, limit]
        )
        .pipe(
          reads.of(tenant),
          Effect.flatMap(decodeCandidates),
          Effect.mapBoth({
            onSuccess: (rows) => rows.map(candidateOf),
            onFailure: orStoreError
          })
        )
  }
}

/** Needs a database that `SqlStores` has migrated. */
export const layer: Layer.Layer<
  WorldReader | WorldPublisher | RuleProposals,
  StartError,
  SqlClient.SqlClient | Outbox
> = Layer.unwrap(
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const of = { sql, reads: yield* TenantReads.TenantReads }
    const outbox = yield* Outbox
    const random = yield* SecureRandom.SecureRandom
    return Layer.mergeAll(
      Layer.succeed(WorldReader, reader(of)),
      Layer.succeed(WorldPublisher, {
        publish: Effect.fnUntraced(function* (tenant, version) {
          const read = yield* readVersion(version)
          yield* publish(sql, outbox, tenant, read, yield* random.uuidV7())
        })
      }),
      Layer.succeed(RuleProposals, proposals(of))
    )
  })
).pipe(Layer.provide(Layer.merge(SecureRandom.layerWebCrypto, SpectralTables.layer)))
