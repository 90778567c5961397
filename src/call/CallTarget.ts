/**
 * Makes the URL of a direct call, which is always on the origin of the run's callback and below its mount. A descriptor names
 * only a path, and no path can lead elsewhere.
 */
import { Result } from "effect"
import type { Json } from "../value/Canonical.ts"
import { memberOf, valueAt } from "./BodyPath.ts"

/**
 * `base` allows GET and POST below /api/; `extended` also PUT and DELETE, and everything below the callback's own mount; `full`
 * also PATCH, which operations of an imported document may need.
 */
export const call_profiles = ["base", "extended", "full"] as const
/** Which methods and paths calls may use: `base`, `extended` or `full`. */
export type CallProfile = (typeof call_profiles)[number]

interface RequestLine {
  readonly method: string
  readonly path: string
}

/** Why a target is refused. If several reasons apply, the first one is given. */
export type TargetRefusal =
  | "method-not-allowed"
  | "path-param-missing"
  | "path-param-not-scalar"
  | "not-single-slash-path"
  | "unsafe-path"
  | "no-origin"
  | "origin-mismatch"
  | "outside-mount"

const methods: Record<CallProfile, ReadonlySet<string>> = {
  base: new Set(["GET", "POST"]),
  extended: new Set(["GET", "POST", "PUT", "DELETE"]),
  full: new Set(["GET", "POST", "PUT", "PATCH", "DELETE"])
}

/** A parameter of a path, such as `{id}`, which a value replaces. */
export const parameter = /\{([A-Za-z_][A-Za-z0-9_.-]*)\}/g
/** The names of a path's parameters, each once. */
export const parametersOf = (path: string): ReadonlyArray<string> =>
  path.includes("{") ? [...new Set([...path.matchAll(parameter)].map(([, name = ""]) => name))] : []

/**
 * What a path must not contain: white space, controls, backslashes, and `#`, because some servers cut a fragment off and others
 * do not.
 */
// oxlint-disable-next-line no-control-regex -- control characters are what is refused
const unsafe = /[\s\\#\u0000-\u001f\u007f]/u

/** The form of a path in the base profile, before its parameters are filled in. */
const grammar = /^\/api\/[A-Za-z0-9._~!$&'()*+,;=:@/{}-]+(?:\?[^#\s\\]*)?$/

/** For `a.b` the member with this very name, by which `requestOf` passes the values that it has chosen, or the value at the path. */
const parameterValue = (params: unknown, name: string): Json | undefined =>
  memberOf(params, name) ?? valueAt(params, name.split("."))

interface Filled {
  readonly path: string
  /**
   * The path with a letter in place of each `%` and backslash in a value. In a value they are text and cannot hide a separator.
   */
  readonly probe: string
}

const substituted = (path: string, params: unknown): Result.Result<Filled, TargetRefusal> => {
  let refusal: TargetRefusal | undefined
  const values: Array<string> = []
  const filled = path.replaceAll(parameter, (_, name: string) => {
    const value = parameterValue(params, name)
    if (value === undefined || value === null) {
      refusal ??= "path-param-missing"
      return ""
    }
    if (typeof value === "string" || typeof value === "boolean" || Number.isFinite(value)) {
      const text = String(value)
      // An empty segment, `.` or `..` would lead to another path.
      if (text === "" || text === "." || text === ".." || !text.isWellFormed()) {
        refusal ??= "unsafe-path"
        return ""
      }
      const encoded = encodeURIComponent(text)
      values.push(encoded)
      return encoded
    }
    refusal ??= "path-param-not-scalar"
    return ""
  })
  if (refusal !== undefined) return Result.fail(refusal)
  let next = 0
  const probe = path.replaceAll(parameter, () => (values[next++] ?? "").replaceAll(/%25|%5C/g, "p"))
  return Result.succeed({ path: filled, probe })
}

/** The text with its encoded percent signs and dots decoded, however often they were encoded. */
const decodedDots = (text: string): string => {
  const plain = text.replaceAll(/%25/g, "%").replaceAll(/%2e/gi, ".")
  return plain.length === text.length ? text : decodedDots(plain)
}

/** Whether it has a `.` or `..` segment or a backslash, encoded however often: some servers decode before they resolve. */
const climbs = (path: string): boolean => {
  const plain = decodedDots(path)
  const isClimbing = (part: string) => part === "." || part === ".."
  return /%5c/i.test(plain) || plain.split(/\/|%2f/i).some(isClimbing)
}

const mountOf = (profile: CallProfile, endpoint: URL): string =>
  profile === "base"
    ? "/api"
    : endpoint.pathname.replace(/\/tools\/call\/?$/, "").replace(/\/$/, "")

/** Whether a path is below the mount. Outside the base profile, the mount itself counts too. */
const isBelow = (pathname: string, mount: string, profile: CallProfile): boolean =>
  profile === "base"
    ? pathname.startsWith(`${mount}/`) && pathname.length > mount.length + 1
    : mount === "" || pathname === mount || pathname.startsWith(`${mount}/`)

const plain = /^(?:\/(?:[A-Za-z0-9_-]+|\{[A-Za-z_][A-Za-z0-9_-]*\}))+$/

/** Whether a path has only plain names and parameters, so that no further check is needed. Most paths do (bench row `calls`). */
export const isPlainPath = (path: string): boolean => plain.test(path)

/** Why no host can serve a path, whatever its parameters are; undefined = one can. */
export const pathRefusal = (path: string): TargetRefusal | undefined => {
  if (isPlainPath(path)) return undefined
  const stand_ins = Object.fromEntries(parametersOf(path).map((each) => [each, "x"]))
  const target = targetOf("https://platform.invalid/", { method: "GET", path }, stand_ins, "full")
  return Result.isSuccess(target) ? undefined : target.failure
}

/** On the origin of `endpoint`, the run's callback, or why it is refused; `params` fill the `{name}` parts and must be scalars. */
export const targetOf = (
  endpoint: string,
  { method, path }: RequestLine,
  params: unknown,
  profile: CallProfile = "base"
): Result.Result<URL, TargetRefusal> => {
  if (!methods[profile].has(method)) return Result.fail("method-not-allowed")
  const filled = substituted(path, params)
  if (Result.isFailure(filled)) return Result.fail(filled.failure)
  const { path: text, probe } = filled.success
  if (text[0] !== "/" || text[1] === "/") return Result.fail("not-single-slash-path")
  if (text.includes("..") || unsafe.test(text)) return Result.fail("unsafe-path")
  const base = URL.parse(endpoint)
  if (base === null || base.origin === "null" || !/^https?:$/.test(base.protocol)) {
    return Result.fail("no-origin")
  }
  const url = URL.parse(text, base.origin)
  if (url === null) return Result.fail("unsafe-path")
  if (url.origin !== base.origin || url.username !== "" || url.password !== "") {
    return Result.fail("origin-mismatch")
  }
  if (!isBelow(url.pathname, mountOf(profile, base), profile)) return Result.fail("outside-mount")
  if (profile === "base" && !grammar.test(path)) return Result.fail("unsafe-path")
  const [probed = ""] = probe.split("?", 1)
  if (climbs(probed)) return Result.fail("unsafe-path")
  return Result.succeed(url)
}
