/**
 * Random bytes and ids of the platform's cryptographic source, which is asked for 4,096 bytes at a time: a message needs three
 * ids, and each of them alone would cost a call into the source and lists of bytes (bench rows `send` and `waiting`). No byte is
 * given out twice.
 */
import { Buffer } from "node:buffer"
import { Effect, Layer } from "effect"
import { SecureRandom, WebCrypto } from "effect/crypto"

type Fill = (bytes: Uint8Array<ArrayBuffer>) => void

const pool_bytes = 4_096
/** Who wants more at once gets it from the source. */
const pooled_max = 256
/** The most that the source gives at once. */
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

  /** `fill` fills a list of at most 65,536 bytes with random ones. */
  constructor(fill: Fill) {
    this.#fill = fill
  }

  readonly bytes = (size: number): Uint8Array => {
    if (size > pooled_max) return filled(size, this.#fill)
    const from = this.#take(size)
    return this.#pool.slice(from, from + size)
  }

  /** From 0 to 2 ** 32 - 1. */
  uint32(): number {
    return this.#view.getUint32(this.#take(4))
  }

  /** Where so many bytes begin that nobody has been given. */
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
 * Makes UUIDs of version 7, each of which sorts after the one before: the time in ms, a counter of 42 bits that begins at a random
 * number of 41 bits in every ms, and 32 random bits (RFC 9562, 6.2, method 1). Where the clock goes back the last time is kept.
 */
export class OrderedIds {
  readonly #pool: RandomPool
  readonly #text = Buffer.alloc(36, hyphen)
  #at = -1
  #counter = 0

  constructor(pool: RandomPool) {
    this.#pool = pool
  }

  /** `now`: in ms since 1970. */
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
    // One text, and not one that is put together of parts, which would keep all of them.
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

/** Ids as texts come from the pool directly. */
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
