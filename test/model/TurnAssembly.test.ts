/**
 * A provider's parts as one turn, without a wire: parts that the client for compatible endpoints never sends.
 */
import type { LanguageModelV4StreamPart } from "@ai-sdk/provider"
import { assert, describe, it } from "@effect/vitest"
import { TurnAssembly } from "../../layers/model/wire/TurnAssembly.ts"
import { argumentsOf } from "../../layers/model/wire/TurnParts.ts"
import { ModelError, turn_bytes_max } from "../../services/ModelGateway.ts"

const finish = (
  unified: "stop" | "tool-calls" | "interrupted" | "other"
): LanguageModelV4StreamPart => ({
  type: "finish",
  finishReason: { unified, raw: undefined },
  usage: {
    inputTokens: {
      total: undefined,
      noCache: undefined,
      cacheRead: undefined,
      cacheWrite: undefined
    },
    outputTokens: { total: undefined, text: undefined, reasoning: undefined }
  }
})

const call = (toolCallId: string, toolName: string, input = "{}"): LanguageModelV4StreamPart => ({
  type: "tool-call",
  toolCallId,
  toolName,
  input
})

const assemble = (parts: ReadonlyArray<LanguageModelV4StreamPart>) => {
  const assembly = new TurnAssembly(() => {})
  for (const part of parts) assert.isUndefined(assembly.take(part))
  return assembly.end(3, "asked-for")
}

const turnOf = (parts: ReadonlyArray<LanguageModelV4StreamPart>) => {
  const turn = assemble(parts)
  if (turn instanceof ModelError) throw turn
  return turn
}

describe("TurnAssembly", () => {
  it("keeps reasoning blocks apart, with the newest of their provider's data", () => {
    const turn = turnOf([
      { type: "reasoning-start", id: "r0" },
      { type: "reasoning-delta", id: "r0", delta: "first" },
      { type: "reasoning-end", id: "r0", providerMetadata: { p: { signature: "s0" } } },
      { type: "reasoning-start", id: "r1", providerMetadata: { p: { redacted: "s1" } } },
      { type: "reasoning-end", id: "r1" },
      { type: "reasoning-start", id: "r2" },
      { type: "reasoning-end", id: "r2" },
      finish("stop")
    ])
    assert.deepStrictEqual(turn.reasoning, [
      { text: "first", provider: { p: { signature: "s0" } } },
      { text: "", provider: { p: { redacted: "s1" } } }
    ])
    assert.strictEqual(turn.model, "asked-for")
  })

  it("keeps an empty tool name, and replaces an empty or repeated id by one of step and place", () => {
    const turn = turnOf([call("", ""), call("x", "a"), call("x", "b"), finish("tool-calls")])
    assert.deepStrictEqual(
      turn.calls.map(({ model_id, name }) => [model_id, name]),
      [
        ["call_3_0", ""],
        ["x", "a"],
        ["call_3_2", "b"]
      ]
    )
  })

  it("is unfinished where a client was told of no end, as DeepSeek's says of a stream that was cut", () => {
    const text: ReadonlyArray<LanguageModelV4StreamPart> = [
      { type: "text-start", id: "t" },
      { type: "text-delta", id: "t", delta: "The refund is fine unless" }
    ]
    for (const unified of ["other", "interrupted"] as const) {
      assert.include(assemble([...text, finish(unified)]), { kind: "transient" })
    }
  })

  it("does not propose a call that the provider ran itself", () => {
    const turn = turnOf([
      {
        type: "tool-call",
        toolCallId: "s",
        toolName: "search",
        input: "{}",
        providerExecuted: true
      },
      { type: "text-delta", id: "t", delta: "found" },
      finish("stop")
    ])
    assert.deepStrictEqual([turn.calls, turn.finish], [[], "stop"])
    assert.deepStrictEqual(turn.ran, [
      { id: "s", name: "search", arguments: "{}", arguments_units: 2 }
    ])
  })

  it("keeps the provider's own calls and the sources within their bounds", () => {
    const long = "x".repeat(10_000)
    const turn = turnOf([
      ...Array.from({ length: 300 }, (_, n): LanguageModelV4StreamPart => ({
        ...(call(`s${n}`, "search", long) as Extract<
          LanguageModelV4StreamPart,
          { type: "tool-call" }
        >),
        providerExecuted: true
      })),
      { type: "tool-result", toolCallId: "s0", toolName: "search", result: long, isError: true },
      ...Array.from({ length: 300 }, (_, n): LanguageModelV4StreamPart => ({
        type: "source",
        sourceType: "url",
        id: `${n}`,
        url: `https://example.org/${n}/${long}`
      })),
      finish("stop")
    ])
    assert.deepStrictEqual([turn.ran?.length, turn.sources?.length], [200, 200])
    const [first] = turn.ran ?? []
    assert.deepInclude(first, { arguments_units: 10_000, result_units: 10_002, failed: true })
    assert.deepStrictEqual([first?.arguments.length, first?.result?.length], [4_000, 4_000])
    assert.strictEqual(turn.sources?.[0]?.url?.length, 2_000)
  })

  it("drops a result that nests too deep to be written", () => {
    let deep: unknown = 1
    for (let n = 0; n < 200_000; n++) deep = [deep]
    const turn = turnOf([
      { type: "tool-result", toolCallId: "s", toolName: "x", result: deep as never },
      finish("stop")
    ])
    assert.deepInclude(turn.ran?.[0], { name: "x", result: "", result_units: 0 })
  })

  it("marks a call that was begun and not closed as cut, however its turn ended", () => {
    for (const delta of ["", '{"n":']) {
      const turn = turnOf([
        { type: "tool-input-start", id: "a", toolName: "wipe" },
        { type: "tool-input-delta", id: "a", delta },
        finish("stop")
      ])
      assert.deepStrictEqual(turn.calls, [
        { model_id: "a", name: "wipe", arguments: null, malformed: delta }
      ])
    }
  })

  it("fails as transient without a finish, after an interruption, and for a call finish without calls", () => {
    for (const parts of [[], [finish("interrupted")], [finish("tool-calls")]]) {
      const error = assemble(parts)
      assert.instanceOf(error, ModelError)
      assert.strictEqual(error.kind, "transient")
    }
  })

  it("refuses a turn of more UTF-16 units than a turn may have bytes, while it comes", () => {
    const assembly = new TurnAssembly(() => {})
    const delta = "x".repeat(turn_bytes_max / 2)
    assert.isUndefined(assembly.take({ type: "text-delta", id: "t", delta }))
    assert.isUndefined(assembly.take({ type: "reasoning-delta", id: "r", delta }))
    assert.strictEqual(assembly.take({ type: "text-delta", id: "t", delta: "!" })?.kind, "refused")
  })

  it("marks arguments nested more than 128 deep as malformed", () => {
    const deep = (n: number) => `${"[".repeat(n)}${"]".repeat(n)}`
    assert.isUndefined(argumentsOf(deep(128)).malformed)
    assert.strictEqual(argumentsOf(deep(129)).malformed, deep(129))
    assert.strictEqual(argumentsOf(deep(100_000)).arguments, null)
  })
})
