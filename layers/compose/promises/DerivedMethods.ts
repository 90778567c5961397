/**
 * Methods of a started service that follow from operations: arguments are decoded by their schemas, in the order of `args`, and the
 * effect is the one that HTTP performs.
 */
import { Effect } from "effect"
import * as Entries from "../../../src/entry/ArgumentReaders.ts"
import type { ArgumentsOf, Operation, ResultOf } from "../../../src/operation/Operation.ts"
import { partsOf, placesOf } from "../../../src/operation/Operation.ts"
import type { NotEntitled } from "../../../src/principal/NotEntitled.ts"
import type { InvalidInput } from "../../../src/schema/InvalidInput.ts"
import { inputReader } from "../../../src/schema/InvalidInput.ts"
import { bounds_result } from "../../../src/value/BoundedJson.ts"
import { inMilliseconds } from "../../../src/value/Times.ts"
import type { AnyServed, Served } from "../../service/Served.ts"
import { service_principal } from "./ServicePrincipal.ts"

/** Decodes the arguments. The field of a wrong one is its name; that of a wrong member begins with its part of the request. */
const readerOf = (operation: Operation) => {
  const { args = [] } = operation
  const parts = partsOf(operation).map(({ members, name, schema }) => {
    const expected = schema.ast.annotations?.["message"]
    const read = inputReader(schema as never, {
      ...(typeof expected === "string" ? { expected } : undefined),
      // What a tool may return may come from a client too; HTTP has a bound of its own.
      ...(name === "payload" ? { bounds: bounds_result } : undefined)
    }) as (value: unknown, field: string) => Effect.Effect<object, InvalidInput>
    return { name, members, read, isWhole: members.every((each) => !args.includes(each)) }
  })
  return Effect.fnUntraced(function* (given: Readonly<Record<string, unknown>>) {
    let input: object = {}
    for (const { isWhole, members, name, read } of parts) {
      const value = isWhole
        ? inMilliseconds<unknown>(given["input"])
        : Object.fromEntries(members.map((each) => [each, given[each]]))
      input = { ...input, ...(yield* read(value, isWhole ? name : "")) }
    }
    return input
  })
}

type MethodOf<S> =
  S extends Served<infer O, infer E, infer R>
    ? (...args: ArgumentsOf<O>) => Effect.Effect<ResultOf<O>, E | InvalidInput | NotEntitled, R>
    : never

/** The method of an operation. A read without a principal is one of the service itself. */
export const methodOf = <S extends AnyServed>(served: S): MethodOf<S> => {
  const { operation, perform } = served
  const { gives, method: verb } = operation
  const isRead = verb === "GET"
  const places = placesOf(operation)
  let read: ReturnType<typeof readerOf> | undefined
  const method = Effect.fnUntraced(function* (...all: ReadonlyArray<unknown>) {
    read ??= readerOf(operation)
    const given = Object.fromEntries(places.map((name, at) => [name, all[at]]))
    if (isRead) {
      if (given["input"] === undefined) given["input"] = {}
      if (given["by"] === undefined) given["by"] = service_principal
    }
    const by = yield* Entries.principal(given["by"], "by")
    const output = yield* perform(read(given) as Effect.Effect<never>, by)
    return gives === undefined ? output : (output as Readonly<Record<string, unknown>>)[gives]
  })
  return method as never
}

/** The methods of these operations. */
export const methodsOf = <const All extends Readonly<Record<string, AnyServed>>>(
  all: All
): { readonly [Name in keyof All]: MethodOf<All[Name]> } =>
  Object.fromEntries(Object.entries(all).map(([name, served]) => [name, methodOf(served)])) as never
