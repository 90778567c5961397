/**
 * The tools that change the workspace of the run's tenant. A change is recorded under the name of the person who approved the
 * call, or of the run's principal if nobody was asked. If the workspace only observes, no change set is applied and no framework
 * is updated. Its configuration can still be changed, so that the mode can be left.
 */
import { Effect } from "effect"
import { ChangesetStore } from "../../../services/spectral/platform/contracts/ChangesetStore.ts"
import { WorkspaceReader } from "../../../services/spectral/platform/WorkspaceReader.ts"
import { WorkspaceSettings } from "../../../services/spectral/platform/WorkspaceSettings.ts"
import { ToolPolicyError } from "../../../src/error/ToolError.ts"
import type { Tenant } from "../../../src/value/Ids.ts"
import { changeGovernance, ChangeTools } from "../../../src/spectral/platform/ChangeTools.ts"
import type { Workspace } from "../../../src/spectral/platform/Workspace.ts"
import type { CallContext, GovernedTool, MisdeclaredTool } from "../../../src/tool/GovernedTool.ts"
import { callOf, govern } from "../../../src/tool/GovernedTool.ts"
import { orToolError } from "./RecordFailure.ts"

const author = ({ approved_by, principal }: CallContext): string => approved_by ?? principal

const observing = new ToolPolicyError({
  kind: "permission",
  reason: "WORKSPACE_OBSERVES_ONLY",
  message:
    "The workspace only observes (autonomy_mode observe_only): nothing is changed until its configuration says otherwise."
})

const unlessObserving = <E, R>(
  workspace: Effect.Effect<Workspace, E, R>
): Effect.Effect<void, E | ToolPolicyError, R> =>
  Effect.flatMap(workspace, ({ configuration }) =>
    configuration.autonomy_mode === "observe_only" ? Effect.fail(observing) : Effect.void
  )

const handlers = Effect.gen(function* () {
  const changesets = yield* ChangesetStore
  const settings = yield* WorkspaceSettings
  // This is asked again in the transaction of the change, so that nobody can turn the mode on in between.
  const isAllowed = (tenant: Tenant) => unlessObserving(orToolError(settings.lockWorkspace(tenant)))
  return ChangeTools.of({
    apply_changeset: Effect.fnUntraced(function* ({ changeset_id }, context) {
      const call = callOf(context)
      const by = author(call)
      yield* isAllowed(call.tenant)
      yield* orToolError(changesets.apply(call.tenant, changeset_id, by))
      return { changeset_id, status: "applied" as const, applied_by: by }
    }),
    update_framework: Effect.fnUntraced(function* (change, context) {
      const call = callOf(context)
      yield* isAllowed(call.tenant)
      const { framework_id, version } = yield* orToolError(
        settings.updateFramework(call.tenant, change, author(call))
      )
      return { framework_id, version }
    }),
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

/** The tools, for a registry. */
export const tools: Effect.Effect<
  ReadonlyArray<GovernedTool>,
  MisdeclaredTool,
  ChangesetStore | WorkspaceReader | WorkspaceSettings
> = Effect.flatMap(WorkspaceReader, (reader) => {
  const precondition = (_: unknown, { tenant }: CallContext) =>
    unlessObserving(orToolError(reader.workspace(tenant)))
  const governance = {
    ...changeGovernance,
    apply_changeset: { ...changeGovernance.apply_changeset, precondition },
    update_framework: { ...changeGovernance.update_framework, precondition }
  }
  return govern(ChangeTools, governance, handlers)
})
