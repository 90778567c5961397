/**
 * Random bytes and ids from the platform's cryptographic source, which is read 4,096 bytes at a time: a message needs three ids,
 * and reading each of them alone would cost a call to the source and new byte arrays (bench rows `send` and `waiting`). No byte
 * is used twice.
 */
import { Buffer } from "node:buffer"
import { Effect, Layer } from "effect"
import { SecureRandom, WebCrypto } from "effect/crypto"

type Fill = (bytes: Uint8Array<ArrayBuffer>) => void

const pool_bytes = 4_096
/** The most bytes that one request takes from the pool; a larger request reads the source directly. */
const pooled_max = 256
/** The most bytes that the source returns at once. */
const fill_max = 65_536

const filled = (size: number, fill: Fill): Uint8Array => {
  const bytes = new Uint8Array(size)
  for (let from = 0; from < size; from += fill_max) fill(bytes.subarray(from, from + fill_max))
  return bytes
}

export class RandomPool {
  readonly #fill: Fill
  readonly #pool = new Uint8Array(pool_bytes)
  readonly #view = new DataView(this.#pool.buffer)
  #used = pool_bytes

  /** `fill` fills an array of at most 65,536 bytes with random bytes. */
  constructor(fill: Fill) {
    this.#fill = fill
  }

  readonly bytes = (size: number): Uint8Array => {
    if (size > pooled_max) return filled(size, this.#fill)
    const from = this.#take(size)
    return this.#pool.slice(from, from + size)
  }

  /** A random integer from 0 to 2 ** 32 - 1. */
  uint32(): number {
    return this.#view.getUint32(this.#take(4))
  }

  /** Reserves `size` bytes that were not used before, and returns their offset. */
  #take(size: number): number {
    if (this.#used + size > pool_bytes) {
      this.#fill(this.#pool)
      this.#used = 0
    }
    const from = this.#used
    this.#used += size
    return from
  }
}

const two_30 = 2 ** 30
const counter_max = 2 ** 42 - 1
const timestamp_max = 2 ** 48 - 1
const digits = Buffer.from("0123456789abcdef", "latin1")
const hyphen = 45

/**
 * Makes UUIDs of version 7, each of which sorts after the one before: the time in ms, a counter of 42 bits that starts at a
 * random number of 41 bits in every ms, and 32 random bits (RFC 9562, 6.2, method 1). If the clock goes back, the last time is
 * used again.
 */
export class OrderedIds {
  readonly #pool: RandomPool
  readonly #text = Buffer.alloc(36, hyphen)
  #at = -1
  #counter = 0

  constructor(pool: RandomPool) {
    this.#pool = pool
  }

  /** Returns the next id; `now` is in ms since 1970. */
  next(now: number): string {
    if (now > this.#at) this.#begin(Math.min(Math.trunc(now), timestamp_max))
    else if (this.#counter < counter_max) this.#counter++
    else this.#begin(Math.min(this.#at + 1, timestamp_max))
    const high = Math.floor(this.#counter / two_30)
    const low = this.#counter - high * two_30
    this.#write(0, 8, Math.floor(this.#at / 2 ** 16))
    this.#write(9, 4, this.#at % 2 ** 16)
    this.#write(14, 4, 0x7000 | high)
    this.#write(19, 4, 0x8000 | (low >>> 16))
    this.#write(24, 4, low & 0xffff)
    this.#write(28, 8, this.#pool.uint32())
    // Builds one text, because a concatenation would keep all of its parts in memory.
    return this.#text.toString("latin1")
  }

  #begin(at: number): void {
    this.#at = at
    this.#counter = (this.#pool.uint32() % 2 ** 9) * 2 ** 32 + this.#pool.uint32()
  }

  #write(from: number, count: number, value: number): void {
    let left = value
    for (let at = from + count - 1; at >= from; at--) {
      this.#text[at] = digits[left % 16] as number
      left = Math.floor(left / 16)
    }
  }
}

/** Text ids are made from the pool directly. */
const make = (fill: Fill): SecureRandom.SecureRandom["Service"] => {
  const pool = new RandomPool(fill)
  const ids = new OrderedIds(pool)
  const random = SecureRandom.make(pool.bytes)
  const text = Effect.clockWith((clock) =>
    Effect.succeed(ids.next(clock.currentTimeMillisUnsafe()))
  )
  const uuidV7 = (options?: { readonly format?: "string" | "bytes" | undefined }) =>
    options?.format === "bytes" ? Effect.map(text, bytesOf) : text
  return { ...random, uuidV7: uuidV7 as typeof random.uuidV7 }
}

const bytesOf = (id: string): Uint8Array =>
  new Uint8Array(Buffer.from(id.replaceAll("-", ""), "hex"))

export const layer: Layer.Layer<SecureRandom.SecureRandom> = Layer.effect(
  SecureRandom.SecureRandom,
  WebCrypto.WebCrypto.use((crypto) =>
    Effect.succeed(make((bytes) => void crypto.getRandomValues(bytes)))
  )
)
