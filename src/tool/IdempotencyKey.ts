/**
 * The key under which a tool's side effect happens once in a run. An author writes a text with the names of arguments in
 * braces, `order-{order_id}`; two calls with the same values are one side effect. With a text without braces the tool acts once
 * in a run, whatever its arguments.
 */
import { Schema } from "effect"
import { canonical } from "../Canonical.ts"

const argument = /\{([A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)*)\}/g

/** At most 256 characters; a brace stands only around the path of an argument, such as `{order.id}`. */
export const IdempotencyKey = Schema.String.check(
  Schema.isMinLength(1),
  Schema.isMaxLength(256),
  Schema.makeFilter(
    (text) =>
      !/[{}]/.test(text.replaceAll(argument, "")) ||
      "braces stand around the name of an argument, as in order-{order_id}"
  )
)

/** The paths of arguments that a key names, in its order. */
export const argumentsNamed = (key: string): ReadonlyArray<string> =>
  [...key.matchAll(argument)].map(([, path = ""]) => path)

/**
 * The value of the argument at a path; null where there is none. Lists have a `length`, unlike in the paths of a call's
 * body: with `{items.length}` their number tells two side effects apart.
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
 * The identity of one call's side effect, from the arguments as the model gave them; undefined where the tool declares no
 * key. Two calls of a run with the same identity are one side effect. The values stand beside the text and not in it, so that
 * two different lists of values never give the same identity; an argument that is left out counts as null.
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
