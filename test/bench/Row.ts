/**
 * A row of the bench: what is measured, beside a lower bound written by hand that does the same work without a runtime.
 * Each variant runs in a process of its own in every round, so that neither inherits the other's heap, compiled code or
 * luck; one after the other, or in slices that take turns. What counts is the median of the ratios of the rounds.
 */
import type { ChildProcess } from "node:child_process"
import { spawn } from "node:child_process"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import type { Bound } from "./Bounds.ts"

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
  /** One of `bounds`. Absent: printed for information. */
  readonly bound: Bound | undefined
  readonly against: string
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

/** Of what a process printed, in characters: what an error about it quotes. */
const quoted_max = 4_000

interface Started {
  readonly node: ChildProcess
  /** That it ended, and what it printed last. */
  readonly failed: (code: number | null, signal: NodeJS.Signals | null) => Error
}

const start = (
  row: string,
  variant: string,
  args: ReadonlyArray<string>,
  {
    more = [],
    talks = false
  }: { readonly more?: ReadonlyArray<string>; readonly talks?: boolean } = {}
): Started => {
  const node = spawn(process.execPath, [...flags, ...more, child, row, variant, ...args], {
    stdio: talks ? ["ignore", "pipe", "pipe", "ipc"] : ["ignore", "pipe", "pipe"]
  })
  let said = ""
  const keep = (chunk: Buffer) => (said = (said + chunk.toString()).slice(-quoted_max))
  node.stdout!.on("data", keep)
  node.stderr!.on("data", keep)
  node.stderr!.pipe(process.stderr, { end: false })
  const failed = (code: number | null, signal: NodeJS.Signals | null) =>
    new Error(`${row} ${variant} ended with ${code ?? signal}, and printed last:\n${said}`)
  return { node, failed }
}

/** The document that a process prints last. */
const printed = <A>({ failed, node }: Started): Promise<A> =>
  new Promise((resolve, reject) => {
    let text = ""
    node.stdout!.on("data", (chunk: Buffer) => (text += chunk.toString()))
    node.once("error", reject)
    node.once("close", (code, signal) => {
      const last = text.trimEnd().split("\n").at(-1) ?? ""
      if (code === 0) resolve(JSON.parse(last) as A)
      else reject(failed(code, signal))
    })
  })

/** Runs one variant in a fresh process, with flags of its own, and gives the document that it prints. */
export const sample = <A = Sample>(
  row: string,
  variant: string,
  args: ReadonlyArray<string> = [],
  more: ReadonlyArray<string> = []
): Promise<A> => printed<A>(start(row, variant, args, { more }))

/** The line with which a variant says that it is ready: `ready`, or the URL that it serves. A service prints others before it. */
const isReady = (line: string): boolean => line === "ready" || line.startsWith("http://")

const onReady = (node: ChildProcess, ready: (line: string) => void): void => {
  createInterface({ input: node.stdout! }).on("line", (line) => {
    if (isReady(line)) ready(line)
  })
}

/** Runs one variant in a fresh process until it says that it is ready, and kills it with signal 9. */
export const killed = (row: string, variant: string, args: ReadonlyArray<string>): Promise<void> =>
  new Promise((resolve, reject) => {
    const { failed, node } = start(row, variant, args)
    let wasReady = false
    onReady(node, () => {
      wasReady = true
      node.kill("SIGKILL")
    })
    node.once("error", reject)
    node.once("close", (code, signal) => (wasReady ? resolve() : reject(failed(code, signal))))
  })

/** A variant that serves others. */
export interface Served {
  readonly url: string
  readonly stop: () => Promise<void>
}

/** Runs one variant in a fresh process until it serves, and lets it go on; it learns when this process is gone. */
export const served = (row: string, variant: string, args: ReadonlyArray<string>) =>
  new Promise<Served>((resolve, reject) => {
    const { failed, node } = start(row, variant, args, { talks: true })
    const gone = new Promise<void>((ended) => node.once("exit", () => ended()))
    const stop = () => {
      node.disconnect()
      return gone
    }
    onReady(node, (url) => resolve({ url, stop }))
    node.once("error", reject)
    node.once("close", (code, signal) => reject(failed(code, signal)))
  })

/** A variant that measures in slices. */
export interface Variant {
  readonly row: string
  readonly variant: string
  readonly args?: ReadonlyArray<string>
}

const ready = ({ failed, node }: Started): Promise<void> =>
  new Promise((resolve, reject) => {
    const ended = (code: number | null, signal: NodeJS.Signals | null) =>
      reject(failed(code, signal))
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
    const running: Array<{ readonly name: Name; readonly started: Started }> = []
    // One after the other: what is compiled while others wait is compiled in peace.
    for (const name of order) {
      const { args = [], row, variant } = variants[name]
      const started = start(row, variant, args, { talks: true })
      running.push({ name, started })
      await ready(started)
    }
    for (let slice = 0; slice < slices; slice++) {
      for (const { started } of running) {
        started.node.send("slice")
        await ready(started)
      }
    }
    for (const { name, started } of running) {
      const sample = printed<Sample>(started)
      started.node.send("end")
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
  bound?.promise === undefined ||
  (bound.kind === "at most" ? value <= bound.promise : value >= bound.promise)
