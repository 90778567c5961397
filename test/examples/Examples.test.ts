import { execFile } from "node:child_process"
import { readFile } from "node:fs/promises"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { assert, describe, it } from "@effect/vitest"

const root = fileURLToPath(new URL("../..", import.meta.url))
const run = promisify(execFile)

describe("the embedding example", () => {
  it("runs as it is printed in the README, and asks before it pays", async () => {
    const example = await readFile(`${root}test/examples/embedding.ts`, "utf8")
    const readme = await readFile(`${root}README.md`, "utf8")
    assert.include(readme, "```ts\n" + example + "```")
    const { stdout } = await run(
      process.execPath,
      ["-C", "troupe-source", "test/examples/embedding.ts"],
      { cwd: root, timeout: 60_000 }
    )
    assert.deepStrictEqual(stdout.trim().split("\n"), [
      'refund order: "1003"',
      `{ _tag: 'Value', json: '"order 1003 is paid back"' }`
    ])
  })
})

describe("the example of a question that outlives its process", () => {
  it("is answered in the next process, as the README prints it", async () => {
    const example = await readFile(`${root}test/examples/approval.ts`, "utf8")
    const readme = await readFile(`${root}README.md`, "utf8")
    const printed = [...readme.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code]) => code!)
    assert.isTrue(
      printed.some((code) => code.startsWith("// The run asks") && example.includes(code))
    )
    const { stdout } = await run(
      process.execPath,
      ["-C", "troupe-source", "test/examples/approval.ts"],
      { cwd: root, timeout: 120_000 }
    )
    assert.deepStrictEqual(stdout.trim().split("\n"), [
      "awaiting_approval",
      'refund order: "1003"',
      "It is paid back."
    ])
  }, 120_000)
})

describe("the example of HTTP over a runtime", () => {
  it("answers a message with a token, as the README prints it", async () => {
    const example = await readFile(`${root}test/examples/http.ts`, "utf8")
    const readme = await readFile(`${root}README.md`, "utf8")
    assert.include(readme, "```ts\n" + example + "```")
    const { stdout } = await run(
      process.execPath,
      ["-C", "troupe-source", "test/examples/http.ts"],
      { cwd: root, timeout: 60_000 }
    )
    assert.strictEqual(stdout.trim(), "202 Good morning.")
  }, 60_000)
})

describe("the example of a tool in one expression", () => {
  it("asks, pays with its key and costs what the prices say, as the README prints it", async () => {
    const example = await readFile(`${root}test/examples/tool.ts`, "utf8")
    const readme = await readFile(`${root}README.md`, "utf8")
    const printed = [...readme.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code]) => code!)
    const parts = printed.filter((code) => example.includes(code))
    assert.isTrue(parts.some((code) => code.startsWith("const refund = tool(")))
    assert.isTrue(parts.some((code) => code.startsWith("  prices: {")))
    const { stdout } = await run(
      process.execPath,
      ["-C", "troupe-source", "test/examples/tool.ts"],
      { cwd: root, timeout: 60_000 }
    )
    assert.include(stdout, `{ _tag: 'Value', json: '{"paid":true}' }`)
    assert.strictEqual(stdout.split("amount: '0.0028'").length, 3)
  })
})

describe("the example of a tool that calls a model", () => {
  it("ST-12 journals what its model cost, as the README prints it", async () => {
    const example = await readFile(`${root}test/examples/spending.ts`, "utf8")
    const readme = await readFile(`${root}README.md`, "utf8")
    const printed = [...readme.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code]) => code!)
    assert.isTrue(printed.some((code) => code.includes("metered(call)") && example.includes(code)))
    const { stdout } = await run(
      process.execPath,
      ["-C", "troupe-source", "test/examples/spending.ts"],
      { cwd: root, timeout: 60_000 }
    )
    assert.match(stdout, /^summarise small /)
    assert.include(stdout, "amount: '0.00094'")
  })
})

describe("the example of a plan of models", () => {
  it("answers from the second model when the first keeps failing", async () => {
    const { stdout } = await run(
      process.execPath,
      ["-C", "troupe-source", "test/examples/models.ts"],
      { cwd: root, timeout: 60_000 }
    )
    assert.strictEqual(stdout.trim(), "It is paid back.")
  })
})

describe("the example of an MCP server", () => {
  it("reads a file through the official server, as one tool of an agent", async () => {
    const { stdout } = await run(
      process.execPath,
      ["-C", "troupe-source", "test/examples/mcp.ts"],
      { cwd: root, timeout: 60_000 }
    )
    assert.include(stdout, "\nToday: buy bread.\n")
    assert.match(stdout, /^files \d+ tools$/m)
  })
})

describe("the example of a graph of tools", () => {
  it("orders what is missing, asked directly and by an agent, as the README prints it", async () => {
    const example = await readFile(`${root}test/examples/graph.ts`, "utf8")
    const readme = await readFile(`${root}README.md`, "utf8")
    const yaml = /```yaml\n([\s\S]*?)```/.exec(readme)?.[1] ?? "no yaml"
    assert.include(example, yaml)
    const { stdout } = await run(
      process.execPath,
      ["-C", "troupe-source", "test/examples/graph.ts"],
      { cwd: root, timeout: 60_000 }
    )
    assert.strictEqual(stdout, "acme-12 for 12 pieces\nTea is on its way.\n")
  })
})

describe("the example of telemetry", () => {
  it("sends a run's traces, metrics and logs to a collector", async () => {
    const { stdout } = await run(
      process.execPath,
      ["-C", "troupe-source", "test/examples/telemetry.ts"],
      { cwd: root, timeout: 60_000 }
    )
    assert.match(stdout, /^complete .*\/v1\/metrics \/v1\/traces/m)
  })
})
