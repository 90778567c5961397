/** Each number of each route beyond its bounds, as the API's own document says them. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { ask, layer, layerOfSpectral } from "./Service.ts"

interface Shape {
  readonly $ref?: string
  readonly type?: string
  readonly pattern?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly allOf?: ReadonlyArray<Shape>
  readonly properties?: Readonly<Record<string, Shape>>
}
interface Route {
  readonly parameters?: ReadonlyArray<{
    readonly name: string
    readonly in: string
    readonly schema: Shape
    readonly required?: boolean
  }>
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Shape }>> }
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Route>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Shape>> }
}

/** A number beyond each bound that a shape has, with that bound. A query's is a text there, with no bounds that are told. */
const beyond = (shape: Shape): ReadonlyArray<readonly [value: number, bound: number | string]> => {
  const { allOf = [], maximum, minimum, pattern } = shape
  return [
    ...(pattern?.startsWith("^[+-]?(?:\\d+") ? [[Number.MIN_SAFE_INTEGER, "\\d+"] as const] : []),
    ...(minimum === undefined ? [] : [[minimum - 1, minimum] as const]),
    ...(maximum === undefined || maximum >= Number.MAX_SAFE_INTEGER
      ? []
      : [[maximum + 1, maximum] as const]),
    ...allOf.flatMap(beyond)
  ]
}

const id = "00000000-0000-4000-8000-000000000001"

interface Beyond {
  readonly method: string
  readonly path: string
  readonly place: "query" | "payload"
  readonly name: string
  readonly value: number
  /** The bound as it is told, as a pattern. */
  readonly bound: number | string
}

/** An id as the routes below it take it. */
const idIn = (template: string): string =>
  template.startsWith("/v1/drafts") ? "draft-1" : template.startsWith("/v1/worlds") ? "w" : id

/** Each number of a query or of the members of a body, beyond each of its bounds. */
const casesOf = ({ components, paths }: Document): ReadonlyArray<Beyond> => {
  const whole = (shape: Shape = {}): Shape =>
    shape.$ref === undefined
      ? shape
      : whole(components.schemas[shape.$ref.slice("#/components/schemas/".length)])
  return Object.entries(paths).flatMap(([template, routes]) =>
    Object.entries(routes).flatMap(([method, { parameters = [], requestBody }]) => {
      // Of a query only the first mistake is told, and what is missing is one.
      const needed = parameters.filter((each) => each.in === "query" && each.required === true)
      const query = `?${needed.map(({ name }) => `${name}=${name === "agent" ? "a" : id}`).join("&")}`
      const { properties = {} } = whole(requestBody?.content["application/json"]?.schema)
      const of = (place: Beyond["place"], name: string, shape: Shape) =>
        beyond(whole(shape)).map(([value, bound]) => {
          const path = template.replaceAll(/\{\w+\}/g, idIn(template))
          return { method: method.toUpperCase(), path: path + query, place, name, value, bound }
        })
      return [
        ...parameters.flatMap((each) =>
          each.in === "query" ? of("query", each.name, each.schema) : []
        ),
        ...Object.entries(properties).flatMap(([name, shape]) => of("payload", name, shape))
      ]
    })
  )
}

describe("a number out of its bounds", () => {
  it.live("is refused with the bound and the number, in every query and every body", () =>
    Effect.gen(function* () {
      const cases = casesOf((yield* ask("/openapi.json")).json)
      for (const { bound, method, name, path, place, value } of cases) {
        const more =
          place === "query" ? { path: `${path}&${name}=${value}` } : { json: { [name]: value } }
        const answer = yield* ask(more.path ?? path, { as: "admin", method, ...more })
        const errors: ReadonlyArray<{ path: ReadonlyArray<string>; message: string }> =
          answer.json.errors ?? []
        const issue = errors.find((each) => each.path.join(".") === `${place}.${name}`)
        const told = new RegExp(`\\b${bound}\\b.*; got ${value}$`)
        assert.match(issue?.message ?? answer.text, told, `${method} ${path} ${place}.${name}`)
      }
      const countOf = (place: string) => cases.filter((each) => each.place === place).length
      assert.isAbove(countOf("query"), 40)
      assert.isAbove(countOf("payload"), 20)
    }).pipe(Effect.provide(layerOfSpectral))
  )

  it.live("is not told as another one where it cannot be kept", () =>
    Effect.gen(function* () {
      const { json } = yield* ask("/v1/runs?limit=9007199254740993", { as: "admin" })
      assert.deepStrictEqual(json.errors, [
        { path: ["query", "limit"], message: "Expected an integer" }
      ])
    }).pipe(Effect.provide(layer))
  )
})
