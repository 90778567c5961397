/** The tables of the reference application, and what an erasure does in them. */
import { personal_texts } from "../../../src/spectral/platform/contracts/RecordTexts.ts"
import { candidate_texts } from "../../../src/spectral/worlds/contracts/WorldTexts.ts"
import * as FeatureTables from "../engine/FeatureTables.ts"
import { statements as platform } from "./migrations/0001_platform.ts"
import { statements as worlds } from "./migrations/0001_worlds.ts"

const draft = [...personal_texts.draft]

export const layer = FeatureTables.layer({
  feature: "spectral",
  migrations: { "0001_spectral": [...worlds, ...platform] },
  tables: {
    platform_changesets: { state: [...personal_texts.changeset_state] },
    platform_clusters: { triage: [...personal_texts.cluster_triage] },
    platform_drafts: { document: draft, state: draft },
    platform_errors: {},
    platform_failures: {},
    platform_frameworks: { framework: [...personal_texts.framework] },
    platform_scans: {},
    platform_systems: { card: [...personal_texts.system_card] },
    platform_workspaces: { workspace: [...personal_texts.workspace] },
    platform_worlds: {},
    rule_candidates: { draft: [...candidate_texts] },
    world_eval_sets: {},
    world_rules: {},
    worlds: {}
  }
})
