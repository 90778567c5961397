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

/** The entries whose every export and member has a sentence. */
const entries = [
  "troupe",
  "troupe/client",
  "troupe/embed",
  "troupe/feature",
  "troupe/layers",
  "troupe/services"
]

interface Shown {
  /** How many exports and members have a sentence. */
  readonly told: number
  /** Those without one, such as `tool.side_effects`. */
  readonly silent: ReadonlyArray<string>
}

const textOf = (symbol: ts.Symbol, checker: ts.TypeChecker): string =>
  ts.displayPartsToString(symbol.getDocumentationComment(checker)).trim()

/** Is this declared in the package, by a name of its own? A tag and the message that an error composes need no sentence. */
const isOwn = ({ declarations = [], name }: ts.Symbol): boolean =>
  declarations.some((each) => each.getSourceFile().fileName.includes("/node_modules/troupe/")) &&
  !declarations.some((each) => ts.isGetAccessor(each) && name === "message") &&
  !/^(?:_tag|__@.*|prototype)$/.test(name)

/** How deep members without a type of their own name are looked through. */
const depth_max = 3

/** Calls `tell` with each export of a module and each member of what it is, by its path. */
const walk = (
  module: ts.Symbol,
  checker: ts.TypeChecker,
  tell: (path: string, symbol: ts.Symbol) => void
): void => {
  const has = ({ flags }: ts.Symbol, wanted: ts.SymbolFlags) => (flags & wanted) !== 0
  const isUnnamed = (type: ts.Type) =>
    type.aliasSymbol === undefined &&
    type.symbol?.name === "__type" &&
    type.getCallSignatures().length === 0
  const membersOf = (path: string, given: ts.Type, depth = 0): void => {
    const type = checker.getNonNullableType(given)
    if (type.isUnion()) return type.types.forEach((each) => membersOf(path, each, depth))
    if (checker.isArrayLikeType(type)) {
      const item = checker.getIndexTypeOfType(type, ts.IndexKind.Number)
      return item !== undefined && isUnnamed(item) ? membersOf(path, item, depth) : undefined
    }
    if ((type.flags & (ts.TypeFlags.Object | ts.TypeFlags.Intersection)) === 0) return
    for (const member of checker.getPropertiesOfType(type).filter(isOwn)) {
      tell(`${path}.${member.name}`, member)
      const inner = checker.getNonNullableType(checker.getTypeOfSymbol(member))
      for (const each of inner.isUnion() ? inner.types : [inner]) {
        if (depth < depth_max && isUnnamed(each)) {
          membersOf(`${path}.${member.name}`, each, depth + 1)
        }
      }
    }
  }
  const exportsOf = (path: string, of: ts.Symbol): void => {
    for (const given of checker.getExportsOfModule(of)) {
      const found = has(given, ts.SymbolFlags.Alias) ? checker.getAliasedSymbol(given) : given
      const name = `${path}.${given.name}`
      if (has(found, ts.SymbolFlags.ValueModule)) {
        exportsOf(name, found)
        continue
      }
      if (!isOwn(found)) continue
      tell(name, found)
      if (has(found, ts.SymbolFlags.Type)) membersOf(name, checker.getDeclaredTypeOfSymbol(found))
      if (!has(found, ts.SymbolFlags.Value)) continue
      const type = checker.getTypeOfSymbol(found)
      const service = has(found, ts.SymbolFlags.Class) ? type.getProperty("Service") : undefined
      if (service !== undefined) membersOf(name, checker.getTypeOfSymbol(service))
      for (const { parameters } of type.getCallSignatures()) {
        for (const parameter of parameters) {
          const taken = checker.getNonNullableType(checker.getTypeOfSymbol(parameter))
          if (isUnnamed(taken)) membersOf(name, taken)
        }
      }
    }
  }
  exportsOf("", module)
}

/** What the language service shows for each export and member, in a project whose `node_modules` has the package. */
export const shownIn = (project: string): Shown => {
  const file = join(project, "hovers.ts")
  const names = Object.keys(written)
  const types = names.map((name, i) => `export type T${i} = ${written[name]}`)
  const modules = entries.map(
    (name, i) => `import type * as E${i} from "${name}"\nexport { E${i} }`
  )
  const text = [...types, ...modules].join("\n")
  const options: ts.CompilerOptions = {
    noEmit: true,
    strict: true,
    skipLibCheck: true,
    target: ts.ScriptTarget.ES2024,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext
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
  const silent = new Set<string>()
  let told = 0
  const tell = (path: string, symbol: ts.Symbol) => {
    if (textOf(symbol, checker) === "") silent.add(path)
    else told++
  }
  for (const [i, name] of names.entries()) {
    const type = checker.getTypeAtLocation((source.statements[i] as ts.TypeAliasDeclaration).name)
    const found = checker.getPropertiesOfType(type)
    if (found.length === 0) throw new Error(`${name} has no members`)
    for (const member of found) tell(`${name}.${member.name}`, member)
  }
  for (const module of checker.getExportsOfModule(checker.getSymbolAtLocation(source)!)) {
    const at = entries[Number(/^E(\d+)$/.exec(module.name)?.[1])]
    if (at === undefined) continue
    walk(checker.getAliasedSymbol(module), checker, (path, symbol) => tell(at + path, symbol))
  }
  return { told, silent: [...silent] }
}
