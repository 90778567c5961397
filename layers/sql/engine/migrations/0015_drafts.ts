/**
 * Drafts of rubrics and system cards, and which revision of a card there is. Ids stand in columns of their own, so that a draft can
 * be read after an erasure has written over a name in its texts.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const statements = [
  // One more at each change. A card that was published from a draft is people's: what is found does not write over it.
  `ALTER TABLE troupe.platform_systems ADD COLUMN revision int4 NOT NULL DEFAULT 1`,
  `ALTER TABLE troupe.platform_systems ADD COLUMN published boolean NOT NULL DEFAULT false`,
  `CREATE TABLE troupe.platform_drafts (
    tenant text NOT NULL,
    draft_id text COLLATE "C" NOT NULL,
    number int4 NOT NULL,
    -- 0 rubric, 1 system_card.
    kind int2 NOT NULL,
    -- 0 draft, 1 published, 2 withdrawn.
    status int2 NOT NULL DEFAULT 0,
    created_at int8 NOT NULL,
    -- The revision of the target that its author saw.
    based_on int4 NOT NULL,
    -- The run and the call that wrote it.
    origin text NOT NULL,
    -- Ids, as JSON.
    target text NOT NULL,
    -- What people wrote, and who, as JSON.
    document text NOT NULL,
    state text NOT NULL,
    PRIMARY KEY (tenant, draft_id),
    UNIQUE (tenant, origin)
  )`,
  `CREATE UNIQUE INDEX platform_drafts_newest ON troupe.platform_drafts (tenant, number)`,
  `CREATE INDEX platform_drafts_open ON troupe.platform_drafts (tenant) WHERE status = 0`,
  `ALTER TABLE troupe.platform_drafts ENABLE ROW LEVEL SECURITY`,
  `CREATE POLICY of_tenant ON troupe.platform_drafts FOR SELECT
    USING (tenant = current_setting('troupe.tenant', true))`
]

export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
