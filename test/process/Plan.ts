/**
 * What the parent and its child processes say to each other. A message to the agent is a plan: the calls of each step,
 * by tool. The scripted model reads it from the transcript, so that a new process goes on where the old one was.
 */
import type { Settlement } from "../../src/run/UnknownCall.ts"

/**
 * `read`: no effect. `once`: an effect outside, at most once. `gated`: the same, and a person is asked. `keyed`: declares
 * idempotency. `told`: can be asked what became of it. `row`: a row of the side table, committed with its event. `far` and
 * `sure`: what `once` and `keyed` are, in a worker of the queue. `sole`: at most once for each step of a plan, whichever run does it. `posted` and `reposted`: the same as direct calls.
 */
export type ToolName =
  | "read"
  | "once"
  | "gated"
  | "keyed"
  | "told"
  | "row"
  | "sole"
  | "far"
  | "sure"
  | "posted"
  | "reposted"

export interface Plan {
  /** Names the run for stop points. */
  readonly tag: string
  readonly steps: ReadonlyArray<ReadonlyArray<ToolName>>
}

/**
 * Where a worker can be held, so that it is killed exactly there. Each names what comes next, except `begun`, `dispatched`,
 * `committed` and `sent`, which name what has just become durable or has happened.
 */
export type Point =
  | "begun"
  | "model"
  | "dispatch"
  | "dispatched"
  | "settle"
  | "transaction"
  | "committed"
  | "claim"
  | "send"
  | "sent"

/** Holds whatever comes to the point with this tag: a run's plan, a webhook's subject, or `relay` for `claim`. */
export interface Hold {
  readonly point: Point
  readonly tag: string
}

export type Store = { readonly directory: string } | { readonly postgres: string }

export interface WorkerConfig {
  readonly store: Store
  /** The counter's address. */
  readonly counter: string
  readonly holds: ReadonlyArray<Hold>
  /** How long a turn of the model takes, in ms. */
  readonly model_ms: number
  readonly park_ms: number
  readonly lease_ms: number
  /** How long a delivery may take; its lease is half a second longer. */
  readonly relay_ms: number
  readonly sweep_ms: number
  /** Its agent may use the tools of the queue's worker, which a directory of one process has not. */
  readonly remote: boolean
  /** A control: appends past the fence, as a replaced layer. */
  readonly unfenced: boolean
}

export type Question =
  | { readonly op: "pending" | "actors" | "rows" | "depth" | "memory" }
  | { readonly op: "events" | "statuses"; readonly runs: ReadonlyArray<string> }

export type Request =
  | Question
  | {
      readonly op: "send"
      readonly plan: Plan
      readonly key: string
      readonly conversation?: string
    }
  | { readonly op: "decide"; readonly approval: string; readonly by: string }
  | {
      readonly op: "settle"
      readonly run: string
      readonly call: string
      readonly settlement: Settlement
    }
  | { readonly op: "webhooks"; readonly subjects: ReadonlyArray<string> }
  | { readonly op: "hold" | "release"; readonly hold: Hold }
  /** The process's clock is wrong by so much from here on. */
  | { readonly op: "skew"; readonly ms: number }

/** What a process says without being asked. */
export type Notice =
  | { readonly notice: "ready"; readonly url?: string }
  | { readonly notice: "reached"; readonly point: string; readonly tag: string }
  | { readonly notice: "received"; readonly tool: string; readonly tag: string }
  | { readonly notice: "fenced"; readonly run: string }
  | { readonly notice: "stopping" }

export type Reply =
  | { readonly id: number; readonly answer: unknown }
  | { readonly id: number; readonly error: string }

/** One effect, as the counter's log keeps it. */
export interface Seen {
  readonly tool: string
  readonly tag: string
  readonly run: string
  readonly call: string
  /** The idempotency key of the call, or the id of the webhook's event. */
  readonly key: string
}
