/**
 * The platform's own view of worlds: what their context published last. It is fed by events and calls nobody.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { Tenant } from "../../src/Ids.ts"
import type { RecordNotFound } from "../../src/platform/contracts/RecordErrors.ts"
import type { WorldVersionPublished } from "../../src/worlds/contracts/WorldVersionPublished.ts"
import type { StoreError } from "../StoreError.ts"

export class WorldViews extends Context.Service<
  WorldViews,
  {
    view(
      tenant: Tenant,
      world: string
    ): Effect.Effect<WorldVersionPublished, RecordNotFound | StoreError>
    /** Takes an event in. One that came before, or is older than what is known, changes nothing. */
    observe(tenant: Tenant, published: WorldVersionPublished): Effect.Effect<void, StoreError>
  }
>()("troupe/services/platform/WorldViews") {}
