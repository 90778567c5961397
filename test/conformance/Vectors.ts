/**
 * Runs the cases of a vector file through a driver. The files are read from the directory in TROUPE_VECTORS, so that
 * other cases of the same shape can be run; without it from the copies beside this file. A file that is absent there is
 * reported, a case whose shape the driver does not know fails.
 */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import type { Effect, Scope } from "effect"

export interface Case {
  readonly id: string
  readonly input: unknown
  readonly expect: unknown
}

/** What a driver makes of a case: a proof of it, the reason why it waits for a later feature, or nothing it knows. */
export type Driven =
  | { readonly rows: string; readonly run: Effect.Effect<void, unknown, Scope.Scope> }
  | { readonly later: string }
  | undefined

declare module "vitest" {
  interface TaskMeta {
    /** What a test could not show here, and why; the summary of `npm test` prints it. */
    notes?: Array<string>
  }
}

const folder = process.env.TROUPE_VECTORS ?? fileURLToPath(new URL("vectors", import.meta.url))

/** A directory that holds no vectors would let every driver pass. */
const files = (): ReadonlySet<string> => {
  const found = Result.try(() => readdirSync(folder))
  if (Result.isFailure(found)) {
    throw new Error(`TROUPE_VECTORS names no directory that can be read: ${folder}`, {
      cause: found.failure
    })
  }
  const names = found.success.filter((name) => name.endsWith(".json"))
  if (names.length === 0) throw new Error(`TROUPE_VECTORS holds no vector file: ${folder}`)
  return new Set(names)
}
const present = files()

/** A whole number that is too large for a number is a bigint: a case may count nanoseconds. */
const exact = (_name: string, value: unknown, { source }: { readonly source?: string }): unknown =>
  typeof value === "number" &&
  Number.isInteger(value) &&
  !Number.isSafeInteger(value) &&
  source !== undefined &&
  /^-?\d+$/.test(source)
    ? BigInt(source)
    : value

const read = (name: string): ReadonlyArray<Case> | undefined => {
  if (!present.has(`${name}.json`)) return undefined
  const file = join(folder, `${name}.json`)
  const { cases } = JSON.parse(readFileSync(file, "utf8"), exact as never) as {
    readonly cases?: ReadonlyArray<Case>
  }
  if (!Array.isArray(cases) || cases.length === 0) throw new Error(`${file} holds no cases`)
  return cases
}

/** The tests of one vector file. Each case is one test, or one line of a note. */
export const conformance = (name: string, drive: (each: Case) => Driven): void => {
  const cases = read(name)
  const notes: Array<string> = []
  describe(`vec:${name}`, () => {
    for (const each of cases ?? []) {
      const driven = drive(each)
      if (driven === undefined) {
        it(`${each.id} has a shape that the driver knows`, () => {
          assert.fail(`unknown shape: ${JSON.stringify(each)}`)
        })
      } else if ("later" in driven) {
        notes.push(`${each.id} is not driven yet: ${driven.later}`)
      } else {
        const shown = driven.rows === "" ? "and shows no row" : `(${driven.rows})`
        it.effect(`${each.id} holds ${shown}`, () => driven.run)
      }
    }
    it("was read from its file, and says which of its cases are not driven", ({ task }) => {
      if (cases === undefined) notes.push(`${name}.json is absent in ${folder}`)
      task.meta.notes = notes
      for (const note of notes) console.log(note)
    })
  })
}

/** The rows of those of these facts that are true of a case: a row that it does not show is not its label. */
export const rowsOf = (...facts: ReadonlyArray<readonly [shows: boolean, row: string]>): string =>
  facts.flatMap(([shows, row]) => (shows ? [row] : [])).join(" ")

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Has the value these keys, and at most those besides? */
export const hasShape = (
  value: unknown,
  required: ReadonlyArray<string>,
  optional: ReadonlyArray<string> = []
): value is Readonly<Record<string, unknown>> =>
  isRecord(value) &&
  required.every((key) => key in value) &&
  Object.keys(value).every((key) => required.includes(key) || optional.includes(key))
