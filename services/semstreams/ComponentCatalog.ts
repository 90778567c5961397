/**
 * The kinds of components from which flows are built. They belong to the platform: every tenant sees the same.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { Component } from "../../src/semstreams/Observation.ts"
import type { StoreError } from "../StoreError.ts"

export class ComponentCatalog extends Context.Service<
  ComponentCatalog,
  {
    /** Sorted by id; at most 1,000. */
    readonly all: Effect.Effect<ReadonlyArray<Component>, StoreError>
    /** Registers a component, or replaces the one with the same id. */
    register(component: Component): Effect.Effect<void, StoreError>
  }
>()("troupe/services/semstreams/ComponentCatalog") {}
