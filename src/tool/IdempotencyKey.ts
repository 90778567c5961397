/**
 * The key under which a tool's side effect happens only once in a run. An author writes a text with the names of arguments in
 * braces, such as `order-{order_id}`; two calls with the same values are one side effect. With a text without braces, the tool
 * acts once in a run, whatever its arguments.
 */
import { Schema } from "effect"
import { canonical } from "../Canonical.ts"

const argument = /\{([A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)*)\}/g

/** A key of at most 256 characters. Braces may only enclose the path of an argument, such as `{order.id}`. */
export const IdempotencyKey = Schema.String.check(
  Schema.isMinLength(1),
  Schema.isMaxLength(256),
  Schema.makeFilter(
    (text) =>
      !/[{}]/.test(text.replaceAll(argument, "")) ||
      "braces stand around the name of an argument, as in order-{order_id}"
  )
)

/** The paths of the arguments that a key names, in the key's order. */
export const argumentsNamed = (key: string): ReadonlyArray<string> =>
  [...key.matchAll(argument)].map(([, path = ""]) => path)

/**
 * The value of the argument at a path; null if there is none. Lists have a `length`, unlike in the paths of a call's body, so
 * that `{items.length}` can distinguish two side effects by the number of items.
 */
const argumentAt = (args: unknown, path: string): unknown => {
  let found = args
  for (const name of path.split(".")) {
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, name)) return null
    found = (found as Record<string, unknown>)[name]
  }
  return found ?? null
}

/**
 * The identity of one call's side effect, from the arguments as the model gave them; undefined if the tool declares no key. Two
 * calls of a run with the same identity are one side effect. The values are kept next to the text and not inserted into it, so
 * different lists of values never have the same identity. An absent argument counts as null.
 */
export const sideEffectIdentity = (
  tool: { readonly key: string; readonly idempotency_key: string | null },
  args: unknown
): string | undefined =>
  tool.idempotency_key === null
    ? undefined
    : canonical([
        tool.key,
        tool.idempotency_key,
        argumentsNamed(tool.idempotency_key).map((path) => argumentAt(args, path))
      ])
