/**
 * The environment of the main job: the directory, the port and the database that its variables name. A variable that
 * cannot be used is reported in one sentence that names it, without a user or a password.
 */
import { accessSync, constants, existsSync, mkdirSync, readFileSync, statSync } from "node:fs"
import { randomBytes } from "node:crypto"
import { dirname, join, resolve } from "node:path"
import { Config, Effect, Option, Redacted, Schema } from "effect"
import { Migrator } from "effect/sql"
import type { SqlError } from "effect/sql"
import { isSecretName } from "../../src/error/SecretNames.ts"
import { data_default } from "../chat/ChatCommand.ts"
import type { LogFormat } from "./LogLines.ts"
import * as WholeFile from "./WholeFile.ts"

/** A variable of the environment cannot be used. The message is for whoever set it. */
export class Unusable extends Schema.TaggedError<Unusable>()("Unusable", {
  variable: Schema.String,
  reason: Schema.String
}) {
  override get message(): string {
    return `${this.variable} cannot be used: ${this.reason}.`
  }
}

export const port_default = 7717

/** Reached from this machine alone. */
const host_default = "127.0.0.1"

export interface Settings {
  readonly data: string
  /** The name or address of an interface of this machine; `0.0.0.0` = all. */
  readonly host: string
  /** 0 asks the system for a free one. */
  readonly port: number
  readonly database: Option.Option<Redacted.Redacted>
  /** A model is named without an address or a provider, so it is not used. */
  readonly model_ignored: boolean
}

/** Undefined where the variable is absent or blank. */
const textOf = (name: string): Effect.Effect<string | undefined, Unusable> =>
  Config.option(Config.Redacted(name)).pipe(
    Effect.map((found) =>
      Option.isSome(found) ? Redacted.value(found.value).trim() || undefined : undefined
    ),
    Effect.mapError(() => new Unusable({ variable: name, reason: "it cannot be read" }))
  )

const portOf = (text: string): Effect.Effect<number, Unusable> =>
  /^\d{1,5}$/.test(text) && Number(text) <= 65_535
    ? Effect.succeed(Number(text))
    : Effect.fail(
        new Unusable({
          variable: "TROUPE_PORT",
          reason: "it is not a whole number from 0 to 65535"
        })
      )

const hostOf = (text: string): Effect.Effect<string, Unusable> =>
  /^[\w.:-]{1,253}$/.test(text)
    ? Effect.succeed(text)
    : Effect.fail(
        new Unusable({
          variable: "TROUPE_HOST",
          reason: "it is no name or address of an interface, such as 0.0.0.0"
        })
      )

const levels = { debug: "Debug", info: "Info", warn: "Warn", error: "Error" } as const

export interface LogSettings {
  readonly format: LogFormat
  /** Entries of lower levels are left out. */
  readonly level: (typeof levels)[keyof typeof levels]
}

const oneOf = <Name extends string>(
  variable: string,
  text: string,
  names: ReadonlyArray<Name>
): Effect.Effect<Name, Unusable> => {
  const found = names.find((name) => name === text.toLowerCase())
  return found === undefined
    ? Effect.fail(new Unusable({ variable, reason: `it is none of ${names.join(", ")}` }))
    : Effect.succeed(found)
}

/** Fails with Unusable at the first variable that cannot be used. */
export const readLogSettings: Effect.Effect<LogSettings, Unusable> = Effect.gen(function* () {
  const level = (yield* textOf("TROUPE_LOG_LEVEL")) ?? "info"
  const format = (yield* textOf("TROUPE_LOG_FORMAT")) ?? "logfmt"
  return {
    format: yield* oneOf("TROUPE_LOG_FORMAT", format, ["logfmt", "json"]),
    level: levels[yield* oneOf("TROUPE_LOG_LEVEL", level, ["debug", "info", "warn", "error"])]
  }
})

/** The address for clients on this machine, of a server that listens at this one: of all interfaces the loopback. */
export const reachableUrl = (listens: string): string =>
  listens.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:").replace(/\/$/, "")

const database_shape = "it is not like postgres://user:password@host:5432/database"

const isDecodable = (text: string): boolean => {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

const databaseOf = (text: string): Effect.Effect<Redacted.Redacted, Unusable> => {
  const because = (reason: string) =>
    Effect.fail(new Unusable({ variable: "TROUPE_DATABASE_URL", reason }))
  const url = URL.parse(text)
  if (url === null || !/^postgres(ql)?:$/.test(url.protocol)) return because(database_shape)
  return [url.username, url.password, url.hostname, url.pathname].every(isDecodable)
    ? Effect.succeed(Redacted.make(text))
    : because("it has a % that begins no character of a URL: in a password it is %25")
}

/** Fails with Unusable at the first variable that cannot be used. */
export const readSettings: Effect.Effect<Settings, Unusable> = Effect.gen(function* () {
  const database = yield* textOf("TROUPE_DATABASE_URL")
  return {
    data: (yield* textOf("TROUPE_DATA")) ?? data_default,
    host: yield* hostOf((yield* textOf("TROUPE_HOST")) ?? host_default),
    port: yield* portOf((yield* textOf("TROUPE_PORT")) ?? String(port_default)),
    database: database === undefined ? Option.none() : Option.some(yield* databaseOf(database)),
    model_ignored:
      (yield* textOf("TROUPE_MODEL")) !== undefined &&
      (yield* textOf("TROUPE_MODEL_BASE_URL")) === undefined &&
      (yield* textOf("TROUPE_MODEL_PROVIDER")) === undefined
  }
})

/**
 * Deletes secrets from `process.env` once they were read, so that nothing that is started or loaded later finds them
 * there. What the system shows of the process (`/proc/PID/environ`) does not change.
 */
export const forgetSecrets: Effect.Effect<void> = Effect.sync(() => {
  for (const name of Object.keys(process.env)) {
    if (name === "TROUPE_DATABASE_URL" || isSecretName(name)) delete process.env[name]
  }
})

const reasons: Readonly<Record<string, string>> = {
  EACCES: "this user may not write there",
  EPERM: "this user may not write there",
  EROFS: "its file system is read-only",
  ENOTDIR: "a part of the path is a file",
  EEXIST: "it is a file",
  EISDIR: "its file token is a directory",
  ESHORT: "the token in its file token has fewer than 16 characters",
  ENOSPC: "the disk is full"
}

const reasonOf = (error: unknown): string => {
  const code = error instanceof Error && "code" in error ? String(error.code) : "unknown"
  return reasons[code] ?? `nothing can be made there (${code})`
}

/**
 * Makes what is missing of a path, one directory after the other: `recursive` does not return where the
 * parent exists and nothing can be made in it, as in /proc.
 */
const makeDirectory = (path: string): void => {
  if (!existsSync(path)) {
    makeDirectory(dirname(path))
    mkdirSync(path, { mode: 0o700 })
  }
  if (!statSync(path).isDirectory()) throw Object.assign(new Error(path), { code: "ENOTDIR" })
}

export interface Token {
  readonly token: string
  /** It was made by this start, the only one that prints it. */
  readonly isNew: boolean
  /** The file that holds it. */
  readonly file: string
}

/** The least length of a token that somebody put there, as of every token that a service is given. */
const token_min = 16

/** The token in its file, which only this user may read and the terminal client reads; the server keeps a digest. */
const tokenOf = (data: string): Token => {
  const file = join(data, "token")
  if (existsSync(file)) {
    const token = readFileSync(file, "utf8").trim()
    if (token.length < token_min) throw Object.assign(new Error(), { code: "ESHORT" })
    return { token, isNew: false, file }
  }
  const token = `troupe_${randomBytes(24).toString("base64url")}`
  try {
    // Processes that share this directory, beside one PostgreSQL, may start at once: the first to make the file decides.
    WholeFile.make(file, `${token}\n`, 0o600)
    return { token, isNew: true, file }
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error
    return tokenOf(data)
  }
}

/** Makes the data directory where it is missing, and the token in it. Fails with Unusable where it cannot be written. */
export const prepareDirectory = (data: string): Effect.Effect<Token, Unusable> =>
  Effect.try({
    try: () => {
      makeDirectory(resolve(data))
      accessSync(data, constants.W_OK | constants.X_OK)
      return tokenOf(data)
    },
    catch: (error) => new Unusable({ variable: `TROUPE_DATA (${data})`, reason: reasonOf(error) })
  })

const codeOf = (cause: unknown): string | undefined =>
  cause instanceof Error && "code" in cause && typeof cause.code === "string"
    ? cause.code
    : undefined

/** Why a PostgreSQL server could not be used, with its host, port and database and nothing else of its address. */
export const explainDatabase = (
  database: Redacted.Redacted,
  error: SqlError.SqlError | Migrator.MigrationError
): Unusable => {
  const url = URL.parse(Redacted.value(database))
  const host = url?.hostname || url?.searchParams.get("host") || "localhost"
  const at = `${decodeURIComponent(host)}:${url?.port || 5432}`
  const name = decodeURIComponent(url?.pathname.slice(1) ?? "")
  const because = (reason: string) => new Unusable({ variable: "TROUPE_DATABASE_URL", reason })
  if (error instanceof Migrator.MigrationError) {
    return because(`the database ${name} at ${at}: ${error.message.replace(/\.$/, "")}`)
  }
  const code = codeOf(error.reason.cause)
  const why = (text: string) => because(code === undefined ? text : `${text} (${code})`)
  if (code === "3D000") return why(`the PostgreSQL at ${at} has no database ${name}`)
  switch (error.reason._tag) {
    case "ConnectionError":
      return why(`no PostgreSQL can be reached at ${at}`)
    case "AuthenticationError":
    case "AuthorizationError":
      return why(`the PostgreSQL at ${at} refuses the user, the password or a permission`)
    default:
      return why(`the PostgreSQL at ${at} refuses to work`)
  }
}
