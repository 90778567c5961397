/**
 * The tools that change the workspace of the run's tenant. Whoever approved the call has made the change.
 */
import { Effect } from "effect"
import { ChangesetStore } from "../../../services/platform/contracts/ChangesetStore.ts"
import { WorkspaceSettings } from "../../../services/platform/WorkspaceSettings.ts"
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

/** For a registry. */
export const tools: Effect.Effect<
  ReadonlyArray<GovernedTool>,
  MisdeclaredTool,
  ChangesetStore | WorkspaceSettings
> = govern(ChangeTools, changeGovernance, handlers)
