/**
 * Publishes versions of worlds. It is for the pipeline that people govern, and not for agents.
 */
import { Context, Effect, Schema } from "effect"
import type { Tenant } from "../../../src/value/Ids.ts"
import { inputReader } from "../../../src/schema/InvalidInput.ts"
import { NewVersion, version_bounds } from "../../../src/spectral/worlds/NewVersion.ts"
import type { StoreError } from "../../StoreError.ts"

/** The version is not the next one, or has more than a world may hold. Nothing was published. */
export class VersionRefused extends Schema.TaggedError<VersionRefused>()("VersionRefused", {
  message: Schema.String
}) {}

const read = inputReader(NewVersion, { bounds: version_bounds })

/** Decodes a version for the implementations of this port. Fails with the reason if it is not valid. */
export const readVersion = (version: unknown): Effect.Effect<NewVersion, VersionRefused> =>
  Effect.mapError(read(version, "version"), ({ message }) => new VersionRefused({ message }))

export class WorldPublisher extends Context.Service<
  WorldPublisher,
  {
    /**
     * Replaces the rules and EvalSets of a world by those of the version, whose number is 1 for a new world and otherwise one
     * more than the version before. The event `world.version.published` is written to the outbox in the same transaction.
     */
    publish(tenant: Tenant, version: NewVersion): Effect.Effect<void, VersionRefused | StoreError>
  }
>()("troupe/services/spectral/worlds/WorldPublisher") {}
