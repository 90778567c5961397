/**
 * The platform's own view of worlds: the last version of each world that the context of worlds published. It is fed by events and
 * calls no other context.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { Tenant } from "../../../src/value/Ids.ts"
import type { RecordNotFound } from "../../../src/spectral/platform/contracts/RecordErrors.ts"
import type { WorldVersionPublished } from "../../../src/spectral/worlds/contracts/WorldVersionPublished.ts"
import type { StoreError } from "../../StoreError.ts"

export class WorldViews extends Context.Service<
  WorldViews,
  {
    view(
      tenant: Tenant,
      world: string
    ): Effect.Effect<WorldVersionPublished, RecordNotFound | StoreError>
    /** Processes an event. An event that was processed before, or that is older than the known version, changes nothing. */
    observe(tenant: Tenant, published: WorldVersionPublished): Effect.Effect<void, StoreError>
  }
>()("troupe/services/spectral/platform/WorldViews") {}
