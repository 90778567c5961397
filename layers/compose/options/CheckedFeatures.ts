/** Checks features together. A start loads it only if it has some. */
import { Effect, Schema } from "effect"
import { HttpApi } from "effect/http-api"
import { TroupeApi } from "../../../src/operation/TroupeApi.ts"
import { rights } from "../../../src/principal/Rights.ts"
import { InvalidInput, shapeReader } from "../../../src/schema/InvalidInput.ts"
import type { AnyServed } from "../../service/Served.ts"
import type { AnyFeature } from "./Feature.ts"
import { EventHandlersShape, family, is, isObject, text, texts } from "./OptionShapes.ts"

const Served = is<AnyServed>(
  "the effect of an operation, as `serve` makes it",
  (value) =>
    isObject(value) &&
    isObject(Reflect.get(value, "operation")) &&
    typeof Reflect.get(value, "perform") === "function"
)

const read = shapeReader(
  Schema.Struct({
    groups: Schema.Array(
      Schema.Struct({ id: text, title: text, effects: Schema.Record(Schema.String, Served) })
    ),
    tools: Schema.Array(family),
    deliveries: Schema.Array(is("an Effect of handlers", Effect.isEffect)),
    events: Schema.Struct({ handlers: EventHandlersShape, topics: texts })
  })
)

/**
 * Fails where a part of one is none, and where two have one name, one type of event, or one group or route of operations, also
 * where it is one of every service; or one has two methods of one name.
 */
export const checkFeatures = Effect.fnUntraced(function* (features: ReadonlyArray<AnyFeature>) {
  const taken = new Set(Object.keys(TroupeApi.groups).map((id) => `group ${id}`))
  HttpApi.reflect(TroupeApi, {
    onGroup: () => undefined,
    onEndpoint: ({ endpoint }) => void taken.add(`${endpoint.method} ${endpoint.path}`)
  })
  for (const [index, { deliveries, events, groups, name, tools }] of features.entries()) {
    const field = `features.${index}`
    yield* read({ deliveries, events, groups, tools }, field)
    const own = groups.flatMap(({ effects, id }) => [
      `group ${id}`,
      ...Object.entries(effects).flatMap(
        ([
          key,
          {
            operation: { method, path }
          }
        ]) => [`${method} ${path}`, `method ${name}.${key}`]
      )
    ])
    const unknown = groups
      .flatMap(({ effects }) => Object.values(effects))
      .find(
        ({ operation: { right } }) => typeof right === "string" && !Object.hasOwn(rights, right)
      )
    if (unknown !== undefined) {
      const message = `there is no right ${JSON.stringify(unknown.operation.right)}`
      return yield* new InvalidInput({ field, message })
    }
    const types = Object.keys(events.handlers).map((type) => `handler of events ${type}`)
    for (const each of [`feature ${name}`, ...own, ...types]) {
      if (taken.has(each)) {
        const message = `${JSON.stringify(name)} has the ${each}, which there is already`
        return yield* new InvalidInput({ field, message })
      }
      taken.add(each)
    }
  }
})
