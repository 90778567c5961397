/**
 * Token buckets of one limit, by key, in memory. A bucket that is full again is removed, whereas the store in memory of Effect's
 * `RateLimiter` keeps each key for ever. Each request asks several buckets, so a bucket answers without an Effect (bench row
 * `http`).
 */

interface Bucket {
  /** The tokens in the bucket; may be a fraction. */
  tokens: number
  /** The time of the last update, in ms since 1970. */
  at: number
}

const minute_ms = 60_000
/** Full buckets are removed when there are twice as many buckets as were left the last time, and at least this many. */
const kept_min = 1_024

export class TokenBuckets {
  readonly #limit: number
  readonly #buckets = new Map<string, Bucket>()
  #kept_max = kept_min

  /** A bucket holds `per_minute` tokens, at least one, and refills evenly within a minute. */
  constructor(per_minute: number) {
    this.#limit = per_minute
  }

  /** The number of buckets in memory. */
  get size(): number {
    return this.#buckets.size
  }

  /**
   * Takes a token of the key's bucket, which is full at first. Returns 0 if a token was taken, otherwise the ms until there is
   * one.
   */
  take(key: string, now: number): number {
    const bucket = this.#buckets.get(key) ?? this.#made(key, now)
    bucket.tokens = this.#tokensOf(bucket, now)
    bucket.at = now
    if (bucket.tokens >= 1) {
      bucket.tokens -= 1
      return 0
    }
    return ((1 - bucket.tokens) * minute_ms) / this.#limit
  }

  /** The tokens in a bucket at `now`. A clock that was set back refills nothing. */
  #tokensOf({ at, tokens }: Bucket, now: number): number {
    const refilled = (Math.max(0, now - at) * this.#limit) / minute_ms
    return Math.min(this.#limit, tokens + refilled)
  }

  #made(key: string, now: number): Bucket {
    if (this.#buckets.size >= this.#kept_max) this.#forgetFull(now)
    const bucket = { tokens: this.#limit, at: now }
    this.#buckets.set(key, bucket)
    return bucket
  }

  #forgetFull(now: number): void {
    for (const [key, bucket] of this.#buckets) {
      if (this.#tokensOf(bucket, now) === this.#limit) this.#buckets.delete(key)
    }
    this.#kept_max = Math.max(kept_min, 2 * this.#buckets.size)
  }
}
