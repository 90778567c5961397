/**
 * Counts things for each owner, by the owner's key, and in all. No count is below 0, and an owner with 0 takes no memory.
 */
export class Counts<Key = string> {
  readonly #counts = new Map<Key, number>()
  #total = 0

  /** The counts above 0. */
  get all(): ReadonlyMap<Key, number> {
    return this.#counts
  }

  get total(): number {
    return this.#total
  }

  of(key: Key): number {
    return this.#counts.get(key) ?? 0
  }

  add(key: Key, by: number): void {
    const before = this.of(key)
    const count = Math.max(0, before + by)
    this.#total += count - before
    if (count > 0) this.#counts.set(key, count)
    else this.#counts.delete(key)
  }
}
