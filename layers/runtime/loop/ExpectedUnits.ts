/**
 * How large the results of each tool are expected to be, in UTF-16 units: the largest of late, which is forgotten slowly. A tool
 * that has returned nothing yet counts for much, so that a crowd of first calls does not fill the memory.
 */

/** Of a tool that has returned nothing yet. */
export const unknown_units = 500_000
const units_min = 4_096
const tools_max = 10_000

export class ExpectedUnits {
  readonly #byTool = new Map<string, number>()

  of(tool: string): number {
    return this.#byTool.get(tool) ?? unknown_units
  }

  saw(tool: string, given: number): void {
    const units = Math.max(given, units_min)
    const known = this.#byTool.get(tool)
    if (known === units) return
    if (known === undefined && this.#byTool.size >= tools_max) this.#byTool.clear()
    const next = known === undefined || units > known ? units : known - (known - units) / 16
    this.#byTool.set(tool, next < units + 1 ? units : next)
  }
}
