/**
 * Publishes versions of worlds: for the pipeline that people govern, and for no agent.
 */
import { Context, Effect, Schema } from "effect"
import type { Tenant } from "../../src/Ids.ts"
import { inputReader } from "../../src/entry/InvalidInput.ts"
import { NewVersion, version_bounds } from "../../src/worlds/NewVersion.ts"
import type { StoreError } from "../StoreError.ts"

/** A version that is not the next one, or more than a world may hold. Nothing was published. */
export class VersionRefused extends Schema.TaggedError<VersionRefused>()("VersionRefused", {
  message: Schema.String
}) {}

const read = inputReader(NewVersion, { bounds: version_bounds })

/** For the answers of this port: a version as it has to be, or why it is not one. */
export const readVersion = (version: unknown): Effect.Effect<NewVersion, VersionRefused> =>
  Effect.mapError(
    read(version, "version"),
    ({ field, message }) => new VersionRefused({ message: `${field}: ${message}` })
  )

export class WorldPublisher extends Context.Service<
  WorldPublisher,
  {
    /**
     * Replaces rules and EvalSets by those of the version: 1 for a new world, else one more than the version before. The event
     * `world.version.published` goes to the outbox with it.
     */
    publish(tenant: Tenant, version: NewVersion): Effect.Effect<void, VersionRefused | StoreError>
  }
>()("troupe/services/worlds/WorldPublisher") {}
