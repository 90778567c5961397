/** Checks the option `console` of a start and of routes. */
import { Effect, Schema } from "effect"
import { Role, roles_max } from "../../../src/principal/Principal.ts"
import { DeclaredRoles, unknownRole } from "../../../src/principal/Rights.ts"
import { InvalidInput, shapeReader } from "../../../src/schema/InvalidInput.ts"
import { truncateUnits } from "../../../src/value/CutText.ts"
import { textUpTo } from "../../../src/value/Bounds.ts"
import { plainText, Tenant } from "../../../src/value/Ids.ts"
import { inMilliseconds } from "../../../src/value/Times.ts"
import { isSafeAddress } from "../../console/OpenIdOptions.ts"
import type { OpenIdOptions, PrincipalRule } from "../../console/OpenIdOptions.ts"
import type { ConsoleOptions } from "./ServerOptions.ts"
import { definedOptions, is, isObject, isUrl, secret, time } from "./OptionShapes.ts"

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
  path: Schema.optionalKey(consolePath),
  openid: Schema.optionalKey(is<OpenIdOptions>("an object such as { issuer, client_id }", isObject))
} satisfies Record<keyof ConsoleOptions, unknown>

const read = shapeReader(Schema.Struct(settings))

/** The shape of the option; its members are checked here. */
export const ConsoleShape = is<boolean | ConsoleOptions>(
  "true, false, or an object such as { path }",
  (value) => typeof value === "boolean" || isObject(value)
)

/** Whether it is an address of a page or a service, and nothing besides. */
const isBare = (value: unknown): value is string => {
  if (!isUrl(value)) return false
  const { hash, password, search, username } = new URL(value)
  return hash + password + search + username === ""
}

const issuer = is<string>(
  "the address of an issuer, without a query: it begins with https://, or with http:// for localhost, 127.0.0.1 and [::1] alone",
  (value) => isBare(value) && isSafeAddress(new URL(value))
)
const address = is<string>(
  'the address of the console for browsers, such as "https://ops.example/console"',
  isBare
)
const scope = is<string>(
  'scopes with spaces between them, among them "openid"',
  (value) => typeof value === "string" && value.split(" ").includes("openid")
)

const claim = textUpTo(200)

const rule = {
  tenant: Schema.Union([Tenant, Schema.Struct({ claim })]),
  roles: Schema.Record(
    Schema.String,
    Schema.Union([Role, Schema.Array(Role).check(Schema.isMaxLength(roles_max))])
  ).check(Schema.isMaxProperties(1_000)),
  groups: Schema.optionalKey(claim),
  id: Schema.optionalKey(claim)
} satisfies Record<keyof PrincipalRule, unknown>

const openid = {
  issuer,
  client_id: textUpTo(1_000),
  client_secret: Schema.optionalKey(secret),
  token_endpoint_auth_method: Schema.optionalKey(
    Schema.Literals(["client_secret_basic", "client_secret_post"])
  ),
  principal: is<OpenIdOptions["principal"]>(
    'a function of claims, or an object such as { tenant: "default", roles: { operators: "operator" } }',
    (value) => typeof value === "function" || isObject(value)
  ),
  scope: Schema.optionalKey(scope),
  url: Schema.optionalKey(address),
  name: Schema.optionalKey(textUpTo(60).check(plainText)),
  session_ms: time(60_000, 12 * 3_600_000)
} satisfies Record<keyof OpenIdOptions, unknown>

const readOpenId = shapeReader(Schema.Struct(openid))
const readRule = shapeReader(Schema.Struct(rule))

/** The rule of a provider, whose roles are all there. A function is called when somebody signs in. */
const checkRule = Effect.fnUntraced(function* (given: OpenIdOptions["principal"], field: string) {
  if (typeof given === "function") return given
  const checked = yield* readRule(definedOptions(given), field)
  const declared = yield* DeclaredRoles
  for (const [group, roles] of Object.entries(checked.roles)) {
    const unknown = unknownRole([roles].flat(), declared)
    if (unknown === undefined) continue
    const name = truncateUnits(group, 64).toWellFormed()
    return yield* new InvalidInput({ field: `${field}.roles.${name}`, reason: unknown[1] })
  }
  return checked
})

const checkOpenId = Effect.fnUntraced(function* (
  given: OpenIdOptions,
  path: string,
  field: string
) {
  const checked = yield* readOpenId(definedOptions(given), field)
  const { client_secret, url } = checked
  if (client_secret === "") {
    const reason = "it is empty: leave it out for a public client"
    return yield* new InvalidInput({ field: `${field}.client_secret`, reason })
  }
  if (url !== undefined && !new URL(url).pathname.replace(/\/$/, "").endsWith(path)) {
    const reason = `it does not end with ${path}, the path of the console`
    return yield* new InvalidInput({ field: `${field}.url`, reason })
  }
  return { ...checked, principal: yield* checkRule(checked.principal, `${field}.principal`) }
})

/** What a console is made of. */
export interface ConsoleSettings {
  /** Its path below that of the API. */
  readonly path: `/${string}`
  /** Absent = people sign in with tokens alone. */
  readonly openid?: OpenIdOptions
}

/** The settings of the console; undefined = there is none. Fails with the first member that is wrong. */
export const checkConsole = Effect.fnUntraced(function* (
  given: boolean | ConsoleOptions | undefined,
  field: string
): Effect.fn.Return<ConsoleSettings | undefined, InvalidInput> {
  if (given === undefined || given === false) return undefined
  const members = given === true ? {} : inMilliseconds<unknown>(given, 2)
  const { openid, path = "/console" } = yield* read(definedOptions(members), field)
  return openid === undefined
    ? { path }
    : { path, openid: yield* checkOpenId(openid, path, `${field}.openid`) }
})
