/**
 * The platform's records beside a runtime: what is evaluated, judged and proposed in a workspace. `scripts/platform` is
 * something else: a host platform whose endpoints agents call directly.
 */
export {
  platform_events,
  readPlatformEvent,
  subjectOf
} from "../../src/platform/contracts/PlatformEvent.ts"
export {
  change_tools,
  failure_cluster_tools,
  specialist_tools
} from "../../src/platform/contracts/PlatformToolNames.ts"
