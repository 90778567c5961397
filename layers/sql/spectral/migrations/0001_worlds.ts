/**
 * Worlds: what is published of them, and the candidates for their rules. Documents are JSON texts, each read by its key.
 */
export const statements: ReadonlyArray<string> = [
  // The newest version of each world.
  `CREATE TABLE troupe.worlds (
    tenant text NOT NULL,
    world_id text COLLATE "C" NOT NULL,
    version int4 NOT NULL,
    world text NOT NULL,
    PRIMARY KEY (tenant, world_id)
  )`,
  `CREATE TABLE troupe.world_rules (
    tenant text NOT NULL,
    world_id text COLLATE "C" NOT NULL,
    rule_id text COLLATE "C" NOT NULL,
    rule text NOT NULL,
    PRIMARY KEY (tenant, world_id, rule_id)
  )`,
  `CREATE TABLE troupe.world_eval_sets (
    tenant text NOT NULL,
    world_id text COLLATE "C" NOT NULL,
    eval_set_id text COLLATE "C" NOT NULL,
    eval_set text NOT NULL,
    PRIMARY KEY (tenant, world_id, eval_set_id)
  )`,
  `CREATE TABLE troupe.rule_candidates (
    tenant text NOT NULL,
    world_id text COLLATE "C" NOT NULL,
    -- What was proposed by one call has one id.
    candidate_id text COLLATE "C" NOT NULL,
    position int8 NOT NULL GENERATED ALWAYS AS IDENTITY,
    proposed_at int8 NOT NULL,
    -- 0 proposed, 1 accepted, 2 rejected.
    status int2 NOT NULL DEFAULT 0,
    draft text NOT NULL,
    PRIMARY KEY (tenant, world_id, candidate_id)
  )`,
  // Those that wait for a decision, oldest first.
  `CREATE INDEX rule_candidates_open ON troupe.rule_candidates (tenant, world_id, position) WHERE status = 0`
]
