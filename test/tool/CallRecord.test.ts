import { assert, it } from "@effect/vitest"
import { recordKey } from "../../src/tool/CallRecord.ts"

it("SM-88 a key is the call's id and the time in nanoseconds, to the last digit", () => {
  assert.strictEqual(
    recordKey("call_001", 1_700_000_000_123_456_789n),
    "call_001.1700000000123456789"
  )
  assert.strictEqual(recordKey("0/1.1", 0n), "0/1.1.0")
  const keys = [1n, 2n, 1_000n, 1_001n, 1_000_000n].map((ns) => recordKey("call", ns))
  assert.strictEqual(new Set(keys).size, keys.length)
  assert.notStrictEqual(recordKey("a", 1n), recordKey("b", 1n))
})
