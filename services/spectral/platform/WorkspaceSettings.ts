/**
 * Changes frameworks and the configuration of a workspace. Each change applies to the version that its author saw.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { Tenant } from "../../../src/value/Ids.ts"
import type {
  ChangeRefused,
  RecordNotFound
} from "../../../src/spectral/platform/contracts/RecordErrors.ts"
import type { Framework, FrameworkChange } from "../../../src/spectral/platform/Framework.ts"
import type { ConfigurationChange, Workspace } from "../../../src/spectral/platform/Workspace.ts"
import type { StoreError } from "../../StoreError.ts"

export class WorkspaceSettings extends Context.Service<
  WorkspaceSettings,
  {
    /** Reads the workspace, whose configuration others cannot change before the ambient transaction ends. */
    lockWorkspace(tenant: Tenant): Effect.Effect<Workspace, RecordNotFound | StoreError>
    /**
     * Makes the next version of a framework, with a revision that records who changed it and why. Runs in the ambient transaction
     * if there is one.
     */
    updateFramework(
      tenant: Tenant,
      change: FrameworkChange,
      by: string
    ): Effect.Effect<Framework, RecordNotFound | ChangeRefused | StoreError>
    /** Makes the next version of the configuration, in the ambient transaction if there is one. */
    changeConfiguration(
      tenant: Tenant,
      change: ConfigurationChange,
      by: string
    ): Effect.Effect<Workspace, RecordNotFound | ChangeRefused | StoreError>
  }
>()("troupe/services/spectral/platform/WorkspaceSettings") {}
