/**
 * Counts things for each owner, by the owner's key. An owner with a count of 0 takes no memory.
 */
export class Counts {
  readonly #counts = new Map<string, number>()

  /** The number of owners with a count above 0. */
  get size(): number {
    return this.#counts.size
  }

  of(key: string): number {
    return this.#counts.get(key) ?? 0
  }

  add(key: string, by: 1 | -1): void {
    const count = this.of(key) + by
    if (count > 0) this.#counts.set(key, count)
    else this.#counts.delete(key)
  }
}
