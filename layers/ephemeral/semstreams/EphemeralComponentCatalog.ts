/**
 * The platform's components in one process.
 */
import { Effect, Layer } from "effect"
import { ComponentCatalog } from "../../../services/semstreams/ComponentCatalog.ts"
import type { Component } from "../../../src/semstreams/Observation.ts"
import { components_max } from "../../../src/semstreams/Observation.ts"

const make = Effect.sync(() => {
  const known = new Map<string, Component>()
  return ComponentCatalog.of({
    all: Effect.sync(() =>
      [...known.values()].sort((a, b) => (a.id < b.id ? -1 : 1)).slice(0, components_max)
    ),
    register: (component) => Effect.sync(() => void known.set(component.id, component))
  })
})

export const layer: Layer.Layer<ComponentCatalog> = Layer.effect(ComponentCatalog, make)
