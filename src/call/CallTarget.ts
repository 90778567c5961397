/**
 * Where a direct call goes: the platform's own origin, below its mount, and never where a path could talk it to. A
 * descriptor names a path; the host is the run's.
 */
import { Result } from "effect"

/** `seed`: GET and POST below /api/. `extended`: PUT and DELETE too, below the callback's own mount. */
export type CallProfile = "seed" | "extended"

export interface CallPath {
  readonly method: string
  readonly path: string
}

/** Why a target is refused; the first reason that applies. */
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
  seed: new Set(["GET", "POST"]),
  extended: new Set(["GET", "POST", "PUT", "DELETE"])
}

const parameter = /\{([A-Za-z_][A-Za-z0-9_.-]*)\}/g
/** White space, controls, and what a path must not hold: a fragment is cut off by some servers and not by others. */
// oxlint-disable-next-line no-control-regex -- control characters are what is refused
const unsafe = /[\s\\#\u0000-\u001f\u007f]/u

/** What a seed path may be before it is filled. */
const grammar = /^\/api\/[A-Za-z0-9._~!$&'()*+,;=:@/{}-]+(?:\?[^#\s\\]*)?$/

/** `a.b` of an object, by own members only; a member may also have the dotted name itself. */
const valueAt = (params: unknown, name: string): unknown => {
  if (typeof params === "object" && params !== null && Object.hasOwn(params, name)) {
    return (params as Record<string, unknown>)[name]
  }
  let value: unknown = params
  for (const key of name.split(".")) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined
    value = (value as Record<string, unknown>)[key]
  }
  return value
}

interface Filled {
  readonly path: string
  /** The same with a letter for each `%` that a value brought, which is text and hides nothing. */
  readonly probe: string
}

const substituted = (path: string, params: unknown): Result.Result<Filled, TargetRefusal> => {
  let refusal: TargetRefusal | undefined
  const values: Array<string> = []
  const filled = path.replaceAll(parameter, (_, name: string) => {
    const value = valueAt(params, name)
    if (value === undefined || value === null) {
      refusal ??= "path-param-missing"
      return ""
    }
    if (typeof value === "string" || typeof value === "boolean" || Number.isFinite(value)) {
      const text = String(value)
      // A segment that vanishes or climbs makes another path of it.
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
  const probe = path.replaceAll(parameter, () => values[next++]!.replaceAll("%25", "p"))
  return Result.succeed({ path: filled, probe })
}

/** Once or many times encoded: `.` and `..` segments, and separators that hide in a segment. */
const climbs = (path: string): boolean =>
  path.split("/").some((segment) => {
    const plain = segment.replaceAll(/%2e/gi, ".").replaceAll(/%25/g, "%")
    return plain === "." || plain === ".." || /%(?:2e|5c)/i.test(plain)
  })

const mountOf = (profile: CallProfile, endpoint: URL): string =>
  profile === "seed"
    ? "/api"
    : endpoint.pathname.replace(/\/tools\/call\/?$/, "").replace(/\/$/, "")

/** The seed's paths have something behind the mount; the extended ones may name the mount itself. */
const isBelow = (pathname: string, mount: string, profile: CallProfile): boolean =>
  profile === "extended"
    ? mount === "" || pathname === mount || pathname.startsWith(`${mount}/`)
    : pathname.startsWith(`${mount}/`) && pathname.length > mount.length + 1

/**
 * The URL of a call, or why there is none. `endpoint` is the run's callback, whose origin is the only one; `params` fill
 * the `{name}` parts and must be scalars (AG-03 to AG-06, AG-23).
 */
export const targetOf = (
  endpoint: string,
  { method, path }: CallPath,
  params: unknown,
  profile: CallProfile = "seed"
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
  if (profile === "seed" && !grammar.test(path)) return Result.fail("unsafe-path")
  if (climbs(probe.split("?", 1)[0]!)) return Result.fail("unsafe-path")
  return Result.succeed(url)
}
