/**
 * Maps a failed path to one of the four errors of a tool.
 */
import {
  ToolPolicyError,
  ToolTerminalError,
  ToolTransientError,
  ToolUserError
} from "../../src/error/ToolError.ts"
import type { ToolError } from "../../src/error/ToolError.ts"
import type { PathError } from "./RootedDirectory.ts"

export const errorOf = ({ message, reason }: PathError): ToolError => {
  const code = `PATH_${reason.toUpperCase()}`
  switch (reason) {
    case "not_found":
      return new ToolUserError({ kind: "not_found", reason: code, message })
    case "link":
    case "denied":
      return new ToolPolicyError({ kind: "permission", reason: code, message })
    case "path":
    case "not_file":
    case "not_directory":
    case "exists":
      return new ToolUserError({ kind: "invalid_args", reason: code, message })
    case "no_space":
      return new ToolTransientError({ kind: "external", reason: code, message })
    case "failed":
      return new ToolTerminalError({ kind: "external", reason: code, message })
  }
}
