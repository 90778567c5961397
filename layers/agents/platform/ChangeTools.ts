/**
 * The tools that change the workspace of the run's tenant. Whoever approved the call has made the change. Where the workspace only
 * observes, no change set is applied and no framework updated; its configuration can be changed, so that this mode can be left.
 */
import { Effect } from "effect"
import { ChangesetStore } from "../../../services/platform/contracts/ChangesetStore.ts"
import { WorkspaceReader } from "../../../services/platform/WorkspaceReader.ts"
import { WorkspaceSettings } from "../../../services/platform/WorkspaceSettings.ts"
import { ToolPolicyError } from "../../../src/error/ToolError.ts"
import { changeGovernance, ChangeTools } from "../../../src/platform/ChangeTools.ts"
import type { CallContext, GovernedTool, MisdeclaredTool } from "../../../src/tool/GovernedTool.ts"
import { callOf, govern } from "../../../src/tool/GovernedTool.ts"
import { orToolError } from "./RecordFailure.ts"

const author = ({ approved_by, principal }: CallContext): string => approved_by ?? principal

const handlers = Effect.gen(function* () {
  const changesets = yield* ChangesetStore
  const settings = yield* WorkspaceSettings
  return ChangeTools.of({
    apply_changeset: Effect.fnUntraced(function* ({ changeset_id }, context) {
      const call = callOf(context)
      const by = author(call)
      yield* changesets.apply(call.tenant, changeset_id, by)
      return { changeset_id, status: "applied" as const, applied_by: by }
    }, orToolError),
    update_framework: Effect.fnUntraced(function* (change, context) {
      const call = callOf(context)
      const { framework_id, version } = yield* settings.updateFramework(
        call.tenant,
        change,
        author(call)
      )
      return { framework_id, version }
    }, orToolError),
    change_configuration: Effect.fnUntraced(function* (change, context) {
      const call = callOf(context)
      const { configuration, version } = yield* settings.changeConfiguration(
        call.tenant,
        change,
        author(call)
      )
      return { version, configuration }
    }, orToolError)
  })
})

const observing = new ToolPolicyError({
  kind: "permission",
  reason: "WORKSPACE_OBSERVES_ONLY",
  message:
    "The workspace only observes (autonomy_mode observe_only): nothing is changed until its configuration says otherwise."
})

/** For a registry. */
export const tools: Effect.Effect<
  ReadonlyArray<GovernedTool>,
  MisdeclaredTool,
  ChangesetStore | WorkspaceReader | WorkspaceSettings
> = Effect.flatMap(WorkspaceReader, (reader) => {
  const precondition = (_: unknown, { tenant }: CallContext) =>
    Effect.flatMap(orToolError(reader.workspace(tenant)), ({ configuration }) =>
      configuration.autonomy_mode === "observe_only" ? Effect.fail(observing) : Effect.void
    )
  const governance = {
    ...changeGovernance,
    apply_changeset: { ...changeGovernance.apply_changeset, precondition },
    update_framework: { ...changeGovernance.update_framework, precondition }
  }
  return govern(ChangeTools, governance, handlers)
})
