/**
 * Methods of a started service that follow from operations: arguments are decoded by their schemas, `args` one by one and the rest
 * as one object, and the effect is the one that HTTP performs.
 */
import { Effect } from "effect"
import * as Entries from "../../../src/entry/ArgumentReaders.ts"
import type { ArgumentsOf, Operation, ResultOf } from "../../../src/operation/Operation.ts"
import type { NotEntitled } from "../../../src/principal/NotEntitled.ts"
import type { InvalidInput } from "../../../src/schema/InvalidInput.ts"
import { inputReader } from "../../../src/schema/InvalidInput.ts"
import { bounds_result } from "../../../src/value/BoundedJson.ts"
import { inMilliseconds } from "../../../src/value/Times.ts"
import type { AnyServed, Served } from "../../service/Served.ts"
import { service_principal } from "./ServicePrincipal.ts"

/** One part of a request: its members, and how they are read. */
interface Part {
  readonly name: string
  readonly members: ReadonlyArray<string>
  readonly read: (value: unknown, field: string) => Effect.Effect<object, InvalidInput>
}

const partsOf = (operation: Operation): ReadonlyArray<Part> =>
  (["params", "query", "payload"] as const).flatMap((name) => {
    const schema = operation[name]
    if (schema === undefined) return []
    const expected = schema.ast.annotations?.["message"]
    const read = inputReader(schema as never, {
      ...(typeof expected === "string" ? { expected } : undefined),
      // What a tool may return may come from a client too; HTTP has a bound of its own.
      ...(name === "payload" ? { bounds: bounds_result } : undefined)
    }) as Part["read"]
    return [{ name, members: Object.keys(schema.fields ?? {}), read }]
  })

/** Decodes the arguments. The field of a wrong one is its name; that of a wrong member begins with its part of the request. */
const readerOf = (operation: Operation) => {
  const { args = [] } = operation
  const parts = partsOf(operation)
  const isWhole = ({ members }: Part) => members.every((name) => !args.includes(name))
  // A union has no members of its own.
  const hasRest = parts.some(
    ({ members }) => members.length === 0 || members.some((name) => !args.includes(name))
  )
  const read = Effect.fnUntraced(function* (given: ReadonlyArray<unknown>, rest: unknown) {
    const named = Object.fromEntries(args.map((name, at) => [name, given[at]]))
    let input: object = {}
    for (const part of parts) {
      const value = isWhole(part)
        ? inMilliseconds<unknown>(rest)
        : Object.fromEntries(part.members.map((name) => [name, named[name]]))
      input = { ...input, ...(yield* part.read(value, isWhole(part) ? part.name : "")) }
    }
    return input
  })
  return { hasRest, read }
}

type MethodOf<S> =
  S extends Served<infer O, infer E, infer R>
    ? (...args: ArgumentsOf<O>) => Effect.Effect<ResultOf<O>, E | InvalidInput | NotEntitled, R>
    : never

/** The method of an operation. A read without a principal is one of the service itself. */
export const methodOf = <S extends AnyServed>(served: S): MethodOf<S> => {
  const { operation, perform } = served
  const { args = [], gives, method: verb } = operation
  const isRead = verb === "GET"
  let reader: ReturnType<typeof readerOf> | undefined
  const method = Effect.fnUntraced(function* (...given: ReadonlyArray<unknown>) {
    const { hasRest, read } = (reader ??= readerOf(operation))
    const rest = hasRest ? given[args.length] : undefined
    const asking = given[args.length + (hasRest ? 1 : 0)]
    const by = yield* Entries.principal(
      asking === undefined && isRead ? service_principal : asking,
      "by"
    )
    const input = read(given, rest === undefined && isRead ? {} : rest)
    const output = yield* perform(input as Effect.Effect<never>, by)
    return gives === undefined ? output : (output as Readonly<Record<string, unknown>>)[gives]
  })
  return method as never
}

/** The methods of these operations. */
export const methodsOf = <const All extends Readonly<Record<string, AnyServed>>>(
  all: All
): { readonly [Name in keyof All]: MethodOf<All[Name]> } =>
  Object.fromEntries(Object.entries(all).map(([name, served]) => [name, methodOf(served)])) as never
