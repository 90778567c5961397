/**
 * The tools of the platform by who uses them, as keys of the registry. Each list is that of one toolkit, which has the schemas.
 */

const keysIn =
  (namespace: string) =>
  <const Names extends ReadonlyArray<string>>(...names: Names): ReadonlyArray<string> =>
    names.map((name) => `${namespace}.${name}@1`)

const platform = keysIn("platform")

/** The Spectral Agent's specialists, each with tools that only read. */
export const specialist_tools = {
  "scan-analyst": platform(
    "list_recent_scans",
    "get_scan_detail",
    "get_scan_scores",
    "get_changeset_detail"
  ),
  "onboarding-guide": platform("get_onboarding_status", "get_trace_ingestion_guide"),
  "framework-advisor": platform(
    "get_framework_config",
    "get_rubrics",
    "get_world_model_context",
    "get_system_card",
    "get_evaluation_framework_provenance"
  ),
  troubleshooter: platform("diagnose_scan_failure", "check_workspace_health", "get_recent_errors")
} as const

export type SpecialistName = keyof typeof specialist_tools

/** What changes a workspace. Each of them asks the customer. */
export const change_tools: {
  readonly apply_changeset: string
  readonly update_framework: string
  readonly change_configuration: string
} = {
  apply_changeset: "platform.apply_changeset@1",
  update_framework: "platform.update_framework@1",
  change_configuration: "platform.change_configuration@1"
}

/** The Operations Agent's family of failure clusters. */
export const failure_cluster_tools: ReadonlyArray<string> = keysIn("operations")(
  "list_failure_clusters",
  "get_cluster_detail",
  "triage_cluster"
)
