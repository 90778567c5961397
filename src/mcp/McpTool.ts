/**
 * Derives a tool of the runtime from one that an MCP server offers: its pinned text, its name and its side effects. What a
 * server says about its own tools is only a claim.
 */
import { Result, Schema } from "effect"
import { cutText, truncateUnits } from "../value/CutText.ts"
import type { Json } from "../value/Canonical.ts"
import { canonical } from "../value/Canonical.ts"
import { sanitiseText, sanitiseTexts } from "../tool/Sanitise.ts"
import type { SideEffects } from "../tool/SideEffects.ts"
import { effectsOfHints } from "../tool/SideEffects.ts"

const JsonObject = Schema.Record(Schema.String, Schema.Json)

/** The greatest canonical text of one definition, in UTF-16 units. */
const definition_chars_max = 65_536

/** The part of a listed tool that is pinned: everything on which a model, a person or a validator relies. */
export const McpDefinition = Schema.Struct({
  name: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(200)),
  title: Schema.optionalKey(Schema.String),
  description: Schema.optionalKey(Schema.String),
  inputSchema: JsonObject.check(
    Schema.makeFilter((schema) => schema["type"] === "object" || "inputSchema.type must be object")
  ),
  outputSchema: Schema.optionalKey(JsonObject),
  annotations: Schema.optionalKey(JsonObject)
})
export interface McpDefinition extends Schema.Schema.Type<typeof McpDefinition> {}

const decode = Schema.decodeUnknownResult(McpDefinition)

/** The pinned part of a listed tool; other members are left out. Fails with the reason why the tool cannot be used. */
export const definitionOf = (listed: unknown): Result.Result<McpDefinition, string> => {
  const decoded = decode(listed)
  if (Result.isFailure(decoded)) return Result.fail(truncateUnits(decoded.failure.message, 300))
  return canonical(decoded.success).length > definition_chars_max
    ? Result.fail(`the definition is larger than ${definition_chars_max} characters`)
    : Result.succeed(decoded.success)
}

/** The text whose SHA-256 is the pin; it does not depend on the order of keys. */
export const pinnedText = (definition: McpDefinition): string => canonical(definition)

/** The name of a listed tool whose definition cannot be decoded. */
export const listedName = (listed: unknown): string => {
  const name =
    typeof listed === "object" && listed !== null && "name" in listed ? listed.name : undefined
  return typeof name === "string" && name !== "" ? truncateUnits(name, 200) : "(without a name)"
}

/** A legal name: each character other than a letter, digit, `_` or `-` becomes `_`, and it is cut to 64 characters. */
export const toolName = (name: string): string =>
  name.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, 64)

const hint = (definition: McpDefinition, name: string): unknown => definition.annotations?.[name]

/**
 * The side effects that a definition's hints claim. A claim of idempotency never causes a lost call to be sent again: only an
 * operator's declaration does.
 */
export const claimedEffects = ({ annotations }: McpDefinition): SideEffects =>
  effectsOfHints(annotations ?? {})

/** Matches characters that a person cannot see: control characters, direction marks, zero-width characters and tags. */
const unseen =
  // oxlint-disable-next-line no-control-regex, no-misleading-character-class -- they are what is taken out here
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu

const description_max = 4_000

/** A text of the server without invisible characters and role markers. */
const prose = (text: string): string => sanitiseText(text.replace(unseen, ""))

/** The sanitised description for a model, at most 4,000 characters. The pin covers the original description. */
export const shownDescription = (definition: McpDefinition): string =>
  cutText(prose(definition.description ?? definition.title ?? ""), description_max)

const proseIn = (value: Json): Json => {
  if (typeof value !== "object" || value === null) return value
  if (Array.isArray(value)) return value.map(proseIn)
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      typeof member === "string" && (name === "description" || name === "title")
        ? prose(member)
        : proseIn(member)
    ])
  )
}

/**
 * The schema for a model: its descriptions and titles are sanitised like the tool's, and every other text and name has no
 * control characters and role markers. Arguments are validated by the original schema, so a property whose name was changed
 * cannot be passed under the changed name.
 */
export const shownSchema = (schema: McpDefinition["inputSchema"]): McpDefinition["inputSchema"] =>
  sanitiseTexts(proseIn(schema)) as McpDefinition["inputSchema"]

/** The text about a call's effect that an approver reads. */
export const effectDescription = (namespace: string, definition: McpDefinition): string => {
  const destroys =
    hint(definition, "readOnlyHint") !== true && hint(definition, "destructiveHint") !== false
  return (
    `Runs "${prose(definition.name)}" on the MCP server "${namespace}". ` +
    (destroys ? "It may overwrite or delete. " : "") +
    `The server describes it so: ${cutText(shownDescription(definition), 500)}`
  )
}
