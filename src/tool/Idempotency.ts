/**
 * The key under which a tool's side effect happens only once, and how far it reaches. An author writes a text with the names of
 * arguments in braces, such as `order-{order_id}`; two calls with the same values are one side effect. With a text without
 * braces, the tool acts once in its scope.
 */
import { Schema } from "effect"
import { canonical } from "../value/Canonical.ts"
import { between } from "../value/Bounds.ts"

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

/**
 * Where two calls with the same key are one side effect: in one `run`, which is one message; in one `conversation`; or in the
 * whole `tenant`.
 */
export const IdempotencyScope = Schema.Literals(["run", "conversation", "tenant"])
export type IdempotencyScope = typeof IdempotencyScope.Type

const day_ms = 86_400_000

/** How long a key beyond its run holds, in ms: from a second to 366 days. */
export const KeyHoldsMs = between(1_000, 366 * day_ms)

/** The default of `holds_ms`: 30 days. */
export const key_holds_ms_default = 30 * day_ms

/**
 * A tool's key, and how far it reaches. A key of a `conversation` or of a `tenant` is kept in the store: a later call with it
 * gets the result of the first one, and its body does not run.
 */
export class Idempotency extends Schema.Opaque<Idempotency>()(
  Schema.Struct({
    /** The same text is the same side effect: 1 to 256 characters, with the paths of arguments in braces, `refund-{order.id}`. */
    key: IdempotencyKey,
    /** Where that holds: `run`, which is one message, `conversation` or `tenant`. */
    scope: IdempotencyScope,
    /**
     * How long a key is kept from the dispatch of the first call on, in ms, a second to 366 days. Not for the scope `run`, whose
     * keys hold as long as their run. Absent = 30 days.
     */
    holds_ms: Schema.optionalKey(KeyHoldsMs)
  })
) {}

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

/** A tool, as far as its side effects are concerned: two of its versions do the same. */
interface Effecting {
  readonly namespace: string
  readonly name: string
  readonly idempotency: Idempotency | null
}

/**
 * The identity of one call's side effect, from the arguments as the model gave them; undefined if the tool declares no key. Two
 * calls of one scope with the same identity are one side effect. The values are kept next to the text and not inserted into it,
 * so different lists of values never have the same identity. An absent argument counts as null.
 */
export const sideEffectIdentity = (
  { idempotency, name, namespace }: Effecting,
  args: unknown
): string | undefined =>
  idempotency === null
    ? undefined
    : canonical([
        `${namespace}.${name}`,
        idempotency.key,
        argumentsNamed(idempotency.key).map((path) => argumentAt(args, path))
      ])

/**
 * The key's text with the values of its arguments, such as `refund-1004`. It is for people and for records elsewhere: values that
 * contain the text between them may give two side effects the same one. An absent argument is an empty text.
 */
export const businessKey = ({ key }: Idempotency, args: unknown): string =>
  key.replaceAll(argument, (_, path: string) => {
    const value = argumentAt(args, path)
    return typeof value === "string" ? value : value === null ? "" : canonical(value)
  })
