/**
 * How a model's turn ended, in words that are the same for every provider, and what its provider did by itself meanwhile: tools
 * that it ran (a search, code, a remote MCP server's), and the sources that the text refers to. The agent declares which tools it
 * may run (`provider_tools`); nothing here runs them again.
 */
import { Schema } from "effect"

export const FinishReason = Schema.Literals([
  "stop",
  "tool_calls",
  "length",
  "content_filter",
  "refusal",
  "other"
])
export type FinishReason = typeof FinishReason.Type

/** The most that is kept of one turn; what is beyond is counted. */
export const ran_max = 200
export const sources_max = 200
/** Arguments and a result of a tool that a provider ran, in UTF-16 units each: the beginning is kept. */
export const ran_units_max = 4_000
/** A title, an address or a name, in UTF-16 units. */
export const source_units_max = 2_000

/** A tool that the provider ran. Texts are JSON, each at most 4,000 units of it: `*_units` says how long it was. */
export class ProviderRan extends Schema.Opaque<ProviderRan>()(
  Schema.Struct({
    id: Schema.String,
    name: Schema.String,
    /** The MCP server whose tool it is, by the name that the agent gave it. */
    server: Schema.optionalKey(Schema.String),
    arguments: Schema.String,
    arguments_units: Schema.Int,
    /** Absent = the provider showed none. */
    result: Schema.optionalKey(Schema.String),
    result_units: Schema.optionalKey(Schema.Int),
    /** The provider says that it failed. */
    failed: Schema.optionalKey(Schema.Literal(true))
  })
) {}

/** What a text refers to: a page by its address, or a document by its name. */
export class Source extends Schema.Opaque<Source>()(
  Schema.Struct({
    url: Schema.optionalKey(Schema.String),
    title: Schema.optionalKey(Schema.String),
    /** The name of a file, or the type of a document without one. */
    document: Schema.optionalKey(Schema.String)
  })
) {}
