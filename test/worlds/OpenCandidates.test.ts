/** The limit of open candidates while another proposal is under way, on a server, where two can be. */
import { assert, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import * as SqlStores from "../../layers/sql/stores/SqlStores.ts"
import * as StoredWorlds from "../../layers/stores/spectral/worlds/StoredWorlds.ts"
import { RuleProposals } from "../../services/spectral/worlds/RuleProposals.ts"
import { WorldPublisher } from "../../services/spectral/worlds/WorldPublisher.ts"
import { candidates_open_max } from "../../src/spectral/worlds/RuleCandidate.ts"
import { eventually } from "../contracts/Contract.ts"
import * as Samples from "../contracts/Samples.ts"
import * as EmbeddedPostgres from "../sql/EmbeddedPostgres.ts"
import { credit } from "./Worlds.ts"

const postgres = StoredWorlds.layer.pipe(
  Layer.provideMerge(SqlStores.layer),
  Layer.provideMerge(EmbeddedPostgres.layer),
  Layer.orDie
)

const { world_id } = credit.world
const content = {
  topic: "sales",
  title: "A limit",
  body: "Say it once.",
  rationale: "Nobody said it.",
  evidence: ["basics"],
  proposed_by: "olga"
}
const draft = (candidate_id: string) => ({ candidate_id, world_id, ...content })

it.live("a proposal waits for one that takes the last place, and is refused", () =>
  Effect.gen(function* () {
    const proposals = yield* RuleProposals
    const sql = yield* SqlClient.SqlClient
    const tenant = Samples.tenant()
    yield* WorldPublisher.use((publisher) => publisher.publish(tenant, credit))
    yield* sql.unsafe(
      `INSERT INTO troupe.rule_candidates (tenant, world_id, candidate_id, proposed_at, draft)
       SELECT $1::text, $2::text, 'c' || n, 1, $3::text FROM generate_series(2, $4::int4) n`,
      [tenant, world_id, JSON.stringify(content), candidates_open_max]
    )
    const isHeld = yield* Deferred.make<void>()
    const later = yield* Effect.forkChild(
      Effect.andThen(Deferred.await(isHeld), Effect.flip(proposals.propose(tenant, draft("late"))))
    )
    yield* sql.withTransaction(
      Effect.gen(function* () {
        yield* proposals.propose(tenant, draft("last"))
        yield* Deferred.succeed(isHeld, undefined)
        yield* eventually(
          sql.unsafe("SELECT FROM pg_locks WHERE NOT granted"),
          (rows) => rows.length > 0
        )
      })
    )
    assert.strictEqual((yield* Fiber.join(later))._tag, "TooManyCandidates")
    assert.lengthOf(yield* proposals.open(tenant, world_id, 1_000), candidates_open_max)
  }).pipe(Effect.provide(postgres))
)
