/** Checks features together. A start loads it only if it has some. */
import { Effect } from "effect"
import { HttpApi } from "effect/http-api"
import { TroupeApi } from "../../../src/operation/TroupeApi.ts"
import { rights } from "../../../src/principal/Rights.ts"
import { InvalidInput } from "../../../src/schema/InvalidInput.ts"
import type { AnyFeature } from "./Feature.ts"

/** Fails where two have one name, or one group or route of operations, also where it is one of every service. */
export const checkFeatures = (features: ReadonlyArray<AnyFeature>) => {
  const taken = new Set(Object.keys(TroupeApi.groups).map((id) => `group ${id}`))
  HttpApi.reflect(TroupeApi, {
    onGroup: () => undefined,
    onEndpoint: ({ endpoint }) => void taken.add(`${endpoint.method} ${endpoint.path}`)
  })
  for (const [index, { groups, name }] of features.entries()) {
    const own = groups.flatMap(({ effects, id }) => [
      `group ${id}`,
      ...Object.values(effects).map(({ operation: { method, path } }) => `${method} ${path}`)
    ])
    const unknown = groups
      .flatMap(({ effects }) => Object.values(effects))
      .find(
        ({ operation: { right } }) => typeof right === "string" && !Object.hasOwn(rights, right)
      )
    if (unknown !== undefined) {
      const message = `there is no right ${JSON.stringify(unknown.operation.right)}`
      return Effect.fail(new InvalidInput({ field: `features.${index}`, message }))
    }
    for (const each of [`feature ${name}`, ...own]) {
      if (taken.has(each)) {
        const message = `${JSON.stringify(name)} has the ${each}, which there is already`
        return Effect.fail(new InvalidInput({ field: `features.${index}`, message }))
      }
      taken.add(each)
    }
  }
  return Effect.void
}
