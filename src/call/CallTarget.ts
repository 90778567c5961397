/**
 * The URL of a direct call: always on the origin of the run's callback and below its mount. A descriptor names only the
 * path, and no path can lead elsewhere.
 */
import { Result } from "effect"
import type { Json } from "../Canonical.ts"
import { memberOf, valueAt } from "./BodyPath.ts"

/**
 * `base`: GET and POST below /api/. `extended`: PUT and DELETE too, below the callback's own mount. `full`: as `extended`, and
 * PATCH, which operations of an imported document may need.
 */
export const call_profiles = ["base", "extended", "full"] as const
export type CallProfile = (typeof call_profiles)[number]

interface RequestLine {
  readonly method: string
  readonly path: string
}

/** Why a target is refused; the first that applies. */
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

/** A part of a path that a value fills, such as `{id}`. */
export const parameter = /\{([A-Za-z_][A-Za-z0-9_.-]*)\}/g
/** The names of a path's parameters, each once. */
export const parametersOf = (path: string): ReadonlyArray<string> =>
  path.includes("{") ? [...new Set([...path.matchAll(parameter)].map(([, name = ""]) => name))] : []

/** White space, controls, backslashes, and `#`, because some servers cut a fragment off and others do not. */
// oxlint-disable-next-line no-control-regex -- control characters are what is refused
const unsafe = /[\s\\#\u0000-\u001f\u007f]/u

/** A path of the base profile before its parameters are filled in. */
const grammar = /^\/api\/[A-Za-z0-9._~!$&'()*+,;=:@/{}-]+(?:\?[^#\s\\]*)?$/

/**
 * The value of a parameter such as `a.b`: of the member with this name, which is how `requestOf` gives values that it has
 * already chosen, or else at the path.
 */
const parameterValue = (params: unknown, name: string): Json | undefined =>
  memberOf(params, name) ?? valueAt(params, name.split("."))

interface Filled {
  readonly path: string
  /** The path with a letter for each `%` and backslash that came from a value: there it is text and hides no separator. */
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

/** Percent signs and dots as they are written, however often they are encoded. */
const decodedDots = (text: string): string => {
  const plain = text.replaceAll(/%25/g, "%").replaceAll(/%2e/gi, ".")
  return plain.length === text.length ? text : decodedDots(plain)
}

/**
 * Whether a path has `.` or `..` segments, between slashes that may be encoded themselves, or a backslash, encoded once or
 * several times: some servers decode before they resolve.
 */
const climbs = (path: string): boolean => {
  const plain = decodedDots(path)
  const isClimbing = (part: string) => part === "." || part === ".."
  return /%5c/i.test(plain) || plain.split(/\/|%2f/i).some(isClimbing)
}

const mountOf = (profile: CallProfile, endpoint: URL): string =>
  profile === "base"
    ? "/api"
    : endpoint.pathname.replace(/\/tools\/call\/?$/, "").replace(/\/$/, "")

/** A path of the base profile has a segment below the mount; one of another profile may be the mount itself. */
const isBelow = (pathname: string, mount: string, profile: CallProfile): boolean =>
  profile === "base"
    ? pathname.startsWith(`${mount}/`) && pathname.length > mount.length + 1
    : mount === "" || pathname === mount || pathname.startsWith(`${mount}/`)

const plain = /^(?:\/(?:[A-Za-z0-9_-]+|\{[A-Za-z_][A-Za-z0-9_-]*\}))+$/

/** Is a path of names and parameters alone, so that nothing can be wrong with it? Most are (bench row `calls`). */
export const isPlainPath = (path: string): boolean => plain.test(path)

/** Why no host can serve a path, whatever fills its parameters; undefined = one can. */
export const pathRefusal = (path: string): TargetRefusal | undefined => {
  if (isPlainPath(path)) return undefined
  const stand_ins = Object.fromEntries(parametersOf(path).map((each) => [each, "x"]))
  const target = targetOf("https://platform.invalid/", { method: "GET", path }, stand_ins, "full")
  return Result.isSuccess(target) ? undefined : target.failure
}

/**
 * The URL of a call, or why it is refused. `endpoint` is the run's callback, whose origin the URL has; `params` fill the
 * `{name}` parts and must be scalars.
 */
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
