import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { LoopStore } from "../../services/semstreams/LoopStore.ts"
import { completionKey } from "../../src/semstreams/LoopRecord.ts"
import type { Fields } from "./Executors.ts"
import { unreachable, called, meets, stores, tenant } from "./Executors.ts"
import { conformance, hasShape, isRecord, rowsOf } from "./Vectors.ts"

const paging = ["returned_bytes", "offset", "has_more", "next_offset", "total_bytes"]

const resultOf = (input: Fields): string | undefined =>
  typeof input.result === "string"
    ? input.result
    : typeof input.resultBytes === "number"
      ? "0123456789".repeat(Math.ceil(input.resultBytes / 10)).slice(0, input.resultBytes)
      : undefined

/** Reads all pages: together they are the text, and none cuts a character. */
const walks = Effect.fnUntraced(function* (input: Fields, text: string) {
  let [offset, read] = [0, ""]
  for (let pages = 0; pages < 100; pages++) {
    const { result } = yield* called("read_loop_result", {
      ...input,
      arguments: { ...(input.arguments as Fields), offset }
    })
    read += result.content!
    assert.notInclude(result.content!, "\ufffd")
    assert.isAbove(Number(result.metadata!.next_offset), offset)
    offset = Number(result.metadata!.next_offset)
    if (result.metadata!.has_more !== true) break
  }
  assert.strictEqual(read, text)
})

const proof = (input: Fields, expect: Fields) =>
  Effect.gen(function* () {
    const ephemeral = yield* LoopStore
    const args = isRecord(input.arguments) ? input.arguments : {}
    const text = resultOf(input)
    const record =
      typeof input.record === "string"
        ? input.record
        : text === undefined
          ? undefined
          : JSON.stringify({
              role: "researcher",
              outcome: "success",
              completed_at: "2026-04-20T12:00:00Z",
              result: text
            })
    if (record !== undefined) {
      yield* ephemeral.put(tenant, completionKey(String(args.loop_id)), record)
    } else if ("metadataLoopId" in expect) {
      yield* ephemeral.put(tenant, String(expect.lookupKey), JSON.stringify({ result: "found" }))
    }
    const keys: Array<string> = []
    const loops: LoopStore["Service"] = {
      ...ephemeral,
      get: (of, key) => {
        keys.push(key)
        return input.store === "fails" ? unreachable : ephemeral.get(of, key)
      }
    }
    yield* Effect.gen(function* () {
      const executed = yield* called("read_loop_result", input)
      const { content = "", metadata = {} } = executed.result
      meets(executed, expect)
      if ("storeRead" in expect) assert.strictEqual(keys.length > 0, expect.storeRead)
      if ("lookupKey" in expect) assert.deepStrictEqual(keys, [expect.lookupKey as string])
      if ("metadataLoopId" in expect) assert.strictEqual(metadata.loop_id, expect.metadataLoopId)
      for (const key of paging) {
        if (key in expect) assert.strictEqual(metadata[key], expect[key] as never, key)
      }
      if (text === undefined) return
      assert.strictEqual(Buffer.byteLength(content), metadata.returned_bytes)
      const whole = Buffer.from(text)
      const [from, to] = [Number(metadata.offset), Number(metadata.next_offset)]
      assert.strictEqual(content, whole.subarray(from, to).toString())
      if (expect.validUtf8 === true) yield* walks(input, text)
    }).pipe(Effect.provideService(LoopStore, loops))
  }).pipe(Effect.provide(stores))

const shownBy = (input: Fields, expect: Fields): string => {
  const given = isRecord(input.arguments) ? input.arguments : {}
  return rowsOf(
    [!("errorKind" in expect) || expect.errorKind === "invalid_args", "SM-77"],
    ["offset" in given || "max_bytes" in given, "SM-78"],
    [expect.errorKind === "not_found" && input.tool === undefined, "SM-79"],
    [input.tool !== undefined || input.store === "fails", "SM-80"]
  )
}

conformance("read_loop_result_paging", ({ expect, input }) =>
  hasShape(input, [], ["arguments", "resultBytes", "result", "record", "store", "tool"]) &&
  isRecord(expect)
    ? { rows: shownBy(input, expect), run: proof(input, expect) }
    : undefined
)
