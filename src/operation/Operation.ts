/**
 * An operation, declared once as data. The HTTP route, its entry in OpenAPI, the method of a started service, `troupe call` and its
 * row in the table of rights follow from it; its effect is in `layers/service`.
 */
import type { Redacted, Schema } from "effect"
import { Context, Result } from "effect"
import type { PrincipalInput } from "../principal/Principal.ts"
import type { AnyRight } from "../principal/Rights.ts"
import { InvalidInput } from "../schema/InvalidInput.ts"
import { unknownMember } from "../schema/PeerNames.ts"
import type { Timed } from "../value/Times.ts"

/**
 * The token of the request that asks, if it came over HTTP; of a session of the console the SHA-256 of its token in hex, or when it
 * ends, where an identity provider has signed it in.
 */
export const CallerToken: Context.Reference<AskingToken | undefined> = Context.Reference<
  AskingToken | undefined
>("troupe/operation/CallerToken", { defaultValue: () => undefined })

type AskingToken =
  | Redacted.Redacted
  | { readonly sha256: string }
  | { readonly session_ends_at: number }

/** A schema of an object. */
export type Members = Schema.Top & { readonly fields: Schema.Struct.Fields }

/** A route and method as data: what it takes and gives, and who may call it. */
export interface Operation {
  /** Its name in its group. */
  readonly id: string
  /** The name of its method. */
  readonly name: string
  /** Only GET changes nothing: its method may be called without a principal, and acts for the service then. */
  readonly method: "GET" | "POST" | "PUT" | "DELETE"
  /** Its members are those of `params`, as in `/v1/tokens/:id`. */
  readonly path: `/${string}`
  /** What stands in its path. Absent = nothing. */
  readonly params?: Members
  /** What stands in its query. Absent = nothing. */
  readonly query?: Members
  /** An object, or a union of objects that a method takes as one. */
  readonly payload?: Schema.Top & { readonly fields?: Schema.Struct.Fields }
  /** Absent = nothing. */
  readonly success?: Schema.Top
  /** The status of a success that is not 200, or 204 for nothing. */
  readonly status?: 201
  /** The statuses of its own errors, beside those that every request may get. */
  readonly problems?: ReadonlyArray<404 | 409 | 410 | 422>
  /** Whoever has it, with any reach, may call the operation. */
  readonly right: AnyRight
  /** What a method takes in place of the payload, of which it is another form or has more forms. */
  readonly takes?: Operation["payload"]
  /**
   * What a method takes, in this order: members of the input by their names, the others as one object (`input`), and who asks
   * (`by`). The last two are at the end if they are not listed.
   */
  readonly args?: ReadonlyArray<string>
  /** The output is a page, such as `{ items, next_after? }`, of which a method gives this member. Absent = it gives all. */
  readonly gives?: "items" | "messages"
  /** One line for OpenAPI. */
  readonly summary: string
  /** More than the summary, for OpenAPI. Absent = nothing. */
  readonly description?: string
}

/** Keeps the types of a declaration. */
export const operation = <const O extends Operation>(declared: O): O => declared

/** The parts of a request, and the schema by which a method reads each. */
export const partsOf = ({ params, payload, query, takes = payload }: Operation) =>
  Object.entries({ params, query, payload: takes }).flatMap(([name, schema]) =>
    schema === undefined
      ? []
      : [{ name, schema, members: Object.keys((schema as Partial<Members>).fields ?? {}) }]
  )

/** What a method takes, in this order, as `args` says. */
export const placesOf = (operation: Operation): ReadonlyArray<string> => {
  const { args = [] } = operation
  // A union has no members of its own.
  const hasRest = partsOf(operation).some(
    ({ members }) => members.length === 0 || members.some((name) => !args.includes(name))
  )
  return [
    ...args,
    ...(hasRest && !args.includes("input") ? ["input"] : []),
    ...(args.includes("by") ? [] : ["by"])
  ]
}

/** What a method takes for an object with all members of the input. Fails for a member for which it has no place. */
export const argumentsOf = (
  operation: Operation,
  given: Readonly<Record<string, unknown>>,
  by: unknown
): Result.Result<ReadonlyArray<unknown>, InvalidInput> => {
  const { args = [] } = operation
  const places = placesOf(operation)
  // A member may have the name of the principal's place.
  const rest = Object.entries(given).filter(([name]) => name === "by" || !args.includes(name))
  const [stray] = places.includes("input") ? [] : rest
  if (stray !== undefined) {
    const known = args.filter((name) => name !== "by")
    return Result.fail(
      new InvalidInput({ field: stray[0], reason: unknownMember(stray[0], known) })
    )
  }
  const taken: typeof given = { ...given, input: Object.fromEntries(rest), by }
  return Result.succeed(places.map((name) => taken[name]))
}

type TypeOf<S> = S extends { readonly Type: infer T } ? T : unknown
type EncodedOf<S> = S extends { readonly Encoded: infer T } ? Timed<T> : unknown
type Part<O, Name extends string> = O extends { readonly [K in Name]: infer S } ? S : unknown

type Payload<O> = O extends { readonly takes: infer S } ? S : Part<O, "payload">

/** All members of a request, whichever part of it they come in. */
export type InputOf<O> = TypeOf<Part<O, "params">> & TypeOf<Part<O, "query">> & TypeOf<Payload<O>>

export type OutputOf<O> = O extends { readonly success: { readonly Type: infer T } } ? T : void

/** The input as somebody writes it: ids are texts, times may be texts too, and what has a default may be left out. */
type Given<O> = EncodedOf<Part<O, "params">> & EncodedOf<Part<O, "query">> & EncodedOf<Payload<O>>

type Args<O> = O extends { readonly args: infer A extends ReadonlyArray<string> } ? A : readonly []
/** Of a union, that of each of its members. */
type RestOf<G, Name> = G extends unknown
  ? { readonly [K in keyof G as K extends Name ? never : K]: G[K] }
  : never
type IsEmpty<Rest> = Rest extends unknown ? (keyof Rest extends never ? true : false) : never
type Placed<G, A extends ReadonlyArray<string>> = {
  readonly [At in keyof A]: A[At] extends "by"
    ? PrincipalInput
    : A[At] extends "input"
      ? RestOf<G, A[number]>
      : A[At] extends keyof G
        ? G[A[At]]
        : never
}
type Last<Rest, A extends ReadonlyArray<string>, IsRead> = [
  ...("input" extends A[number]
    ? []
    : IsEmpty<Rest> extends true
      ? []
      : IsRead extends true
        ? {} extends Rest
          ? [input?: Rest]
          : [input: Rest]
        : [input: Rest]),
  ...("by" extends A[number]
    ? []
    : IsRead extends true
      ? [by?: PrincipalInput]
      : [by: PrincipalInput])
]

/** What a method takes, as `placesOf` lists it. */
export type ArgumentsOf<O> = [
  ...Placed<Given<O>, Args<O>>,
  ...Last<
    RestOf<Given<O>, Args<O>[number]>,
    Args<O>,
    O extends { readonly method: "GET" } ? true : false
  >
]

/** What a method gives: the output, or a member of it. */
export type ResultOf<O> = O extends { readonly gives: infer Member }
  ? Member extends keyof OutputOf<O>
    ? OutputOf<O>[Member]
    : never
  : OutputOf<O>
