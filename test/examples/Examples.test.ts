/** Every example runs as its README prints it, against the sources as the package. */
import { execFile } from "node:child_process"
import { readdirSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { flags } from "../process/Bundle.ts"
import * as EmptyPglite from "../sql/EmptyPglite.ts"
import { blocksOf, root } from "./Readmes.ts"

const execute = promisify(execFile)

const names = readdirSync(import.meta.dirname).flatMap((file) =>
  /^[a-z]+\.ts$/.test(file) ? [file.slice(0, -3)] : []
)

/**
 * One process runs them one after another, and ends by itself: starting one costs far more than an example does. A line for
 * each, of what it printed and how it failed. The one with a directory finds a database in it: making one takes ten seconds.
 */
const all = (database: string) => `
  import promises from "node:fs/promises"
  import { syncBuiltinESMExports } from "node:module"
  import { format } from "node:util"
  const { cp, mkdtemp } = promises
  promises.mkdtemp = async (prefix) => {
    const path = await mkdtemp(prefix)
    if (prefix.endsWith("troupe-approval-")) await cp(${JSON.stringify(database)}, path, { recursive: true })
    return path
  }
  syncBuiltinESMExports()
  for (const name of ${JSON.stringify(names)}) {
    const lines = []
    console.log = (...args) => lines.push(format(...args) + "\\n")
    const error = await import("./test/examples/" + name + ".ts").then(() => undefined, (error) => error.stack ?? String(error))
    process.stdout.write(JSON.stringify([name, { error, printed: lines.join("") }]) + "\\n")
  }`

interface Ran {
  readonly error?: string
  readonly printed: string
}

let ran: ReadonlyMap<string, Ran>
/** Why the process did not end well: an example that fails may leave something open. */
let failure: Error | undefined

beforeAll(async () => {
  const database = await Effect.runPromise(Effect.scoped(EmptyPglite.template))
  const args = [...flags, "-C", "troupe-source", "--input-type=module", "--eval", all(database)]
  const ended = await execute(process.execPath, args, { cwd: root, timeout: 300_000 }).catch(
    (error: Error & { readonly stdout: string }) => (failure = error) && error
  )
  const lines = ended.stdout.split("\n").filter((line) => line !== "")
  ran = new Map(lines.map((line) => JSON.parse(line) as [string, Ran]))
}, 330_000)

/** What an example prints. */
const outputOf = async (name: string): Promise<string> => {
  const of = ran.get(name)
  if (of === undefined) throw failure ?? new Error(`there is no example ${name}`)
  assert.isUndefined(of.error)
  return of.printed
}

const linesOf = async (name: string) => (await outputOf(name)).trim().split("\n")

/** The blocks of a README that are in an example. */
const printedOf = async (readme: string, name: string, language = "ts") => {
  const example = await readFile(join(root, `test/examples/${name}.ts`), "utf8")
  const blocks = blocksOf(await readFile(join(root, readme), "utf8"), language)
  return { example, blocks: blocks.filter((code) => example.includes(code)) }
}

describe("the examples", () => {
  it("leave nothing open that keeps their process", () => {
    assert.isUndefined(failure)
    assert.deepStrictEqual([...ran.keys()], names)
  })
})

describe("the embedding example", () => {
  it("is printed whole in the README, and asks before it pays", async () => {
    const { blocks, example } = await printedOf("README.md", "embedding")
    assert.deepStrictEqual(blocks, [example])
    assert.isAtMost(example.trim().split("\n").length, 31)
    assert.deepStrictEqual(await linesOf("embedding"), [
      'awaiting_approval refund order: "1003"',
      "It is paid back."
    ])
  }, 60_000)
})

describe("the example of streaming", () => {
  it("is in the README of the room, and prints the text and how the run ended", async () => {
    const { blocks } = await printedOf("layers/compose/README.md", "streaming")
    assert.lengthOf(blocks, 1)
    assert.deepStrictEqual(await linesOf("streaming"), ["It was paid back on Monday.", "complete"])
  })
})

describe("the example of a stream to a client", () => {
  it("is in the README of the room, and gives the client the text of the answer", async () => {
    const { blocks } = await printedOf("layers/compose/README.md", "sse")
    assert.lengthOf(blocks, 1)
    assert.deepStrictEqual(await linesOf("sse"), ["It was paid back on Monday."])
  })
})

describe("the example of answers", () => {
  it("is in the README of the room, and prints the members of the answer", async () => {
    const { blocks } = await printedOf("layers/compose/README.md", "answers")
    assert.lengthOf(blocks, 1)
    assert.deepStrictEqual(await linesOf("answers"), ["1003 true"])
  })
})

describe("the example of a context", () => {
  it("is in the README of the room, and keeps the secret out of the journal", async () => {
    const { blocks } = await printedOf("layers/compose/README.md", "context")
    assert.lengthOf(blocks, 1)
    const turn = "Help a customer of the plan gold. orders, refund"
    assert.deepStrictEqual(await linesOf("context"), [
      turn,
      turn,
      turn,
      "{ customer: '1003', plan: 'gold' } [ 'token' ]",
      '"orders of 1003"',
      '"20 paid back"',
      "complete"
    ])
  })
})

describe("the example of a handoff", () => {
  it("is in the README of the room, and shows who answers", async () => {
    const { blocks } = await printedOf("layers/compose/README.md", "handoff")
    assert.lengthOf(blocks, 1)
    assert.deepStrictEqual(await linesOf("handoff"), [
      "triage hands it over to billing",
      "billing: Invoice 7 is paid.",
      "billing: On Monday."
    ])
  })
})

describe("the example of pictures", () => {
  it("shows the model those of the message and of a result, as the README prints it", async () => {
    assert.lengthOf((await printedOf("layers/compose/README.md", "pictures")).blocks, 1)
    // Both have the same bytes.
    assert.deepStrictEqual(await linesOf("pictures"), ["I see 1 picture"])
  })
})

describe("the example of watching", () => {
  it("decides on the question that it sees and shows the result, as the README prints it", async () => {
    const { blocks } = await printedOf("layers/compose/README.md", "watching")
    assert.isTrue(blocks.some((code) => code.includes("troupe.watch(conversation)")))
    assert.deepStrictEqual(await linesOf("watching"), [
      'refund order: "1003"',
      `{ _tag: 'Value', json: '"order 1003 is paid back"' }`
    ])
  }, 60_000)
})

describe("the example of memory", () => {
  it("tells a conversation what others of its workspace noted and corrected, as the README prints it", async () => {
    const { blocks } = await printedOf("layers/memory/README.md", "memory")
    assert.lengthOf(blocks, 1)
    assert.deepStrictEqual(await linesOf("memory"), [
      "ok",
      "I remember: Olga prefers tea",
      "ok",
      "I remember: Olga prefers coffee"
    ])
  }, 60_000)
})

describe("the examples of Effect and of tests", () => {
  it("decide in a program, by rules and after an hour, as the README prints them", async () => {
    for (const name of ["effects", "virtualtime"]) {
      assert.lengthOf((await printedOf("layers/compose/README.md", name)).blocks, 1)
    }
    assert.deepStrictEqual(await linesOf("effects"), [
      "awaiting_approval",
      `{ _tag: 'Value', json: '"order 1003 is paid back"' }`,
      "It is paid back."
    ])
    assert.deepStrictEqual(await linesOf("virtualtime"), [
      "1 Denied.",
      "awaiting_approval",
      "Nobody answered."
    ])
  })
})

describe("the example of a question that outlives its process", () => {
  it("is answered in the next process, as the README prints it", async () => {
    const { blocks } = await printedOf("layers/compose/README.md", "approval")
    assert.isTrue(blocks.some((code) => code.startsWith("// The run asks")))
    assert.deepStrictEqual(await linesOf("approval"), [
      "awaiting_approval",
      'refund order: "1003"',
      "It is paid back."
    ])
  }, 120_000)
})

describe("the example of a platform's operation", () => {
  it("AG-34 AG-64 sends its one request after the approval, as the README prints it", async () => {
    const { blocks } = await printedOf("layers/calls/README.md", "platform")
    assert.isTrue(blocks.some((code) => code.includes("toolConfigs: {")))
    const body =
      '{"workflow_revision":{"message":"colder","data":{"temperature":0.2},' +
      '"workflow_variant_id":"variant-7","expected_revision_id":"r7"}}'
    assert.deepStrictEqual(await linesOf("platform"), [
      "awaiting_approval",
      `POST /api/workflows/revisions/commit ${body}`,
      "Revision r8 is colder."
    ])
  }, 60_000)
})

describe("the example of a client's tool", () => {
  it("AG-56 waits for its result and goes on with it, as the README prints it", async () => {
    const { blocks } = await printedOf("layers/calls/README.md", "client")
    assert.isTrue(blocks.some((code) => code.includes("answerClientCall(id, {")))
    assert.deepStrictEqual(await linesOf("client"), [
      "awaiting_approval",
      "pick_date { title: 'Dentist' }",
      "You come on 2027-01-08."
    ])
  }, 60_000)
})

describe("the example of an OpenAPI document", () => {
  it("reads at once and refunds after the approval, as the README prints it", async () => {
    const { blocks } = await printedOf("layers/calls/README.md", "openapi")
    assert.isTrue(blocks.some((code) => code.includes("OpenApiImport.operations(document")))
    assert.deepStrictEqual(await linesOf("openapi"), [
      "GET /api/orders?customer=Olga ",
      "awaiting_approval",
      'POST /api/orders/1003/refund {"amount":20,"note":null}',
      "Order 1003 is paid back."
    ])
  }, 60_000)
})

describe("the example of HTTP over a service", () => {
  it("answers on its port and for Web requests, as the README prints it", async () => {
    const { blocks, example } = await printedOf("layers/http/README.md", "serving")
    assert.deepStrictEqual(blocks, [example])
    assert.deepStrictEqual(await linesOf("serving"), ["202", "200"])
  }, 60_000)
})

describe("the examples of the API in a framework", () => {
  it.each(["express", "fastify", "hono", "nextjs"])("take a message in %s", async (name) => {
    assert.deepStrictEqual(await linesOf(name), ["202"])
  })

  it("answer under a path of a router, with links that lead there", async () => {
    assert.deepStrictEqual(await linesOf("router"), ["200", "200"])
  })

  it.each(["express", "hono", "router"])(
    "are printed in the README of the API: %s",
    async (name) => {
      assert.lengthOf((await printedOf("layers/http/README.md", name)).blocks, 1)
    }
  )
})

describe("the example of the API in a router of an Effect program", () => {
  it("answers beside an API of its own, as the README prints it", async () => {
    const { blocks } = await printedOf("layers/http/README.md", "merging")
    assert.lengthOf(blocks, 1)
    assert.deepStrictEqual(await linesOf("merging"), ["3", "shop"])
  })
})

describe("the example of HTTP over a runtime", () => {
  it("is printed whole in the README, and answers a message with a token", async () => {
    const { blocks, example } = await printedOf("layers/http/README.md", "http")
    assert.deepStrictEqual(blocks, [example])
    assert.strictEqual((await outputOf("http")).trim(), "202 Good morning.")
  }, 60_000)
})

describe("the example of a tool in one expression", () => {
  it("asks, pays with its key and costs what the prices say, as the READMEs print it", async () => {
    const declared = await printedOf("src/tool/README.md", "tool")
    assert.isTrue(declared.blocks.some((code) => code.startsWith("const refund = tool(")))
    const priced = await printedOf("src/cost/README.md", "tool")
    assert.isTrue(priced.blocks.some((code) => code.startsWith("  prices: {")))
    const printed = await outputOf("tool")
    assert.include(printed, `{ _tag: 'Value', json: '{"paid":true}' }`)
    assert.strictEqual(printed.split("amount: '0.0028'").length, 3)
  }, 60_000)
})

describe("the example of a tool that calls a model", () => {
  it("ST-12 journals what its model cost, as the README prints it", async () => {
    const { blocks } = await printedOf("src/cost/README.md", "spending")
    assert.isTrue(blocks.some((code) => code.includes("metered(call)")))
    const printed = await outputOf("spending")
    assert.match(printed, /^summarise small /)
    assert.include(printed, "amount: '0.00094'")
  }, 60_000)
})

describe("the example of a policy", () => {
  it("lets a read run, denies a customer's refund and asks for an operator's, as the README prints it", async () => {
    const { blocks } = await printedOf("src/permission/README.md", "policy")
    assert.isTrue(blocks.some((code) => code.startsWith("const policy = policyOf({")))
    assert.deepStrictEqual(await linesOf("policy"), [
      "Value",
      "PERMISSION_DENIED",
      "awaiting_approval"
    ])
  }, 60_000)
})

describe("the example of tools that a provider runs", () => {
  it("offers those that the policy allows, and is what the README prints", async () => {
    const { blocks } = await printedOf("layers/model/README.md", "providertools")
    assert.lengthOf(blocks, 1)
    assert.strictEqual((await outputOf("providertools")).trim(), "web_search, web_fetch, mcp")
  }, 60_000)
})

describe("the example of a plan of models", () => {
  it("answers from the second model when the first keeps failing, as the README prints it", async () => {
    const { blocks } = await printedOf("layers/model/README.md", "models")
    assert.isTrue(blocks.some((code) => code.startsWith("const model = ResilientModelGateway")))
    assert.strictEqual((await outputOf("models")).trim(), "It is paid back.")
  }, 60_000)
})

describe("the example of an MCP server", () => {
  it("reads a file through the official server, as one tool of an agent", async () => {
    const { blocks } = await printedOf("layers/mcp/README.md", "mcp")
    assert.lengthOf(blocks, 1)
    const printed = await outputOf("mcp")
    assert.include(printed, "\nToday: buy bread.\n")
    assert.match(printed, /^files \d+ tools$/m)
  }, 60_000)
})

describe("the example of a graph of tools", () => {
  it("orders what is missing, asked directly and by an agent, as the README prints it", async () => {
    const { blocks } = await printedOf("src/graph/README.md", "graph", "yaml")
    assert.lengthOf(blocks, 1)
    assert.strictEqual(await outputOf("graph"), "acme-12 for 12 pieces\nTea is on its way.\n")
  }, 60_000)
})

describe("the example of telemetry", () => {
  it("sends a run's traces, metrics and logs to a collector", async () => {
    assert.match(await outputOf("telemetry"), /^complete .*\/v1\/metrics \/v1\/traces/m)
  }, 60_000)
})

describe("the example of SemStreams' messages", () => {
  it("asks before a call that needs approval, and runs it once it is approved", async () => {
    const { blocks } = await printedOf("layers/semstreams/README.md", "semstreams")
    assert.lengthOf(blocks, 1)
    assert.strictEqual(
      (await outputOf("semstreams")).trim(),
      `[ true, 'tool.result.call-2', '"order 1003 is paid back"' ]`
    )
  }, 60_000)
})

describe("the examples of channels", () => {
  it("takes an event once and tells who is bound, as the README prints it", async () => {
    const { blocks } = await printedOf("layers/channel/README.md", "events")
    assert.lengthOf(blocks, 2)
    assert.deepStrictEqual(await linesOf("events"), [
      "event~changeset:cs-1 true false",
      "[ 'Answers are too long. Change set cs-1 waits for your review.' ]",
      "{ marked: 1 }"
    ])
  }, 60_000)

  it("serves a channel's own requests, and refuses one that is not signed", async () => {
    const { blocks } = await printedOf("layers/channel/README.md", "channels")
    assert.lengthOf(blocks, 1)
    assert.deepStrictEqual(await linesOf("channels"), ["401 the request is not signed by Slack"])
  }, 60_000)
})

describe("the example of a webhook", () => {
  it("delivers what was written to the outbox, as the README prints it", async () => {
    const { blocks } = await printedOf("layers/channel/README.md", "webhook")
    assert.lengthOf(blocks, 1)
    assert.strictEqual((await outputOf("webhook")).trim(), "[ { total: '310.25' } ]")
  }, 60_000)
})
