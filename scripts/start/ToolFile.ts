/**
 * Tool configurations from a file, for `npm start -- --tools FILE`: one JSON document, checked before anything is opened.
 * Secrets are not in it: it names variables of the environment.
 */
import { readFileSync } from "node:fs"
import { Config, Effect, Option, Result, Schema } from "effect"
import { checkToolConfigs } from "../../layers/compose/options/CheckedOptions.ts"
import type { Resolved } from "../../layers/compose/assembly/ResolvedConfigs.ts"
import type { ToolConfigs } from "../../layers/compose/assembly/ResolvedConfigs.ts"
import { resolveConfigs } from "../../layers/compose/assembly/ResolvedConfigs.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import type { Capability } from "../../src/capability/Capability.ts"
import { readJson } from "../../src/value/BoundedJson.ts"
import { shapeReader } from "../../src/schema/InvalidInput.ts"

/** The variable that holds the value of the header `Authorization`. */
export const authorization_variable = "TROUPE_TOOLS_AUTHORIZATION"

/** The file cannot be used. The message is for whoever named it. */
export class UnusableFile extends Schema.TaggedError<UnusableFile>()("UnusableFile", {
  path: Schema.String,
  reason: Schema.String
}) {
  override get message(): string {
    return `${this.path} cannot be used: ${this.reason.replace(/\.$/, "")}.`
  }
}

const document = {
  /** As in `start({ toolConfigs })`. */
  tools: Schema.Array(Schema.Json),
  operations: Schema.optionalKey(Schema.Array(Schema.Json)),
  /** Where calls go. */
  endpoint: Schema.optionalKey(Schema.String),
  profile: Schema.optionalKey(Schema.String),
  /** What the agent is granted; absent = requests to any public address (`net.fetch`). */
  capabilities: AgentSpec.fields.capabilities,
  identity: Schema.optionalKey(Schema.Json),
  /** `{ path }`: the endpoint of the platform that says what it knows of a call. */
  context: Schema.optionalKey(Schema.Json),
  /** `{ path }`, or revisions by their references. */
  references: Schema.optionalKey(Schema.Json),
  timeout_ms: Schema.optionalKey(Schema.Finite),
  /** Variables of the environment that scripts are given as secrets of the same name. */
  secrets: Schema.optionalKey(
    Schema.Array(Schema.String.check(Schema.isPattern(/^[A-Z_][A-Z0-9_]{0,99}$/))).check(
      Schema.isMaxLength(100)
    )
  )
}
const readDocument = shapeReader(Schema.Struct(document))

const variable = (name: string) => Config.option(Config.Redacted(name))

/** The named variables, all of which must be set. */
const secretsOf = (path: string, names: ReadonlyArray<string>) =>
  Effect.forEach(names, (name) =>
    Effect.flatMap(variable(name), (found) =>
      Option.isSome(found)
        ? Effect.succeed([name, found.value] as const)
        : Effect.fail(new UnusableFile({ path, reason: `the variable ${name} is not set` }))
    )
  )

const parse = (path: string) =>
  Effect.gen(function* () {
    const text = yield* Effect.try({
      try: () => readFileSync(path, "utf8"),
      catch: () => new UnusableFile({ path, reason: "it cannot be read" })
    })
    const json = readJson(text)
    if (Result.isFailure(json)) {
      return yield* new UnusableFile({ path, reason: json.failure.message })
    }
    return yield* readDocument(json.success, "")
  })

/** What `start` is given of such a file. */
const optionsOf = Effect.fnUntraced(function* (path: string) {
  const { capabilities = ["net.fetch"], endpoint, secrets = [], ...given } = yield* parse(path)
  const authorization = yield* variable(authorization_variable)
  const options = {
    ...given,
    ...(endpoint === undefined
      ? undefined
      : {
          callback: {
            endpoint,
            ...(Option.isNone(authorization) ? undefined : { authorization: authorization.value })
          }
        }),
    ...(secrets.length === 0
      ? undefined
      : { secrets: Object.fromEntries(yield* secretsOf(path, secrets)) })
  }
  yield* checkToolConfigs(options)
  return { capabilities, options: options as ToolConfigs }
})

const reasonOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error)

export interface FileTools extends Pick<Resolved, "names" | "tools"> {
  readonly capabilities: ReadonlyArray<Capability>
  /** What `start` is given of the file. */
  readonly options: ToolConfigs
}

/** The tools of a file. Fails with a sentence that names the file and what is wrong in it. */
export const read = (path: string): Effect.Effect<FileTools, UnusableFile> => {
  const unusable = (error: unknown) =>
    error instanceof UnusableFile ? error : new UnusableFile({ path, reason: reasonOf(error) })
  return Effect.flatMap(Effect.mapError(optionsOf(path), unusable), ({ capabilities, options }) =>
    resolveConfigs(options).pipe(
      Effect.map(({ names, tools }) => ({ capabilities, names, options, tools })),
      Effect.mapError(unusable)
    )
  )
}
