/** What an editor shows where somebody writes an application against the installed package. */
import { join } from "node:path"
import ts from "typescript-5.9"

/** The types of what is written by hand: the objects that functions and constructors of the package take. */
const written: Readonly<Record<string, string>> = {
  tool: `Parameters<typeof import("troupe").tool>[0]`,
  "tool.retry": `import("troupe").RetryConfig`,
  "tool.rate_limit": `import("troupe").RateLimit`,
  "tool.circuit": `import("troupe").Circuit`,
  "tool.examples": `import("troupe").ToolExample`,
  agent: `Parameters<typeof import("troupe").agent>[0]`,
  AgentSpec: `Parameters<typeof import("troupe").AgentSpec.make>[0]`,
  "AgentSpec.model_settings": `import("troupe").ModelSettings`,
  "AgentSpec.supervision": `import("troupe").Supervision`,
  RunLimits: `NonNullable<Parameters<typeof import("troupe").RunLimits.make>[0]>`,
  "RunLimits.extend_by": `NonNullable<import("troupe").RunLimits["extend_by"]>`,
  MemorySpec: `NonNullable<Parameters<typeof import("troupe").MemorySpec.make>[0]>`,
  Policy: `NonNullable<Parameters<typeof import("troupe").Policy.make>[0]>`,
  PermissionRule: `import("troupe").PermissionRule`,
  Principal: `ConstructorParameters<typeof import("troupe").Principal>[0]`,
  prices: `import("troupe").PriceTable.PriceTable`,
  start: `import("troupe/embed").Options`,
  "start.store": `Extract<NonNullable<import("troupe/embed").Options["store"]>, { postgres: string }>`,
  "start.http": `NonNullable<import("troupe/embed").Options["http"]>`,
  "start.http.settings": `NonNullable<NonNullable<import("troupe/embed").Options["http"]>["settings"]>`,
  "prices.prices": `import("troupe").PriceTable.PriceTable["prices"][number]`,
  "start.http.tokens": `NonNullable<import("troupe/embed").Options["http"]>["tokens"][number]`,
  "start.mcp": `NonNullable<import("troupe/embed").Options["mcp"]>`,
  "start.mcp.servers, stdio": `import("troupe").Mcp.McpStdioServer`,
  "start.mcp.servers, http": `import("troupe").Mcp.McpHttpServer`,
  "start.toolConfigs": `NonNullable<import("troupe/embed").Options["toolConfigs"]>`,
  "start.telemetry": `Exclude<NonNullable<import("troupe/embed").Options["telemetry"]>, boolean>`,
  send: `Parameters<Awaited<ReturnType<typeof import("troupe/embed").start>>["send"]>[0]`,
  "start.files": `NonNullable<import("troupe/embed").Options["files"]>`,
  "start.events": `NonNullable<import("troupe/embed").Options["events"]>`,
  "start.retention": `NonNullable<import("troupe/embed").Options["retention"]>`,
  startWorker: `Parameters<typeof import("troupe/worker").startWorker>[0]`,
  "startWorker.config": `NonNullable<Parameters<typeof import("troupe/worker").startWorker>[0]["config"]>`
}

interface Shown {
  /** How many members have a sentence. */
  readonly members: number
  /** Those without one, such as `tool.side_effects`. */
  readonly silent: ReadonlyArray<string>
}

/** What the language service shows for each member, in a project whose `node_modules` has the package. */
export const shownIn = (project: string, conditions: ReadonlyArray<string> = []): Shown => {
  const file = join(project, "hovers.ts")
  const names = Object.keys(written)
  const text = names.map((name, i) => `export type T${i} = ${written[name]}`).join("\n")
  const options: ts.CompilerOptions = {
    noEmit: true,
    strict: true,
    skipLibCheck: true,
    target: ts.ScriptTarget.ES2024,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    allowImportingTsExtensions: true,
    customConditions: [...conditions]
  }
  const host = ts.createCompilerHost(options)
  const { fileExists, getSourceFile } = host
  host.fileExists = (path) => path === file || fileExists(path)
  host.getSourceFile = (path, version, ...rest) =>
    path === file
      ? ts.createSourceFile(path, text, version, true)
      : getSourceFile(path, version, ...rest)
  const program = ts.createProgram([file], options, host)
  const checker = program.getTypeChecker()
  const source = program.getSourceFile(file)!
  const [wrong] = program.getSemanticDiagnostics(source)
  if (wrong !== undefined) throw new Error(ts.flattenDiagnosticMessageText(wrong.messageText, "\n"))
  const silent: Array<string> = []
  let members = 0
  for (const [i, statement] of source.statements.entries()) {
    const type = checker.getTypeAtLocation((statement as ts.TypeAliasDeclaration).name)
    const found = checker.getPropertiesOfType(type)
    if (found.length === 0) throw new Error(`${names[i]} has no members`)
    for (const member of found) {
      if (ts.displayPartsToString(member.getDocumentationComment(checker)).trim() === "")
        silent.push(`${names[i]}.${member.name}`)
      else members++
    }
  }
  return { members, silent }
}
