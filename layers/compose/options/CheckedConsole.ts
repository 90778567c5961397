/** Checks the option `console` of a start and of routes. */
import { Effect, Schema } from "effect"
import { shapeReader } from "../../../src/schema/InvalidInput.ts"
import type { ConsoleOptions } from "./ServerOptions.ts"
import { definedOptions, is } from "./OptionShapes.ts"

/** The first parts of paths that the API has. */
const taken: ReadonlyArray<string> = ["v1", "health", "ready", "metrics", "docs", "openapi"]
const path_max = 100

const isFree = (path: string): boolean =>
  path.length <= path_max &&
  /^(?:\/[A-Za-z0-9_-]+)+$/.test(path) &&
  !taken.includes(path.split("/")[1] ?? "")

const consolePath = is<`/${string}`>(
  `a path such as "/ops": parts of letters, digits, - and _, a slash before each, none at the end, and no path of the API (${taken.join(", ")})`,
  (value) => typeof value === "string" && isFree(value)
)

const settings = {
  path: Schema.optionalKey(consolePath)
} satisfies Record<keyof ConsoleOptions, unknown>

const read = shapeReader(Schema.Struct(settings))

/** The shape of the option; its members are checked here. */
export const ConsoleShape = is<boolean | ConsoleOptions>(
  "true, false, or an object such as { path }",
  (value) => typeof value === "boolean" || (typeof value === "object" && value !== null)
)

/** What a console is made of. */
export interface ConsoleSettings {
  /** Its path below that of the API. */
  readonly path: `/${string}`
}

/** The settings of the console; undefined = there is none. Fails with the first member that is wrong. */
export const checkConsole = Effect.fnUntraced(function* (
  given: boolean | ConsoleOptions | undefined,
  field: string
) {
  if (given === undefined || given === false) return undefined
  const { path = "/console" } = yield* read(definedOptions(given === true ? {} : given), field)
  return { path } satisfies ConsoleSettings
})
