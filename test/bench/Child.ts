/**
 * The process of one variant: `node Child.ts <row> <variant> ...` prints what it measured as one line of JSON.
 */
import type { Sample } from "./Row.ts"

const [row, variant, ...args] = process.argv.slice(2)
const variants: Readonly<Record<string, () => Promise<unknown>>> = {
  step: () => import("./StepVariants.ts"),
  concurrent: () => import("./StepVariants.ts"),
  fan: () => import("./StepVariants.ts"),
  history: () => import("./StepVariants.ts"),
  send: () => import("./SendVariants.ts"),
  remembering: () => import("./RememberingVariants.ts"),
  "send-durable": () => import("./SendDurableVariants.ts"),
  http: () => import("./HttpVariants.ts"),
  calls: () => import("./CallsVariants.ts"),
  disk: () => import("./DiskVariants.ts"),
  durable: () => import("./DurableVariants.ts"),
  bytes: () => import("./BytesVariants.ts"),
  answers: () => import("./AnswersVariants.ts"),
  recall: () => import("./RecallVariants.ts"),
  console: () => import("./ConsolePagesVariants.ts"),
  followers: () => import("./FollowersVariants.ts"),
  wires: () => import("./WatchedVariants.ts"),
  recovery: () => import("./RecoveryVariants.ts"),
  resume: () => import("./ResumeVariants.ts"),
  memory: () => import("./MemoryVariants.ts"),
  leak: () => import("./LeakVariants.ts"),
  resident: () => import("./ResidentVariants.ts"),
  waiting: () => import("./WaitingVariants.ts"),
  import: () => import("./ImportVariants.ts")
}
const module = (await variants[row ?? ""]?.()) as
  | Readonly<Record<string, (...args: ReadonlyArray<string>) => Promise<Sample>>>
  | undefined
const run = module?.[variant ?? ""]
// A variant that waits for its parent's word does not outlive it.
process.once("disconnect", () => process.exit(1))
if (run === undefined) throw new Error(`there is no variant ${variant} of ${row}`)
console.log(JSON.stringify(await run(...args)))
// What still runs, such as a deadline's timer, is no part of what was measured.
process.exit(0)
