/**
 * What people may know of the options of a start. Only what is listed here is looked at, and of that only numbers, switches and a few
 * words: a key can be neither.
 */
import type { StartSetting } from "../../../services/StartSettings.ts"
import { isSecretName } from "../../../src/error/SecretNames.ts"
import { isObject, isPlainObject } from "../../../src/value/PlainObject.ts"

/** Options that are objects of numbers and switches, or one of them. */
const sections = [
  "retention",
  "files",
  "events",
  "observe",
  "webhooks",
  "drain_ms",
  "in_flight_bytes_max",
  "store"
] as const

/** The options that are looked at. */
export type ShownOptions = { readonly [K in (typeof sections)[number]]?: unknown } & {
  readonly telemetry?: unknown
}

/** How deep the objects of options are. */
const depth_max = 2

const settingsIn = (name: string, value: unknown, depth = 0): ReadonlyArray<StartSetting> => {
  if (typeof value === "boolean" || (typeof value === "number" && Number.isFinite(value))) {
    return [{ name, value }]
  }
  if (!isObject(value) || !isPlainObject(value) || depth >= depth_max) return []
  return Object.entries(value).flatMap(([member, each]) =>
    isSecretName(member, each as never) ? [] : settingsIn(`${name}.${member}`, each, depth + 1)
  )
}

const storeName = (store: unknown): string => {
  if (!isObject(store)) return "memory"
  return "directory" in store ? "directory" : "PostgreSQL"
}

/** The settings in force, by their names. `http`: those of the HTTP API, if there is one. */
export const shownSettings = (
  options: ShownOptions,
  http: { readonly settings: object; readonly console?: unknown } | undefined
): ReadonlyArray<StartSetting> =>
  [
    ...sections.flatMap((name) => settingsIn(name, options[name])),
    ...settingsIn("http", http === undefined ? false : { ...http.settings }),
    { name: "http.console", value: http?.console !== undefined },
    { name: "store", value: storeName(options.store) },
    { name: "telemetry", value: options.telemetry !== undefined && options.telemetry !== false },
    ...(isObject(options.retention)
      ? [{ name: "retention.archive", value: "archive" in options.retention }]
      : [{ name: "retention", value: "for ever" }])
  ].sort((a, b) => (a.name < b.name ? -1 : 1))
