/**
 * A row of the bench: what is measured, beside a lower bound written by hand that does the same work without a runtime.
 * Each variant runs in a process of its own in every round, so that neither inherits the other's heap, compiled code or
 * luck; one after the other, or in slices that take turns. What counts is the median of the ratios of the rounds.
 */
import type { ChildProcess } from "node:child_process"
import { spawn } from "node:child_process"
import { fileURLToPath } from "node:url"

/** What a variant measured, by name. */
export type Sample = Readonly<Record<string, number>>

export interface Line {
  readonly row: string
  /** What is counted, for example `CPU us a step`. */
  readonly unit: string
  /** Medians of the rounds. */
  readonly ours: number
  /** Absent where the bound is an absolute number. */
  readonly lower: number | undefined
  /** What is compared with the bound: median, least and greatest of the rounds. */
  readonly value: number
  readonly least: number
  readonly greatest: number
  readonly rounds: number
  /** Absent: printed for information. */
  readonly bound: Bound | undefined
  readonly against: string
}

export interface Bound {
  readonly kind: "at most" | "at least"
  readonly bound: number
  readonly moonshot: number | undefined
}

export interface Row {
  readonly name: string
  readonly lines: (options: Options) => Promise<ReadonlyArray<Line>>
}

export interface Options {
  /** Rounds of every row; absent = what the row thinks right. */
  readonly rounds: number | undefined
}

const child = fileURLToPath(new URL("Child.ts", import.meta.url))

/** `troupe/embed` and the other entries are the sources of this clone. */
const flags = ["--expose-gc", "--max-old-space-size=8192", "--conditions=troupe-source"]

const start = (
  row: string,
  variant: string,
  args: ReadonlyArray<string>,
  talks = false
): ChildProcess =>
  spawn(process.execPath, [...flags, child, row, variant, ...args], {
    stdio: talks ? ["ignore", "pipe", "inherit", "ipc"] : ["ignore", "pipe", "inherit"]
  })

/** The document that a process prints last. */
const printed = <A>(node: ChildProcess, name: string): Promise<A> =>
  new Promise((resolve, reject) => {
    let text = ""
    node.stdout!.on("data", (chunk: Buffer) => (text += chunk.toString()))
    node.once("error", reject)
    node.once("close", (code) => {
      const last = text.trimEnd().split("\n").at(-1) ?? ""
      if (code === 0) resolve(JSON.parse(last) as A)
      else reject(new Error(`${name} ended with ${code}`))
    })
  })

/** Runs one variant in a fresh process, and gives the document that it prints. */
export const sample = <A = Sample>(
  row: string,
  variant: string,
  args: ReadonlyArray<string> = []
): Promise<A> => printed<A>(start(row, variant, args), `${row} ${variant}`)

/** Runs one variant in a fresh process until it says something, and kills it with signal 9. */
export const killed = (row: string, variant: string, args: ReadonlyArray<string>): Promise<void> =>
  new Promise((resolve, reject) => {
    const node = start(row, variant, args)
    let said = false
    node.stdout!.once("data", () => {
      said = true
      node.kill("SIGKILL")
    })
    node.once("error", reject)
    node.once("close", (code) =>
      said ? resolve() : reject(new Error(`${row} ${variant} ended with ${code}`))
    )
  })

/** A variant that serves others. */
export interface Served {
  /** What it printed first. */
  readonly said: string
  readonly stop: () => Promise<void>
}

/** Runs one variant in a fresh process until it says something, and lets it go on; it learns when this process is gone. */
export const served = (row: string, variant: string, args: ReadonlyArray<string>) =>
  new Promise<Served>((resolve, reject) => {
    const node = start(row, variant, args, true)
    const gone = new Promise<void>((ended) => node.once("exit", () => ended()))
    const stop = () => {
      node.disconnect()
      return gone
    }
    node.stdout!.on("data", (chunk: Buffer) => resolve({ said: chunk.toString().trim(), stop }))
    node.once("error", reject)
    node.once("exit", (code) => reject(new Error(`${row} ${variant} ended with ${code}`)))
  })

/** A variant that measures in slices. */
export interface Variant {
  readonly row: string
  readonly variant: string
  readonly args?: ReadonlyArray<string>
}

const ready = (node: ChildProcess, name: string): Promise<void> =>
  new Promise((resolve, reject) => {
    const ended = (code: number | null) => reject(new Error(`${name} ended with ${code}`))
    node.once("close", ended)
    node.once("message", () => {
      node.off("close", ended)
      resolve()
    })
  })

/**
 * Samples of several variants, each in a fresh process in every round. Within a round they take slices in turn, of some
 * 50 ms each: what else the machine does falls on all of them alike.
 */
export const inTurn = async <Name extends string>(
  rounds: number,
  slices: number,
  variants: Readonly<Record<Name, Variant>>
): Promise<Readonly<Record<Name, ReadonlyArray<Sample>>>> => {
  const names = Object.keys(variants) as Array<Name>
  const samples = Object.fromEntries(names.map((name) => [name, [] as Array<Sample>])) as Record<
    Name,
    Array<Sample>
  >
  for (let round = 0; round < rounds; round++) {
    const order = names.map((_, i) => names[(i + round) % names.length]!)
    const running: Array<{ readonly name: Name; readonly node: ChildProcess }> = []
    // One after the other: what is compiled while others wait is compiled in peace.
    for (const name of order) {
      const { args = [], row, variant } = variants[name]
      const node = start(row, variant, args, true)
      running.push({ name, node })
      await ready(node, name)
    }
    for (let slice = 0; slice < slices; slice++) {
      for (const { name, node } of running) {
        node.send("slice")
        await ready(node, name)
      }
    }
    for (const { name, node } of running) {
      const sample = printed<Sample>(node, name)
      node.send("end")
      samples[name].push(await sample)
    }
  }
  return samples
}

/** Samples of several variants, interleaved, in an order that turns from round to round. */
export const interleave = async <Name extends string>(
  rounds: number,
  names: ReadonlyArray<Name>,
  take: (name: Name) => Promise<Sample>
): Promise<Readonly<Record<Name, ReadonlyArray<Sample>>>> => {
  const samples = Object.fromEntries(names.map((name) => [name, [] as Array<Sample>])) as Record<
    Name,
    Array<Sample>
  >
  for (let round = 0; round < rounds; round++) {
    for (let i = 0; i < names.length; i++) {
      const name = names[(i + round) % names.length]!
      samples[name].push(await take(name))
    }
  }
  return samples
}

export const median = (values: ReadonlyArray<number>): number => {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/** One measure of two variants, as ratios of the rounds. */
export const ratio = (
  about: Pick<Line, "row" | "unit" | "bound" | "against">,
  ours: ReadonlyArray<Sample>,
  lower: ReadonlyArray<Sample>,
  measure: string,
  lowerMeasure = measure
): Line => {
  const ratios = ours.map((each, i) => each[measure]! / lower[i]![lowerMeasure]!)
  return {
    ...about,
    ours: median(ours.map((each) => each[measure]!)),
    lower: median(lower.map((each) => each[lowerMeasure]!)),
    value: median(ratios),
    least: Math.min(...ratios),
    greatest: Math.max(...ratios),
    rounds: ratios.length
  }
}

/** One measure that has a bound of its own. */
export const absolute = (
  about: Pick<Line, "row" | "unit" | "bound" | "against">,
  samples: ReadonlyArray<Sample>,
  measure: string
): Line => {
  const values = samples.map((each) => each[measure]!)
  return {
    ...about,
    ours: median(values),
    lower: undefined,
    value: median(values),
    least: Math.min(...values),
    greatest: Math.max(...values),
    rounds: values.length
  }
}

export const holds = ({ bound, value }: Line): boolean =>
  bound === undefined || (bound.kind === "at most" ? value <= bound.bound : value >= bound.bound)
