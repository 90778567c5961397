/** One endpoint of the reference platform: its method, its path, and the schema of its body. */
import { Result, Schema } from "effect"
import type { Reply } from "./Wire.ts"
import { problem } from "./Wire.ts"

export const Id = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(500))
export const Members = Schema.Record(Schema.String, Schema.Json)

export interface Asked {
  /** What stands in the path for its names in braces. */
  readonly params: Readonly<Record<string, string>>
  readonly query: URLSearchParams
  readonly trace_id: string
  readonly baggage: string | undefined
}

type Answered = Reply | Promise<Reply>

export interface Route {
  readonly method: string
  readonly segments: ReadonlyArray<string>
  readonly answer: (body: unknown, asked: Asked) => Answered
}

/** A route that refuses what its schema does not know with 422. */
export const route = <A>(
  method: string,
  path: string,
  body: Schema.Codec<A, unknown>,
  answer: (body: A, asked: Asked) => Answered
): Route => {
  const decode = Schema.decodeUnknownResult(body, { onExcessProperty: "error" })
  return {
    method,
    segments: path.split("/"),
    answer: (given, asked) => {
      const decoded = decode(given)
      return Result.isFailure(decoded)
        ? problem(422, decoded.failure.message.slice(0, 500))
        : answer(decoded.success, asked)
    }
  }
}

/** What stands for the names in braces; undefined where the path is another one. */
const paramsOf = (
  { segments }: Route,
  given: ReadonlyArray<string>
): Readonly<Record<string, string>> | undefined => {
  if (segments.length !== given.length) return undefined
  const params: Record<string, string> = {}
  for (const [at, segment] of segments.entries()) {
    const part = given[at] ?? ""
    const name = /^\{(\w+)\}$/.exec(segment)?.[1]
    if (name === undefined ? part !== segment : part === "") return undefined
    if (name !== undefined) params[name] = part
  }
  return params
}

export interface Found {
  readonly route: Route
  readonly params: Readonly<Record<string, string>>
}

/** All routes of a path, one for each of its methods. */
export const routesAt = (routes: ReadonlyArray<Route>, path: string): ReadonlyArray<Found> => {
  const parts = path.split("/").map((part) => {
    try {
      return decodeURIComponent(part)
    } catch {
      return part
    }
  })
  return routes.flatMap((route) => {
    const params = paramsOf(route, parts)
    return params === undefined ? [] : [{ route, params }]
  })
}
