/**
 * Checks the options of an HTTP server before it listens: an option that does not fit its type fails with `InvalidInput`
 * and its field.
 */
import { Effect, Schema } from "effect"
import * as Entries from "../../src/entry/Entries.ts"
import { InvalidInput, shapeReader } from "../../src/entry/InvalidInput.ts"
import { AgentName } from "../../src/Ids.ts"
import type { Credential } from "../ephemeral/EphemeralCredentials.ts"
import { HttpSettings } from "../http/HttpSettings.ts"
import type { Listen } from "../http/NodeServer.ts"
import { between, given, int32_max, objectOf, optionalBetween, text } from "./OptionShapes.ts"
import type { Options } from "./Server.ts"

const listen = {
  host: Schema.optional(text),
  port: between(0, 65_535),
  stall_ms: Schema.optional(between(1, int32_max)),
  request_ms: Schema.optional(between(1, int32_max))
} satisfies Record<keyof Listen, unknown>

const sha256 = Schema.String.check(Schema.isPattern(/^[0-9a-f]{64}$/i))

const credential = {
  sha256,
  principal: objectOf("a Principal")
} satisfies Record<keyof Credential, unknown>

const count = optionalBetween(1, int32_max)

const settings = {
  body_bytes_max: count,
  streams_max: count,
  streams_tenant_max: count,
  streams_principal_max: count,
  unread_units_max: count,
  messages_principal_per_minute: count,
  messages_tenant_per_minute: count,
  requests_principal_per_minute: count,
  requests_tenant_per_minute: count,
  heartbeat_ms: count,
  hosts: Schema.optionalKey(Schema.Array(text)),
  metrics_open: Schema.optionalKey(Schema.Boolean),
  customer_agents: Schema.optionalKey(Schema.Array(AgentName).check(Schema.isMaxLength(1_000)))
} satisfies Record<keyof HttpSettings, unknown>

const fields = {
  listen: Schema.Struct(listen),
  credentials: Schema.Array(Schema.Struct(credential)).check(Schema.isMaxLength(100_000)),
  settings: Schema.optionalKey(objectOf("an object"))
} satisfies Record<keyof Options, unknown>

const read = shapeReader(Schema.Struct(fields))
const readSettings = shapeReader(Schema.Struct(settings))

/** Each with its digest in lower case. Two with the same digest would be one token of two people. */
const checkCredentials = Effect.fnUntraced(function* (
  all: ReadonlyArray<{ readonly sha256: string; readonly principal: unknown }>
) {
  const digests = new Set<string>()
  return yield* Effect.forEach(
    all,
    Effect.fnUntraced(function* ({ principal, sha256: given }, index) {
      const digest = given.toLowerCase()
      const field = `credentials.${index}`
      if (digests.has(digest)) {
        const message = "another credential has this digest"
        return yield* new InvalidInput({ field: `${field}.sha256`, message })
      }
      digests.add(digest)
      return {
        sha256: digest,
        principal: yield* Entries.principal(principal, `${field}.principal`)
      }
    })
  )
})

/** The options, with the settings that are there beneath them. Fails with the first option that is wrong. */
export const checkServerOptions = Effect.fnUntraced(function* (options: Options) {
  const { credentials, listen, settings = {} } = yield* read(given(options), "")
  const own = yield* readSettings(given(settings), "settings")
  const chosen: HttpSettings = { ...(yield* HttpSettings), ...own }
  return { listen, credentials: yield* checkCredentials(credentials), settings: chosen }
})
