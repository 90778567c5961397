/** What a compiler says to a mistake in an application, and how short the types are that an editor shows. */
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import ts from "typescript-5.9"

const root = join(import.meta.dirname, "../..")
const file = join(import.meta.dirname, "written.ts")

const given = `
import { Schema } from "effect"
import { agent, AgentSpec, policyOf, RunLimits } from "troupe"
import { start } from "troupe/embed"
import type { NodeService, Options, Send } from "troupe/embed"
import { scripted } from "troupe/testing"

const context = Schema.Struct({ customer: Schema.String, plan: Schema.optionalKey(Schema.String) })
const shop = agent({ name: "shop", instructions: "Help.", context })
const plain = agent({ name: "plain", instructions: "Help." })
const spec = AgentSpec.make({ name: "spec", instructions: "Help.", limits: RunLimits.make({}) })
const limits = RunLimits.make({})
const policy = policyOf({})
const model = scripted([])
const troupe = await start({ agents: [shop, plain, spec], model })
const answer = await troupe.ask({ agent: "plain", text: "Hi" })
const value = await troupe.ask({ agent: "plain", text: "Hi", answer: Schema.Struct({ n: Schema.Int }) })
`

/** Each is a mistake, and what the compiler has to say of it, in this order and once. */
const mistakes: Readonly<Record<string, RegExp>> = {
  [`troupe.ask({ agent: "shop", text: "Hi" })`]:
    /'context' is missing .* required in type .*customer/,
  [`troupe.send({ agent: "shop", text: "Hi" })`]: /'context' is missing/,
  [`troupe.stream({ agent: "shop", text: "Hi" })`]: /'context' is missing/,
  [`troupe.ask({ agent: shop, text: "Hi" })`]: /'context' is missing/,
  [`troupe.ask({ agent: "shop", text: "Hi", context: {} })`]: /'customer' is missing/,
  [`troupe.ask({ agent: "shop", text: "Hi", context: { customer: 7 } })`]:
    /'number' is not assignable to type 'string'/,
  [`troupe.ask({ agent: "plain", txt: "Hi" })`]: /'txt' does not exist .* mean to write 'text'/,
  [`troupe.ask({ agent: "plain", text: 7 })`]: /'number' is not assignable to type 'string'/,
  [`troupe.ask({ agent: "plain", text: "Hi", answer: "text" })`]:
    /'string' is not assignable to type 'AnySchema/,
  [`troupe.stream({ agent: "plain", txt: "Hi" })`]: /'txt' does not exist/,
  [`troupe.result("run", undefined, { timeout: 1 })`]: /'timeout' does not exist/,
  [`start({ agents: [shop], modl: model })`]: /'modl' does not exist .* mean to write 'model'/,
  [`answer.value`]: /'value' does not exist/
}

/** None of these is a mistake. */
const right = `
export const untyped: NodeService = troupe
export const send = (service: NodeService, message: Send) => service.ask(message)
export const sent = send(troupe, { agent: "shop", text: "Hi" })
export const again = (options: Options) => start(options)
export const n: number | undefined = value.value?.n
export const told = troupe.ask({ agent: "shop", text: "Hi", context: { customer: "1003", of_a_tool: true } })
export const named = (agent: string) => troupe.send({ agent, text: "Hi" })
export const held = troupe.send({ conversation: "c-1", text: "Hi" })
export const bare = [troupe.send({ agent: plain, text: "Hi" }), troupe.send({ agent: "spec", text: "Hi" })]
export const parts = [troupe.stream({ run: "r", answer: context }), troupe.stream({ agent: plain, text: "Hi" })]
`

/** What an editor shows of these names, whole. */
const shown: Readonly<Record<string, string>> = {
  shop: `const shop: DeclaredAgent<Schema.Struct<{\n    readonly customer: Schema.String;\n    readonly plan: Schema.optionalKey<Schema.String>;\n}>, "shop">`,
  plain: `const plain: DeclaredAgent<never, "plain">`,
  spec: "const spec: AgentSpec",
  limits: "const limits: RunLimits",
  policy: "const policy: Policy",
  answer: "const answer: Answer",
  make: "(property) AgentSpec.make: (input: AgentSpecInput, options?: Schema.MakeOptions) => AgentSpec"
}

const lines = Object.keys(mistakes)
const text = `${given}${right}${lines.map((line) => `export const _ = () => ${line}`).join("\n")}`

const service = (): ts.LanguageService => {
  const options: ts.CompilerOptions = {
    noEmit: true,
    strict: true,
    skipLibCheck: true,
    target: ts.ScriptTarget.ES2024,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    allowImportingTsExtensions: true,
    customConditions: ["troupe-source"]
  }
  const read = (path: string) => (path === file ? text : ts.sys.readFile(path))
  return ts.createLanguageService({
    ...ts.sys,
    readFile: read,
    fileExists: (path) => path === file || ts.sys.fileExists(path),
    getCompilationSettings: () => options,
    getCurrentDirectory: () => root,
    getDefaultLibFileName: ts.getDefaultLibFilePath,
    getScriptFileNames: () => [file],
    getScriptSnapshot: (path) => {
      const found = read(path)
      return found === undefined ? undefined : ts.ScriptSnapshot.fromString(found)
    },
    getScriptVersion: () => "1",
    useCaseSensitiveFileNames: () => ts.sys.useCaseSensitiveFileNames
  })
}

describe("an application in an editor", () => {
  const editor = service()

  it("is told each mistake once, with the member's name", () => {
    const first = text.split("\n").length - lines.length
    const said = new Map<string, Array<string>>()
    for (const { messageText, start = 0 } of editor.getSemanticDiagnostics(file)) {
      const at = text.slice(0, start).split("\n").length - 1 - first
      const line = lines[at] ?? `a line that is right: ${text.split("\n")[first + at]}`
      const all = ts.flattenDiagnosticMessageText(messageText, "\n")
      // One name for all lines, which stands for none.
      if (!all.includes("'_'")) said.set(line, [...(said.get(line) ?? []), all])
    }
    assert.deepStrictEqual([...said.keys()], lines)
    for (const [line, all] of said) {
      assert.lengthOf(all, 1, line)
      assert.match(all[0]!, mistakes[line]!)
      assert.notInclude(all[0]!, "No overload", line)
      const parts = all[0]!.split("\n").map((part) => part.trim())
      assert.deepStrictEqual(parts, [...new Set(parts)], line)
    }
  }, 120_000)

  it("is shown types by their names", () => {
    for (const [name, expected] of Object.entries(shown)) {
      const at = name === "make" ? given.indexOf(".make") + 1 : given.indexOf(`const ${name} `) + 6
      const { displayParts } = editor.getQuickInfoAtPosition(file, at)!
      assert.strictEqual(ts.displayPartsToString(displayParts), expected)
    }
  }, 120_000)
})
