/** `npm start -- --tools FILE`: an agent with the tools of a file, in the real process, against a real platform. */
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect } from "effect"
import * as HostPlatform from "../calls/host/HostPlatform.ts"
import { seeds } from "../calls/host/Seeds.ts"
import * as ToolFile from "../../scripts/start/ToolFile.ts"
import { bundled } from "./Bundle.ts"
import * as Children from "./Child.ts"
import * as Homes from "./Homes.ts"

const authorization = "ApiKey of the platform"

/** Tools of three types, of which the platform runs one. */
const tools = [
  { type: "platform", op: "query_workflows" },
  {
    type: "code",
    name: "shout",
    description: "Shouts.",
    input_schema: { type: "object", properties: { text: { type: "string" } } },
    script: "export default async ({ text }) => text.toUpperCase() + process.env.LOUDNESS",
    secrets: ["LOUDNESS"],
    permission: "allow"
  },
  { type: "builtin", name: "list_dlq_events" },
  { type: "builtin", name: "http_request" }
]

const fileOf = Effect.fnUntraced(function* (document: unknown) {
  const path = join(yield* Homes.temporary, "tools.json")
  writeFileSync(path, typeof document === "string" ? document : JSON.stringify(document))
  return path
})

const textOf = (data: string, name: string) => readFileSync(join(data, name), "utf8").trim()

/** Sends a message to the agent of the file, and gives what the chat printed until the answer. */
const said = Effect.fnUntraced(function* (data: string, message: string) {
  const env = { TROUPE_URL: textOf(data, "url"), TROUPE_TOKEN: textOf(data, "token") }
  const args = ["--agent", "assistant", "--message", message]
  const child = yield* Children.start("scripts/chat.ts", args, env, bundled)
  const { code } = yield* child.ended
  assert.strictEqual(code, 0, child.text())
  return child.text()
})

it.live(
  "AG-34 AG-61 a file gives an agent of npm start its tools, and the environment their credentials",
  () =>
    Effect.gen(function* () {
      const platform = yield* HostPlatform.start({ authorization, workflows: seeds })
      const path = yield* fileOf({
        endpoint: `${platform.url}/api/tools/call`,
        tools,
        secrets: ["LOUDNESS"]
      })
      const data = join(yield* Homes.temporary, "data")
      const store = yield* Homes.directory
      mkdirSync(data)
      if ("directory" in store) cpSync(store.directory, join(data, "db"), { recursive: true })
      const service = yield* Children.start(
        "scripts/start.ts",
        ["--tools", path],
        {
          TROUPE_MODEL: "",
          TROUPE_MODEL_BASE_URL: "",
          TROUPE_DATABASE_URL: undefined,
          TROUPE_DATA: data,
          TROUPE_PORT: "0",
          TROUPE_TOOLS_AUTHORIZATION: authorization,
          LOUDNESS: "!!!"
        },
        bundled
      )
      yield* service.printed("--agent assistant")
      assert.include(yield* said(data, "query_workflows {}"), "workflows")
      assert.deepStrictEqual(
        platform.requests().map(({ path }) => path),
        ["/api/workflows/query"]
      )
      // The value of a secret is taken out of a result.
      const shouted = yield* said(data, 'shout {"text":"hello"}')
      assert.include(shouted, "HELLO")
      assert.notInclude(shouted, "!!!")
      assert.include(yield* said(data, "list_dlq_events {}"), "list_dlq_events:")
      // It may ask the network, whose own guard refuses this address.
      assert.match(
        yield* said(data, 'http_request {"url":"http://127.0.0.1:1/"}'),
        /port 1 is not among/
      )
      assert.include(yield* said(data, "nothing {}"), "There are: query_workflows, shout")
    }),
  60_000
)

describe("a file of tools that cannot be used", () => {
  const wrong: ReadonlyArray<readonly [why: RegExp, document: unknown]> = [
    [/cannot be used: it is not JSON\.$/, "{ tools: }"],
    [/twice\.$/, '{"tools":[],"tools":[]}'],
    [/capabilities/, { tools: [], capabilities: "net.fetch" }],
    [/capabilities/, { tools: [], capabilities: ["net fetch"] }],
    [/tools/, {}],
    [/tools/, { tools: "query_workflows" }],
    [/token/, { tools: [], token: "a secret in the file" }],
    [/profile/, { tools: [], profile: "wide" }],
    [/endpoint/, { tools: [], endpoint: "file:///etc/passwd" }],
    [/ABSENT is not set/, { tools: [], secrets: ["ABSENT"] }],
    [/secrets/, { tools: [], secrets: ["not a variable"] }],
    [/pause_everything/, { tools: [{ type: "platform", op: "pause_everything" }] }],
    [/query_workflows/, { tools: [tools[0], tools[0]], endpoint: "http://127.0.0.1:1/api/x" }],
    [/nothing_here/, { tools: [{ type: "builtin", name: "nothing_here", also: 1 }] }]
  ]
  for (const [why, document] of wrong) {
    it.live(`says so where it is ${JSON.stringify(document).slice(0, 90)}`, () =>
      Effect.gen(function* () {
        const path = yield* fileOf(document)
        const refused = yield* Effect.flip(ToolFile.read(path)).pipe(
          Effect.provideService(
            ConfigProvider.ConfigProvider,
            ConfigProvider.fromUnknown({ LOUDNESS: "!" })
          )
        )
        assert.strictEqual(refused.path, path)
        assert.match(refused.message, why)
        assert.notInclude(refused.message, "a secret in the file")
      })
    )
  }

  it.effect("names one that is not there", () =>
    Effect.gen(function* () {
      const { message } = yield* Effect.flip(ToolFile.read("/nowhere/tools.json"))
      assert.strictEqual(message, "/nowhere/tools.json cannot be used: it cannot be read.")
    })
  )
})
