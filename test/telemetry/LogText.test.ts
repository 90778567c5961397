import { assert, it } from "@effect/vitest"
import { Cause, Effect, Layer, Logger } from "effect"
import * as ToolCallTelemetry from "../../layers/telemetry/ToolCallTelemetry.ts"
import * as LogLines from "../../scripts/start/LogLines.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { logText } from "../../src/value/InvisibleText.ts"
import * as H from "../runtime/Harness.ts"

it("a text from outside keeps its letters and shows its control characters as what they are", () => {
  assert.strictEqual(
    logText("a\u001b[2Jb\r\nc\u009b\u2028d"),
    "a\\u001b[2Jb\\u000d\\u000ac\\u009b\\u2028d"
  )
  assert.strictEqual(logText("Grüße, 日本 \u{1f600}"), "Grüße, 日本 \u{1f600}")
})

it.live("a name that a model made up reaches no log line with an escape sequence", () => {
  const lines: Array<string> = []
  const logger = Logger.map(Logger.formatLogFmt, (line) => void lines.push(line))
  const layer = H.layer({
    script: [call("x\u001b[2J\u0007", {}), text("done")],
    observers: "ambient"
  }).pipe(Layer.provide(ToolCallTelemetry.layer), Layer.provideMerge(Logger.layer([logger])))
  return Effect.gen(function* () {
    yield* H.ended(yield* H.send("hello"))
    const all = lines.join("\n")
    assert.include(all, "tool_call")
    // oxlint-disable-next-line no-control-regex -- they are what is looked for
    assert.notMatch(all, /[\u0000-\u0009\u000b-\u001f]/)
  }).pipe(Effect.provide(layer))
})

it.effect(
  "members of an object beside a message are pairs of the line, which has one message",
  () => {
    const lines: Array<string> = []
    const logger = Logger.map(LogLines.line, (line) => void lines.push(line))
    const about = { agent: "shop", count: 2, only: ["a b"] }
    return Effect.gen(function* () {
      yield* Effect.annotateLogs(Effect.logWarning("work waits", about), { run_id: "r" })
      assert.lengthOf(lines, 1)
      assert.match(
        lines[0]!,
        /^timestamp=\S+ level=WARN fiber=\S+ message="work waits" run_id=r agent=shop count=2 only="\[\\"a b\\"\]"$/
      )
    }).pipe(Effect.provide(Logger.layer([logger])))
  }
)

it.effect(
  "a line of JSON is one flat object, where annotations do not take the place of its own members",
  () => {
    const lines: Array<string> = []
    const logger = Logger.map(LogLines.json_line, (line) => void lines.push(line))
    const about = { agent: "shop", count: 2, level: "high", only: ["a\u009bb"] }
    return Effect.gen(function* () {
      yield* Effect.annotateLogs(Effect.logWarning("work", "waits", about), {
        run_id: "r",
        message: "mine"
      })
      yield* Effect.logError("broke", Cause.fail(new Error("why\nso")))
      assert.lengthOf(lines, 2)
      assert.notMatch(lines.join(""), /[\u009b\n]/)
      const [first, second] = lines.map((line) => JSON.parse(line) as Record<string, unknown>)
      assert.match(String(first!["timestamp"]), /^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
      assert.match(String(first!["fiber"]), /^#?\d+$/)
      assert.deepInclude(first, {
        level: "WARN",
        message: "work waits",
        run_id: "r",
        message_: "mine",
        agent: "shop",
        count: 2,
        level_: "high",
        only: ["a\u009bb"]
      })
      assert.deepInclude(second, { level: "ERROR", message: "broke" })
      assert.include(String(second!["cause"]), "Error: why\nso")
    }).pipe(Effect.provide(Logger.layer([logger])))
  }
)

it.effect("a line shows what is no JSON as a text, and never fails", () => {
  const lines: Array<string> = []
  const cycle: Record<string, unknown> = {}
  cycle["self"] = cycle
  const loggers = [LogLines.line, LogLines.json_line].map((logger) =>
    Logger.map(logger, (line) => void lines.push(line))
  )
  return Effect.gen(function* () {
    const odd = { big: 1n, cycle, error: new Error("why"), none: undefined }
    yield* Effect.annotateLogs(Effect.logError("broke:", new Error("why"), odd, 2n), odd)
    assert.lengthOf(lines, 2)
    const parsed = JSON.parse(lines[1]!) as Record<string, unknown>
    assert.match(String(parsed["message"]), /^broke: .*why.* 2/)
    assert.match(String(parsed["error"]), /why/)
    assert.match(String(parsed["big"]), /1/)
    assert.isString(parsed["cycle"])
  }).pipe(Effect.provide(Logger.layer(loggers)))
})
