/** The methods of a feature's operations, in a service that was given the feature. */
import { Effect, Schema } from "effect"
import { InvalidInput } from "../../../src/schema/InvalidInput.ts"
import { issueText } from "../../../src/schema/SchemaIssues.ts"
import type { AddedGroup } from "../../service/AddedGroups.ts"
import type { AnyServed } from "../../service/Served.ts"
import type { AnyFeature } from "../options/Feature.ts"
import { methodsOf } from "./DerivedMethods.ts"

type Every<U> = (U extends unknown ? (each: U) => void : never) extends (all: infer All) => void
  ? All
  : never

/** The effects of a feature's operations, under the names of their methods. */
export type EffectsOf<F extends AnyFeature<unknown>> = Every<F["groups"][number]["effects"]>

/** The effect, which meets a defect where its output does not fit `success`, as a request for it does. */
const fitting = (feature: string, { operation, perform }: AnyServed): AnyServed => {
  const { name, success } = operation
  if (success === undefined) return { operation, perform }
  const encode = Schema.encodeUnknownEffect(Schema.toCodecJson(success))
  return {
    operation,
    perform: (input, by) =>
      Effect.tap(perform(input, by), (output) =>
        Effect.catch(encode(output), (error) =>
          Effect.die(
            new TypeError(
              `the operation ${name} of the feature ${feature} gave what its \`success\` does not take: ${issueText(error)}`
            )
          )
        )
      )
  }
}

/**
 * Gives the methods of a feature, as `performed` makes them of Effects, once for each. Throws InvalidInput for a feature whose
 * groups are not among `added`.
 */
export const featureMethods = (
  added: ReadonlyArray<AddedGroup>,
  performed: (methods: object) => object
) => {
  const known = new Set(added)
  const made = new WeakMap<object, object>()
  return (feature: AnyFeature): object => {
    const before = made.get(feature)
    if (before !== undefined) return before
    if (!feature.groups.every((group) => known.has(group))) {
      const message = `the start was not given the feature ${JSON.stringify(feature.name)}`
      throw new InvalidInput({ field: "feature", reason: message })
    }
    const effects = feature.groups.flatMap((group) => Object.entries(group.effects))
    const methods = performed(
      methodsOf(
        Object.fromEntries(effects.map(([name, each]) => [name, fitting(feature.name, each)]))
      )
    )
    made.set(feature, methods)
    return methods
  }
}
