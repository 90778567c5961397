/** The endpoint of HTTP, and its entry in OpenAPI, that follow from an operation. */
import type { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Authentication, Needs, RequestBody, Validation } from "./Boundary.ts"
import type { Operation } from "./Operation.ts"
import { Problem404, Problem409, Problem410, Problem422 } from "./Problem.ts"

const problems = { 404: Problem404, 409: Problem409, 410: Problem410, 422: Problem422 } as const

type Problems = typeof problems
type ErrorOf<O> = O extends {
  readonly problems: ReadonlyArray<infer Status extends keyof Problems>
}
  ? Schema.toCodecJson<Problems[Status]>
  : never
type TextsOf<O, Name extends string> = O extends {
  readonly [K in Name]: infer S extends Schema.Top
}
  ? Schema.toCodecStringTree<S>
  : never

type Bare<O extends Operation> = HttpApiEndpoint.HttpApiEndpoint<
  O["id"],
  O["method"],
  O["path"],
  TextsOf<O, "params">,
  TextsOf<O, "query">,
  O extends { readonly payload: infer S extends Schema.Top } ? Schema.toCodecJson<S> : never,
  never,
  O extends { readonly success: infer S extends Schema.Top }
    ? Schema.toCodecJson<S>
    : typeof HttpApiSchema.NoContent,
  ErrorOf<O>
>

/** The endpoint, whose body is read within its bound if there is one. */
export type EndpointOf<O extends Operation> = O extends { readonly payload: Schema.Top }
  ? HttpApiEndpoint.AddMiddleware<Bare<O>, RequestBody>
  : Bare<O>

export const endpointOf = <const O extends Operation>(operation: O): EndpointOf<O> => {
  const { description, id, method, params, path, payload, query, right, status, success, summary } =
    operation
  const endpoint = HttpApiEndpoint.make(method)(id, path, {
    params,
    query,
    payload,
    success:
      success === undefined || status === undefined
        ? success
        : success.pipe(HttpApiSchema.status(status)),
    error: (operation.problems ?? []).map((each) => problems[each])
  })
    .annotate(Needs, right)
    .annotateMerge(
      OpenApi.annotations({ summary, ...(description === undefined ? undefined : { description }) })
    )
  return (payload === undefined ? endpoint : endpoint.middleware(RequestBody)) as never
}

/** The group of these operations: each needs a token, and a request that does not fit gets a problem. */
export const groupOf = <
  const Id extends string,
  const All extends Readonly<Record<string, Operation>>
>(
  id: Id,
  title: string,
  all: All
) => {
  const endpoints = Object.values(all).map(endpointOf) as unknown as [HttpApiEndpoint.Top]
  const group = HttpApiGroup.make(id)
    .add(...endpoints)
    .middleware(Validation)
    .middleware(Authentication)
    .annotateMerge(OpenApi.annotations({ title }))
  return group as unknown as HttpApiGroup.AddMiddleware<
    HttpApiGroup.AddMiddleware<
      HttpApiGroup.HttpApiGroup<Id, { [K in keyof All]: EndpointOf<All[K]> }[keyof All]>,
      Validation
    >,
    Authentication
  >
}
