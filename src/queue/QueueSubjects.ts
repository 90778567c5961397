/**
 * The subjects of SemStreams' tool calls and their results, and the names of their consumers.
 */

/** The subject of all calls of one tool, given by its plain name or registry key. */
export const executeSubject = (tool: string): string => `tool.execute.${tool}`

/** The subject of the one result of a call. */
export const resultSubject = (call_id: string): string => `tool.result.${call_id}`

const withSuffix = (name: string, suffix: string | undefined): string =>
  suffix === undefined || suffix === "" ? name : `${name}-${suffix}`

/** The name of the consumer of one tool's calls. */
export const consumerNameForTool = (tool: string, suffix?: string): string =>
  withSuffix(`tool-exec-${tool.replaceAll(/[._]/g, "-")}`, suffix)

/** The name of the consumer of a whole subject, which may end in a wildcard. */
export const consumerNameForSubject = (subject: string, suffix?: string): string =>
  withSuffix(
    `agentic-tools-${subject.replaceAll(".", "-").replaceAll(">", "all").replaceAll("*", "any")}`,
    suffix
  )
