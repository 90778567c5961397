import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SecureRandom, WebCrypto } from "effect/crypto"
import { layer, OrderedIds, RandomPool } from "../../layers/compose/assembly/PooledRandom.ts"

/** Counts up in four bytes, so that no two lists of four bytes from it are the same. */
const counting = () => {
  let next = 0
  const fills: Array<number> = []
  const fill = (bytes: Uint8Array<ArrayBuffer>) => {
    fills.push(bytes.length)
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    for (let at = 0; at + 4 <= bytes.length; at += 4) view.setUint32(at, next++)
  }
  return { fill, fills }
}

describe("random bytes from a pool", () => {
  it("gives no bytes twice, and asks the source once for 4,096", () => {
    const { fill, fills } = counting()
    const take = new RandomPool(fill).bytes
    const seen = new Set<string>()
    for (let n = 0; n < 3_000; n++) seen.add(take(4).join())
    assert.strictEqual(seen.size, 3_000)
    assert.deepStrictEqual(fills, [4_096, 4_096, 4_096])
  })

  it("gives whole lists where the rest of the pool is too short", () => {
    const { fill } = counting()
    const take = new RandomPool(fill).bytes
    for (let n = 0; n < 100; n++) assert.strictEqual(take(60).length, 60)
  })

  it("asks the source for more than 256 bytes, at most 65,536 of them at once", () => {
    const { fill, fills } = counting()
    const take = new RandomPool(fill).bytes
    assert.strictEqual(take(150_000).length, 150_000)
    assert.deepStrictEqual(fills, [65_536, 65_536, 18_928])
  })

  it("does not change what it gave when it asks the source again", () => {
    const { fill } = counting()
    const take = new RandomPool(fill).bytes
    const first = take(4)
    for (let n = 0; n < 1_100; n++) take(4)
    assert.deepStrictEqual([...first], [0, 0, 0, 0])
  })

  it("makes ids of version 7 that sort in the order of their making", () => {
    const ids = new OrderedIds(
      new RandomPool((bytes) => void globalThis.crypto.getRandomValues(bytes))
    )
    const made: Array<string> = []
    // A clock that stands still, that goes on, and that goes back.
    for (const now of [5, 5, 5, 1_763_880_000_000, 1_763_880_000_000, 7, 1_763_880_000_001]) {
      for (let n = 0; n < 300; n++) made.push(ids.next(now))
    }
    assert.deepStrictEqual(made, made.toSorted())
    assert.strictEqual(new Set(made).size, made.length)
    for (const id of made) {
      assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    }
  })

  it("puts the time, the counter and the random bits of an id in their places", () => {
    const { fill } = counting()
    const ids = new OrderedIds(new RandomPool(fill))
    // The counter begins at 0 * 2 ** 32 + 1, and the next four bytes are 2.
    assert.strictEqual(ids.next(0x0123_4567_89ab), "01234567-89ab-7000-8000-000100000002")
    assert.strictEqual(ids.next(0x0123_4567_89ab), "01234567-89ab-7000-8000-000200000003")
    // 9 bits and 32 bits of the counter's 41, and the random ones.
    const given = [0xffff_ffab, 0x89ab_cdef, 0xfedc_ba98]
    const other = new OrderedIds(
      new RandomPool((bytes) =>
        given.forEach((n, i) => new DataView(bytes.buffer).setUint32(i * 4, n))
      )
    )
    assert.strictEqual(other.next(1), "00000000-0001-76ae-89ab-cdeffedcba98")
  })

  it.effect("gives an id as bytes to who wants them", () =>
    Effect.gen(function* () {
      const random = yield* SecureRandom.SecureRandom
      const bytes = yield* random.uuidV7({ format: "bytes" })
      assert.instanceOf(bytes, Uint8Array)
      assert.deepStrictEqual([bytes.length, bytes[6]! >> 4], [16, 7])
    }).pipe(Effect.provide(layer))
  )

  it.effect("takes its bytes from the WebCrypto that it is given", () =>
    Effect.gen(function* () {
      const random = yield* SecureRandom.SecureRandom
      assert.strictEqual(yield* random.uuidV4(), "07070707-0707-4707-8707-070707070707")
    }).pipe(
      Effect.provide(layer),
      Effect.provideService(WebCrypto.WebCrypto, {
        ...globalThis.crypto,
        getRandomValues: (bytes: Uint8Array) => bytes.fill(7)
      } as typeof globalThis.crypto)
    )
  )
})
