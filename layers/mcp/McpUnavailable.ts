/**
 * The errors that say why tools of MCP servers are missing. They are separate from the code that uses the official client, so
 * that the types of a start can be used where that package is not installed.
 */
import { Schema } from "effect"

/** The server could not be started, reached or understood. The message names the fix if there is one. */
export class McpServerUnavailable extends Schema.TaggedError<McpServerUnavailable>()(
  "McpServerUnavailable",
  {
    /** The namespace of the server. */
    server: Schema.String,
    /** What went wrong, and the cure if there is one. */
    message: Schema.String
  }
) {}

/** `@modelcontextprotocol/client` is not installed, or is of an unsupported version. */
export class McpClientMissing extends Schema.TaggedError<McpClientMissing>()("McpClientMissing", {
  /** The command that installs it, or the versions that fit. */
  message: Schema.String
}) {}
