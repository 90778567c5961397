/**
 * What stands behind the `?` of a request, before any schema reads it: names that a route knows, each once, and numbers
 * in decimal digits alone. JavaScript would read ` 5`, `1e2`, `0x10` and nothing at all as numbers too.
 */
import { SchemaAST } from "effect"
import type { HttpApiEndpoint } from "effect/http-api"
import type { Problem, ProblemIssue } from "../../src/api/Problem.ts"
import { makeProblem } from "../../src/api/Problem.ts"

/** Of a request that is wrong in more places than this, the first ones are named. */
export const issues_max = 20
/** A name that was sent is quoted so far, in UTF-16 units. */
const name_max = 100

/** What a route takes, by name. */
export type Parameters = ReadonlyMap<string, "number" | "text">

export const noParameters: Parameters = new Map()

export const parametersOf = (endpoint: HttpApiEndpoint.Top): Parameters => {
  const ast = endpoint.query?.ast
  if (ast === undefined || !SchemaAST.isObjects(ast)) return noParameters
  return new Map(
    ast.propertySignatures.map(({ name, type }) => [
      String(name),
      SchemaAST.isNumber(SchemaAST.toType(type)) ? "number" : "text"
    ])
  )
}

/** A whole number as a person writes it; whether it is in its bounds, the schema says. */
const decimal = /^-?(?:0|[1-9]\d{0,18})$/

/** A text that its sender encoded, or undefined where it is no UTF-8. */
const decoded = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text.replaceAll("+", " "))
  } catch {
    return undefined
  }
}

const mistake = (
  name: string,
  value: string | undefined,
  isFirst: boolean,
  known: Parameters
): string | undefined => {
  const kind = known.get(name)
  if (kind === undefined) {
    return `Unknown parameter; known: ${known.size === 0 ? "none" : [...known.keys()].join(", ")}`
  }
  if (!isFirst) return "Given more than once"
  if (value === undefined) return "Its percent-encoding is broken"
  return kind === "number" && (!decimal.test(value) || value === "-0")
    ? "Expected a whole number in decimal digits"
    : undefined
}

/** What is wrong with a request's parameters, each place once; none where nothing is. */
export const issuesIn = (url: string, known: Parameters): ReadonlyArray<ProblemIssue> => {
  const at = url.indexOf("?")
  if (at < 0) return []
  const issues = new Map<string, ProblemIssue>()
  const seen = new Set<string>()
  for (const pair of url.slice(at + 1).split("&")) {
    if (pair === "") continue
    const [, before, after = ""] = /^([^=]*)=?([\s\S]*)$/.exec(pair)!
    const name = decoded(before!) ?? before!
    const message = mistake(name, decoded(after), !seen.has(name), known)
    seen.add(name)
    if (message === undefined || issues.has(name)) continue
    issues.set(name, { path: ["query", name.slice(0, name_max).toWellFormed()], message })
    if (issues.size === issues_max) break
  }
  return [...issues.values()]
}

export const invalidRequest = (errors: ReadonlyArray<ProblemIssue>): Problem<400> =>
  makeProblem(
    400,
    "invalid-request",
    "The request does not have the shape it must have",
    `See errors: each names the place and what is expected there.`,
    { errors }
  )
