/**
 * The platform's records of a workspace, which is a tenant. Documents are JSON texts; beside each stand the columns by which it
 * is found and ordered.
 */
export const statements: ReadonlyArray<string> = [
  `CREATE TABLE troupe.platform_workspaces (
    tenant text NOT NULL PRIMARY KEY,
    workspace text NOT NULL
  )`,
  `CREATE TABLE troupe.platform_frameworks (
    tenant text NOT NULL,
    framework_id text COLLATE "C" NOT NULL,
    framework text NOT NULL,
    PRIMARY KEY (tenant, framework_id)
  )`,
  `CREATE TABLE troupe.platform_systems (
    tenant text NOT NULL,
    system_id text COLLATE "C" NOT NULL,
    card text NOT NULL,
    -- One more at each change.
    revision int4 NOT NULL DEFAULT 1,
    -- A card that was published from a draft is people's: what is found does not write over it.
    published boolean NOT NULL DEFAULT false,
    PRIMARY KEY (tenant, system_id)
  )`,
  `CREATE TABLE troupe.platform_scans (
    tenant text NOT NULL,
    scan_id text COLLATE "C" NOT NULL,
    -- 0 queued, 1 running, 2 completed, 3 failed.
    status int2 NOT NULL,
    started_at int8 NOT NULL,
    record text NOT NULL,
    PRIMARY KEY (tenant, scan_id)
  )`,
  // A tenant's list, newest first.
  `CREATE INDEX platform_scans_newest ON troupe.platform_scans (tenant, started_at, scan_id)`,
  `CREATE TABLE troupe.platform_changesets (
    tenant text NOT NULL,
    changeset_id text COLLATE "C" NOT NULL,
    -- 0 proposed, 1 approved, 2 rejected, 3 applied.
    status int2 NOT NULL,
    proposed_at int8 NOT NULL,
    changeset text NOT NULL,
    -- What people decided of it.
    state text NOT NULL,
    PRIMARY KEY (tenant, changeset_id)
  )`,
  // A tenant's list, newest first.
  `CREATE INDEX platform_changesets_newest ON troupe.platform_changesets (tenant, proposed_at, changeset_id)`,
  `CREATE TABLE troupe.platform_clusters (
    tenant text NOT NULL,
    cluster_id text COLLATE "C" NOT NULL,
    -- 0 critical, 1 high, 2 medium, 3 low.
    severity int2 NOT NULL,
    last_seen_at int8 NOT NULL,
    cluster text NOT NULL,
    -- What operators manage: 0 new, 1 acknowledged, 2 in_progress, 3 resolved, 4 dismissed; and who said so and why.
    status int2 NOT NULL DEFAULT 0,
    triage text NOT NULL DEFAULT '{"status":"new"}',
    PRIMARY KEY (tenant, cluster_id)
  )`,
  // A tenant's list: the most severe first, of these the one that was seen last.
  `CREATE INDEX platform_clusters_worst ON troupe.platform_clusters (tenant, severity, (-last_seen_at), cluster_id)`,
  `CREATE TABLE troupe.platform_failures (
    tenant text NOT NULL,
    failure_id text COLLATE "C" NOT NULL,
    cluster_id text COLLATE "C" NOT NULL,
    occurred_at int8 NOT NULL,
    failure text NOT NULL,
    PRIMARY KEY (tenant, failure_id)
  )`,
  // The failures of a cluster, newest first.
  `CREATE INDEX platform_failures_newest ON troupe.platform_failures (tenant, cluster_id, occurred_at, failure_id)`,
  `CREATE TABLE troupe.platform_errors (
    tenant text NOT NULL,
    error_id text COLLATE "C" NOT NULL,
    at int8 NOT NULL,
    -- 0 ingestion, 1 evaluation, 2 integration.
    source int2 NOT NULL,
    -- The scan that it came with, if there is one.
    scan_id text COLLATE "C",
    error text NOT NULL,
    PRIMARY KEY (tenant, error_id)
  )`,
  // A tenant's list, newest first: of all, and of one scan.
  `CREATE INDEX platform_errors_newest ON troupe.platform_errors (tenant, at, error_id)`,
  `CREATE INDEX platform_errors_of_scan ON troupe.platform_errors (tenant, scan_id, at, error_id) WHERE scan_id IS NOT NULL`,
  // What the context of worlds published last of each world.
  `CREATE TABLE troupe.platform_worlds (
    tenant text NOT NULL,
    world_id text COLLATE "C" NOT NULL,
    version int4 NOT NULL,
    world text NOT NULL,
    PRIMARY KEY (tenant, world_id)
  )`,
  // Drafts of rubrics and system cards. Ids stand in columns of their own, so that a draft can be read after an erasure has
  // written over a name in its texts.
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
  // A tenant's list, newest first; and how many of it are open.
  `CREATE UNIQUE INDEX platform_drafts_newest ON troupe.platform_drafts (tenant, number)`,
  `CREATE INDEX platform_drafts_open ON troupe.platform_drafts (tenant) WHERE status = 0`
]
