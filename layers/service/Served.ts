/** The effects of operations, which every surface performs in the same way. */
import { Effect } from "effect"
import type { NotEntitled } from "../../src/principal/NotEntitled.ts"
import type { Principal } from "../../src/principal/Principal.ts"
import { rightRefusal } from "../../src/principal/Rights.ts"
import { loggingRefusals } from "../../src/principal/RefusedActs.ts"
import type { InputOf, Operation, OutputOf } from "../../src/operation/Operation.ts"

/** An operation with its effect, as `serve` makes it. */
export interface Served<O extends Operation, E, R> {
  /** What it is: its method, path, input and output. */
  readonly operation: O
  /**
   * Performs the operation for a principal that was decoded. Fails with NotEntitled where the principal lacks the right, before
   * the input is read: who may not ask learns nothing about it.
   */
  readonly perform: <E2>(
    input: Effect.Effect<InputOf<O>, E2>,
    by: Principal
  ) => Effect.Effect<OutputOf<O>, E | E2 | NotEntitled, R>
}

/** The effect of any operation; its input is that of the operation. */
export interface AnyServed<E = unknown> {
  readonly operation: Operation
  readonly perform: (
    input: Effect.Effect<never>,
    by: Principal
  ) => Effect.Effect<unknown, E, unknown>
}

/** The services that an effect needs. */
export type ServicesOf<S extends AnyServed> = S["perform"] extends (
  ...args: ReadonlyArray<never>
) => Effect.Effect<unknown, unknown, infer R>
  ? R
  : never

/**
 * Gives an operation its effect. `perform` gets the decoded input (the members of params, query and payload together) and the caller,
 * whose `tenant` its queries name. Its errors are those of ports, or have a `problem`; its services are its feature's, the runtime's or
 * the program's.
 */
export const serve = <const O extends Operation, E, R>(
  operation: O,
  perform: (input: InputOf<O>, by: Principal) => Effect.Effect<OutputOf<O>, E, R>
): Served<O, E, R> => ({
  operation,
  perform: (input, by) => {
    const refusal = rightRefusal(by, operation.right)
    return refusal === undefined
      ? loggingRefusals(
          by,
          operation.right,
          Effect.flatMap(input, (read) => perform(read, by))
        )
      : loggingRefusals(by, operation.right, Effect.fail(refusal))
  }
})

/** The page that a list gives. `key` is the member of its last item after which the next page begins. */
export const pageOf = <A extends object, K extends keyof A>(
  { items, last }: { readonly items: ReadonlyArray<A>; readonly last: A | undefined },
  key: K
): { readonly items: ReadonlyArray<A>; readonly next_after?: A[K] } =>
  last === undefined ? { items } : { items, next_after: last[key] }
