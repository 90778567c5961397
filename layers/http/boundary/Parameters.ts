/**
 * Checks query parameters before a schema decodes them: the route has to know their names, each may occur only once, and numbers
 * have to be decimal digits. JavaScript would also read ` 5`, `1e2`, `0x10` and the empty text as numbers.
 */
import { SchemaAST } from "effect"
import type { HttpApiEndpoint } from "effect/http-api"
import { truncateUnits } from "../../../src/value/CutText.ts"
import type { Problem, ProblemIssue } from "../../../src/operation/Problem.ts"
import { makeProblem } from "../../../src/operation/Problem.ts"

/** The most issues that one problem lists; the first ones are kept. */
export const issues_max = 20
/** The length in UTF-16 units at which a quoted name is cut. */
const name_max = 100

/** The parameters of a route, by name. */
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

/** A whole number in decimal digits; the schema checks its bounds. */
const decimal = /^-?(?:0|[1-9]\d{0,18})$/

/** The decoded text; undefined if it is not UTF-8. */
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

/** The issues of a request's parameters, at most one for each; empty if there are none. */
export const issuesIn = (url: string, known: Parameters): ReadonlyArray<ProblemIssue> => {
  const at = url.indexOf("?")
  if (at < 0) return []
  const issues = new Map<string, ProblemIssue>()
  const seen = new Set<string>()
  for (const pair of url.slice(at + 1).split("&")) {
    if (pair === "") continue
    const [before = ""] = pair.split("=", 1)
    const after = pair.slice(before.length + 1)
    const name = decoded(before) ?? before
    const message = mistake(name, decoded(after), !seen.has(name), known)
    seen.add(name)
    if (message === undefined || issues.has(name)) continue
    issues.set(name, { path: ["query", truncateUnits(name, name_max).toWellFormed()], message })
    if (issues.size === issues_max) break
  }
  return [...issues.values()]
}

/** The numbers among a request's parameters, by name, but for those that a program would alter. */
export const numbersIn = (url: string, known: Parameters): Readonly<Record<string, number>> => {
  const given = new URLSearchParams(url.slice(url.indexOf("?") + 1))
  return Object.fromEntries(
    [...given].flatMap(([name, text]) => {
      const number = Number(text)
      const isTold = known.get(name) === "number" && Number.isSafeInteger(number)
      return isTold ? [[name, number]] : []
    })
  )
}

export const invalidRequest = (errors: ReadonlyArray<ProblemIssue>): Problem<400> =>
  makeProblem(
    400,
    "invalid-request",
    "The request does not have the shape it must have",
    `See errors: each names the place and what is expected there.`,
    { errors }
  )
