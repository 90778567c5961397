/**
 * The error of an OpenAPI document, or of one of its operations, that cannot become a catalogue entry. With it, the import fails.
 */
import { Schema } from "effect"
import { truncateUnits } from "../value/CutText.ts"

export class OpenApiRefused extends Schema.TaggedError<OpenApiRefused>()("OpenApiRefused", {
  reason: Schema.Literals([
    /** Neither JSON nor YAML, or not OpenAPI 3.0 or 3.1. */
    "NotOpenApi",
    /** The official schema of OpenAPI refuses the chosen operations. */
    "InvalidDocument",
    "TooLarge",
    "InvalidChoice",
    "UnknownOperation",
    /** The document has an operation's id twice, or two entries would have one name. */
    "DuplicateOperation",
    "UnsupportedMethod",
    /** An operation's own server is at another origin than the document's first. */
    "UnsupportedServer",
    "UnsupportedParameter",
    "UnsupportedBody",
    "UnsupportedSchema",
    "ExternalReference",
    "UnknownReference",
    "CircularReference",
    /** The parser is not installed. */
    "MissingPackage"
  ]),
  /** The operation's id, or `document`. */
  operation: Schema.String,
  message: Schema.String
}) {}

export const refuseOpenApi = (
  reason: OpenApiRefused["reason"],
  operation: string,
  message: string
): OpenApiRefused =>
  new OpenApiRefused({
    reason,
    operation: truncateUnits(operation, 200),
    message:
      operation === "document"
        ? `the OpenAPI document: ${message}`
        : `operation "${truncateUnits(operation, 100)}": ${message}`
  })
