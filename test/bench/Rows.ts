/**
 * The rows of the bench, by the names that the command line takes, in the order in which they are measured.
 */
import type { Row } from "./Row.ts"

export const rows: Readonly<Record<string, () => Promise<{ readonly row: Row }>>> = {
  step: () => import("./Step.ts"),
  fan: () => import("./Fan.ts"),
  history: () => import("./History.ts"),
  concurrent: () => import("./Concurrent.ts"),
  send: () => import("./Send.ts"),
  "send-durable": () => import("./SendDurable.ts"),
  http: () => import("./Http.ts"),
  calls: () => import("./Calls.ts"),
  durable: () => import("./Durable.ts"),
  bytes: () => import("./Bytes.ts"),
  answers: () => import("./Answers.ts"),
  recall: () => import("./Recall.ts"),
  console: () => import("./ConsolePages.ts"),
  followers: () => import("./Followers.ts"),
  wires: () => import("./Watched.ts"),
  recovery: () => import("./Recovery.ts"),
  resume: () => import("./Resume.ts"),
  leak: () => import("./Leak.ts"),
  memory: () => import("./Memory.ts"),
  resident: () => import("./Resident.ts"),
  disk: () => import("./Disk.ts"),
  waiting: () => import("./Waiting.ts"),
  import: () => import("./Import.ts")
}
