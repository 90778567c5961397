/**
 * Each provider over real HTTP: what comes off its wire, in pieces or whole, is one turn, and goes back as it came, to
 * the same model and to no other.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Schema } from "effect"
import { toPrompt } from "../../layers/model/wire/ProviderPrompt.ts"
import { loadPeer } from "../../layers/model/providers/LoadPeer.ts"
import { ModelSettings } from "../../src/agent/ModelSettings.ts"
import type { ModelRequest } from "../../services/ModelGateway.ts"
import { CallId } from "../../src/value/Ids.ts"
import { RunEvent } from "../../src/run/RunEvent.ts"
import type { Outcome } from "../../src/run/RunEvent.ts"
import { serve, status } from "./ChatServer.ts"
import { key } from "./Gateway.ts"
import { packagedWires } from "./PackagedTurns.ts"
import { answered, askAt, bytesOf, pieces } from "./Wires.ts"
import { anthropic, compatible, google, labelOf, openai, responses, wires } from "./WireTurns.ts"
import type { Wire } from "./WireTurns.ts"

const tools = ["list", "look"].map((name) => ({
  name,
  description: `${name}s.`,
  input_schema: { type: "object", properties: { limit: { type: "number" } } }
}))

/** The body that the provider gets for this request. */
const sentFor = (wire: Wire, over: Partial<ModelRequest>) =>
  Effect.gen(function* () {
    const server = yield* serve([pieces(bytesOf(wire), [4096])])
    yield* askAt(wire, server, { over: { tools, ...over } })
    return server.asked[0]!
  }).pipe(Effect.scoped)

const settings = (made: ModelSettings): Partial<ModelRequest> => ({
  settings: ModelSettings.make(made)
})

/** Sizes of pieces: whole, one byte, odd ones, and mixtures. */
const cuts = [[1_000_000], [1], [7], [4096], [3, 1, 64], [13, 2, 200, 5]]
/** Those of a package share their readers with the others, but for Amazon's frames. */
const cutsOf = ({ frames, named }: Wire) =>
  named === undefined || frames === true ? cuts : [[1_000_000], [7]]

for (const wire of [...wires, ...packagedWires]) {
  describe(`Providers: ${labelOf(wire)}`, () => {
    it.live("a turn is the same from a whole answer and from a stream in any pieces", () =>
      Effect.gen(function* () {
        const server = yield* serve([
          ...cutsOf(wire).map((sizes) => pieces(bytesOf(wire), sizes)),
          status(200, wire.whole)
        ])
        for (const sizes of cutsOf(wire)) {
          const { deltas, turn } = yield* askAt(wire, server)
          assert.deepStrictEqual(turn, wire.turn, `in pieces of ${sizes.join(", ")}`)
          const said = deltas.filter(({ kind }) => kind === "text")
          assert.strictEqual(said.map(({ text }) => text).join(""), wire.turn.text)
        }
        const { pathname } = new URL(server.asked[0]!.path, server.base_url)
        assert.strictEqual(decodeURIComponent(pathname), wire.path)
        if (wire.frames === true) return
        const whole = yield* askAt(wire, server, { env: { TROUPE_MODEL_STREAM: "off" } })
        assert.deepStrictEqual(whole.turn, wire.turn)
        if (wire.named === undefined) {
          assert.notStrictEqual(server.asked.at(-1)!.body["stream"], true)
        }
      }).pipe(Effect.scoped)
    )

    it.live("a turn goes back to its model in the order and form in which it came", () =>
      Effect.gen(function* () {
        const { body: sent } = yield* sentFor(wire, { transcript: answered(wire.turn), step: 2 })
        assert.deepStrictEqual(wire.sentBack(sent), wire.expected)
      })
    )

    it.live(
      "text that is not well-formed, in whatever place, is sent so that a strict provider takes it",
      () =>
        Effect.gen(function* () {
          const half = "\ud83d"
          const args = { [`n${half}`]: [`v${half}`] }
          const call = CallId.make("0/1.0")
          const model_id = "call_a"
          const asks = { model_id, name: "list", arguments: args }
          const results: ReadonlyArray<Outcome> = [
            { _tag: "Value", json: JSON.stringify({ said: `a${half}` }) },
            {
              _tag: "Failed",
              error: { class: "ToolUserError", kind: "not_found", message: `no${half}` }
            }
          ]
          for (const outcome of results) {
            const { body: sent } = yield* sentFor(wire, {
              system: `Sell.${half}`,
              tools: [{ name: "list", description: `lists${half}`, input_schema: { title: half } }],
              history: [{ role: "user", text: `before${half}` }],
              transcript: [
                { role: "assistant", text: `said${half}`, calls: [] },
                { role: "user", text: half + "go" },
                { role: "assistant", text: "", calls: [asks] },
                { role: "tool", call, model_id, name: "list", outcome }
              ]
            })
            assert.include(JSON.stringify(sent), "before\ufffd")
          }
        })
    )

    it.live("text of a model that ends in the middle of a character is whole in its turn", () =>
      Effect.gen(function* () {
        const cut = (value: object) =>
          JSON.parse(JSON.stringify(value).replaceAll("ü😀.", "\\ud83d")) as object
        const server = yield* serve([pieces(bytesOf(wire, wire.streamed.map(cut)), [4096])])
        const { turn } = yield* askAt(wire, server)
        assert.include(turn.text, "\ufffd")
        assert.isTrue(JSON.stringify(turn).isWellFormed())
        assert.notInclude(JSON.stringify(turn), "\\ud83d")
      }).pipe(Effect.scoped)
    )

    it.live(
      "another model gets the texts and calls of a turn, and none of the first provider's data",
      () =>
        Effect.gen(function* () {
          const foreign = { ...wire.turn, origin: "another:model" }
          const { body: sent } = yield* sentFor(wire, { transcript: answered(foreign), step: 2 })
          const text = JSON.stringify(sent)
          // Cohere's client leaves it out of a message with calls.
          if (wire.path !== "/v2/chat") assert.include(text, wire.turn.text)
          assert.include(text, '"look"')
          for (const secret of wire.secret) assert.notInclude(text, secret)
        })
    )

    it.live("a turn is equal after its encoding for the journal", () =>
      Effect.gen(function* () {
        const event = { _tag: "ModelTurned", frame: "0", step: 1, ...wire.turn }
        const codec = Schema.fromJsonString(RunEvent)
        const decoded = yield* Schema.decodeEffect(codec)(JSON.stringify(event))
        assert.deepStrictEqual({ ...decoded } as unknown, event)
      })
    )

    it.live("the key is in the provider's header only, which is absent without a key", () =>
      Effect.gen(function* () {
        const server = yield* serve([pieces(bytesOf(wire), [4096])])
        yield* askAt(wire, server)
        const asked = server.asked[0]!
        assert.notInclude(JSON.stringify([asked.path, asked.body]), key)
        // Those that are named need a key.
        if (wire.named !== undefined) return
        yield* askAt(wire, server, { env: { TROUPE_MODEL_API_KEY: "" } })
        const [keyed, keyless] = server.asked
        const values = Object.values(keyed!.headers).filter((value) => value?.includes(key))
        assert.strictEqual(values.length, 1)
        assert.notInclude(keyed!.path, key)
        for (const name of ["authorization", "x-api-key", "x-goog-api-key"]) {
          assert.isUndefined(keyless!.headers[name], name)
        }
      }).pipe(Effect.scoped)
    )
  })
}

describe("Providers: an agent's settings for its model", () => {
  it.live("bounds and temperature are in each provider's own members", () =>
    Effect.gen(function* () {
      const over = settings({ max_output_tokens: 77, temperature: 0.5 })
      for (const wire of [openai, compatible]) {
        const { body: sent } = yield* sentFor(wire, over)
        assert.strictEqual(sent["max_tokens"], 77)
        assert.strictEqual(sent["temperature"], 0.5)
      }
      assert.strictEqual((yield* sentFor(responses, over)).body["max_output_tokens"], 77)
      assert.strictEqual((yield* sentFor(anthropic, over)).body["max_tokens"], 77)
      const { generationConfig } = (yield* sentFor(google, over)).body as {
        generationConfig: Record<string, unknown>
      }
      assert.strictEqual(generationConfig["maxOutputTokens"], 77)
      assert.strictEqual(generationConfig["temperature"], 0.5)
    })
  )

  it.live("the effort of reasoning is sent, whatever the model's name", () =>
    Effect.gen(function* () {
      const over = settings({ reasoning_effort: "high" })
      const { body: asked } = yield* sentFor(responses, over)
      assert.strictEqual((asked["reasoning"] as { effort: string }).effort, "high")
      assert.deepStrictEqual(asked["include"], ["reasoning.encrypted_content"])
      assert.strictEqual(asked["store"], false)
      for (const wire of [openai, compatible]) {
        assert.strictEqual((yield* sentFor(wire, over)).body["reasoning_effort"], "high")
      }
      // An agent's own option overrides it.
      const provider_options = { openai: { forceReasoning: false } }
      const other = yield* sentFor(
        responses,
        settings({ reasoning_effort: "high", provider_options })
      )
      assert.notProperty(other.body, "reasoning")
      const none = yield* sentFor(responses, settings({ reasoning_effort: "none" }))
      assert.notProperty(none.body, "reasoning")
    })
  )

  it.live(
    "the choice of tools is the agent's, and a choice for the first turn is for that turn only",
    () =>
      Effect.gen(function* () {
        const choiceOf = (made: ModelSettings, step = 1) =>
          Effect.map(
            sentFor(openai, { ...settings(made), step }),
            ({ body }) => body["tool_choice"]
          )
        assert.strictEqual(yield* choiceOf({}), "auto")
        assert.strictEqual(yield* choiceOf({ tool_choice: "none" }), "none")
        assert.strictEqual(yield* choiceOf({ tool_choice: "required" }, 9), "required")
        assert.strictEqual(yield* choiceOf({ tool_choice: "required_first" }), "required")
        assert.strictEqual(yield* choiceOf({ tool_choice: "required_first" }, 2), "auto")
        assert.deepStrictEqual(yield* choiceOf({ tool_choice: { tool: "look" } }), {
          type: "function",
          function: { name: "look" }
        })
        assert.strictEqual(yield* choiceOf({ tool_choice: { tool: "look" } }, 2), "auto")
        const answering = yield* sentFor(openai, {
          ...settings({ tool_choice: "required" }),
          tools: []
        })
        assert.isUndefined(answering.body["tool_choice"])
      })
  )

  it.live("a turn without tools lists the earlier tools for Anthropic, and forbids their use", () =>
    Effect.gen(function* () {
      const over = { tools: [], step: 2 }
      const past = { ...over, transcript: answered(anthropic.turn) }
      const { body: sent } = yield* sentFor(anthropic, past)
      const names = (sent["tools"] as ReadonlyArray<{ name: string }>).map(({ name }) => name)
      assert.deepStrictEqual(names, ["list", "look"])
      assert.deepStrictEqual(sent["tool_choice"], { type: "none" })
      assert.isUndefined((yield* sentFor(anthropic, over)).body["tools"])
      const openaiPast = { ...over, transcript: answered(openai.turn) }
      assert.isUndefined((yield* sentFor(openai, openaiPast)).body["tools"])
    })
  )

  it.live(
    "a choice of a tool that the agent does not have is a configuration error that names it",
    () =>
      Effect.gen(function* () {
        const failure = yield* Effect.flip(
          sentFor(openai, settings({ tool_choice: { tool: "delete" } }))
        )
        assert.strictEqual(failure.kind, "configuration")
        assert.include(failure.message, "model_settings.tool_choice of agent operations")
      })
  )

  it.live("a JSON schema for the answer is sent in each provider's form", () =>
    Effect.gen(function* () {
      const schema = {
        type: "object",
        properties: { city: { type: "string" } },
        required: ["city"],
        additionalProperties: false
      }
      const over = settings({ output: { schema, name: "place" } })
      for (const wire of [openai, compatible]) {
        const { body: sent } = yield* sentFor(wire, { ...over, tools: [] })
        const format = sent["response_format"] as { type: string; json_schema: { schema: object } }
        assert.strictEqual(format.type, "json_schema")
        assert.deepInclude(format.json_schema.schema, schema)
      }
      for (const wire of [anthropic, google, responses]) {
        const { body: sent } = yield* sentFor(wire, { ...over, tools: [] })
        assert.include(JSON.stringify(sent), '"city"')
      }
    })
  )

  it.live(
    "the schema of a message's answer goes before that of the settings, and is strict where it can be",
    () =>
      Effect.gen(function* () {
        const city = { type: "object", properties: { city: { type: "string" } } }
        const answer_schema = { ...city, required: ["city"], additionalProperties: false }
        const own = settings({ output: { schema: { type: "object" }, name: "place" } })
        for (const wire of [openai, compatible]) {
          const asked = { ...own, tools: [] }
          const strict = yield* sentFor(wire, { ...asked, answer_schema })
          const format = strict.body["response_format"] as { json_schema: object }
          assert.deepInclude(format.json_schema, { name: "answer", strict: true })
          const loose = yield* sentFor(wire, { ...asked, answer_schema: city })
          const other = loose.body["response_format"] as { json_schema: object }
          assert.deepInclude(other.json_schema, { name: "answer", strict: false })
        }
        for (const wire of [anthropic, google, responses]) {
          const { body: sent } = yield* sentFor(wire, { answer_schema })
          assert.include(JSON.stringify(sent), '"city"')
        }
        const said = yield* sentFor(openai, {
          ...settings({ provider_options: { openai: { strictJsonSchema: true } } }),
          answer_schema: city
        })
        const format = said.body["response_format"] as { json_schema: object }
        assert.deepInclude(format.json_schema, { strict: true })
      })
  )

  it.live(
    "Anthropic is told to keep instructions and tools, unless the agent's settings say no",
    () =>
      Effect.gen(function* () {
        const kept = { type: "ephemeral" }
        const { body: sent } = yield* sentFor(anthropic, { system: "Sell." })
        assert.deepStrictEqual(sent["system"], [
          { type: "text", text: "Sell.", cache_control: kept }
        ])
        const marks = (body: Record<string, unknown>) =>
          (body["tools"] as ReadonlyArray<{ cache_control?: object }>).map(
            (tool) => tool.cache_control
          )
        assert.deepStrictEqual(marks(sent), [undefined, kept])
        const bare = yield* sentFor(anthropic, { system: "Sell.", tools: [] })
        assert.include(JSON.stringify(bare.body), "cache_control")
        const off = yield* sentFor(anthropic, {
          ...settings({ prompt_cache: false }),
          system: "Sell."
        })
        assert.notInclude(JSON.stringify(off.body), "cache_control")
        for (const wire of [openai, compatible, google, responses]) {
          const other = yield* sentFor(wire, { system: "Sell." })
          assert.notMatch(JSON.stringify(other.body), /cache_?control/i)
        }
      })
  )

  it.live("options of one provider are sent to it, and override those of the gateway", () =>
    Effect.gen(function* () {
      const provider_options = {
        openai: { store: true, user: "u-1" },
        anthropic: { thinking: { type: "enabled", budgetTokens: 2048 } },
        google: { thinkingConfig: { includeThoughts: true } }
      }
      assert.strictEqual((yield* sentFor(responses, {})).body["store"], false)
      const over = settings({ provider_options })
      const sent = (yield* sentFor(responses, over)).body
      assert.deepStrictEqual([sent["store"], sent["user"]], [true, "u-1"])
      assert.deepInclude((yield* sentFor(anthropic, over)).body["thinking"] as object, {
        type: "enabled",
        budget_tokens: 2048
      })
      const { generationConfig } = (yield* sentFor(google, over)).body as {
        generationConfig: Record<string, unknown>
      }
      assert.deepStrictEqual(generationConfig["thinkingConfig"], { includeThoughts: true })
    })
  )

  it("unknown settings and options beyond their bound are refused by name", () => {
    const decode = Schema.decodeUnknownExit(ModelSettings)
    for (const bad of [
      { temperature: 3 },
      { max_output_tokens: 0 },
      { reasoning_effort: "enormous" },
      { tool_choice: { tool: "" } },
      { output: { schema: {}, name: "no spaces" } },
      { provider_options: { openai: { text: "x".repeat(65_537) } } }
    ]) {
      const exit = decode(bad)
      assert.isTrue(Exit.isFailure(exit))
      assert.include(String(exit), Object.keys(bad)[0]!)
    }
  })
})

describe("Providers: their packages", () => {
  it.live(
    "a package that is not installed is a configuration error with the command to install it",
    () =>
      Effect.gen(function* () {
        const name = "@ai-sdk/not-installed"
        const failure = yield* Effect.flip(loadPeer(name, () => import(name)))
        assert.strictEqual(failure.kind, "configuration")
        assert.strictEqual(
          failure.message,
          "the package @ai-sdk/not-installed is not installed: npm install @ai-sdk/not-installed"
        )
      })
  )

  it.live(
    "a package that is installed and cannot be loaded has another error than an absent one",
    () =>
      Effect.gen(function* () {
        const failure = yield* Effect.flip(
          loadPeer(
            "@ai-sdk/broken",
            () => import("data:text/javascript,throw new Error('secret')" as string)
          )
        )
        assert.strictEqual(failure.kind, "configuration")
        assert.include(failure.message, "cannot be loaded")
        assert.notInclude(failure.message, "secret")
      })
  )
})

describe("ProviderPrompt: turns with parts", () => {
  it("an answer with nothing but reasoning is left out, because providers refuse it", () => {
    const messages = toPrompt({
      system: "",
      history: [],
      transcript: [
        { role: "user", text: "go" },
        { role: "assistant", text: "", calls: [], reasoning: [{ text: "hm" }] },
        { role: "user", text: "again" }
      ]
    })
    assert.deepStrictEqual(
      messages.map(({ role }) => role),
      ["user", "user"]
    )
  })

  it("texts and calls that are missing among the parts are added", () => {
    const [message] = toPrompt({
      system: "",
      history: [
        {
          role: "assistant",
          text: "one two",
          calls: [{ model_id: "a", name: "list", arguments: {} }],
          parts: [{ of: "text", units: 4, provider: { google: { thoughtSignature: "s" } } }]
        }
      ],
      transcript: []
    })
    assert.deepStrictEqual(message!.content, [
      { type: "text", text: "one ", providerOptions: { google: { thoughtSignature: "s" } } },
      { type: "text", text: "two" },
      { type: "tool-call", toolCallId: "a", toolName: "list", input: {} }
    ])
  })
})
