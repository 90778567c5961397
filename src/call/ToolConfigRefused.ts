/**
 * The error of a tool's configuration, or of a catalogue entry, that cannot work. With it, the start of the runtime fails.
 */
import { Schema } from "effect"
import { truncateUnits } from "../value/CutText.ts"

export class ToolConfigRefused extends Schema.TaggedError<ToolConfigRefused>()(
  "ToolConfigRefused",
  {
    reason: Schema.Literals([
      "InvalidToolConfig",
      "InvalidPlatformOp",
      "UnknownPlatformOp",
      "DuplicateTool",
      "MissingCallback",
      "UnsuppliedField",
      "PathConflict",
      "NotOffered",
      "UnknownTool"
    ]),
    /** The tool's name, or its place in the list. */
    tool: Schema.String,
    message: Schema.String
  }
) {}

export const refuseConfig = (
  reason: ToolConfigRefused["reason"],
  tool: string,
  message: string
): ToolConfigRefused =>
  new ToolConfigRefused({ reason, tool, message: `tool "${truncateUnits(tool, 100)}": ${message}` })

/** The error of a configuration that has no name; `place` says where it is. */
export const refusePlace = (
  reason: ToolConfigRefused["reason"],
  place: string,
  message: string
): ToolConfigRefused =>
  new ToolConfigRefused({ reason, tool: place, message: `${place}: ${message}` })
