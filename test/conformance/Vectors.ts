/**
 * Runs the cases of a vector file through a driver. The files are read from the directory in TROUPE_VECTORS, so that
 * other cases of the same shape can be run, or else from the copies beside this file. An absent file is reported; a case
 * of a shape that its driver does not know fails.
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

/** A driver's answer to a case: the test that proves it, the later feature that it needs, or undefined for an unknown shape. */
export type Driven =
  | { readonly rows: string; readonly run: Effect.Effect<void, unknown, Scope.Scope> }
  | { readonly later: string }
  | undefined

declare module "vitest" {
  interface TaskMeta {
    /** What a test could not prove, and why; printed in the summary of `npm test`. */
    notes?: Array<string>
  }
}

const folder = process.env.TROUPE_VECTORS ?? fileURLToPath(new URL("vectors", import.meta.url))

/** The names of the vector files. Throws where there are none, because every driver would pass. */
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

/** Reads an integer beyond 2^53 as a bigint, because a case may count nanoseconds. */
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

/**
 * Declares the tests of one vector file: one for each case, and one that reports cases that are not driven. `also`: the
 * members beside `input` and `expect` that the driver reads; a case with another `input...` or `expect...` is unknown.
 */
export const conformance = (name: string, drive: (each: Case) => Driven, also?: RegExp): void => {
  const cases = read(name)
  const notes: Array<string> = []
  describe(`vec:${name}`, () => {
    for (const each of cases ?? []) {
      const isUnread = Object.keys(each).some(
        (member) => /^(input|expect)./.test(member) && also?.test(member) !== true
      )
      const driven = isUnread ? undefined : drive(each)
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
    it("reports an absent file and the cases that are not driven", ({ task }) => {
      if (cases === undefined) notes.push(`${name}.json is absent in ${folder}`)
      task.meta.notes = notes
      for (const note of notes) console.log(note)
    })
  })
}

/** The requirement ids whose condition holds for a case, for its title. */
export const rowsOf = (...facts: ReadonlyArray<readonly [shows: boolean, row: string]>): string =>
  facts.flatMap(([shows, row]) => (shows ? [row] : [])).join(" ")

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Is the value a record with all `required` keys and no others but `optional`? */
export const hasShape = (
  value: unknown,
  required: ReadonlyArray<string>,
  optional: ReadonlyArray<string> = []
): value is Readonly<Record<string, unknown>> =>
  isRecord(value) &&
  required.every((key) => key in value) &&
  Object.keys(value).every((key) => required.includes(key) || optional.includes(key))
