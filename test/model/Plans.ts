/**
 * Models for plans: each does what the test says, and records when it was called and how many calls ran at once.
 */
import { Clock, Effect, Exit } from "effect"
import { ModelError } from "../../services/ModelGateway.ts"
import type { ModelDelta, ModelRequest } from "../../services/ModelGateway.ts"
import { gatewayOf } from "../../layers/model/plan/ModelPlan.ts"
import type { ModelPlan, PlannedModel } from "../../layers/model/plan/ModelPlan.ts"
import * as ResilientModelGateway from "../../layers/model/plan/ResilientModelGateway.ts"
import { text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import type { Turn } from "../../src/run/RunDecider.ts"
import { request } from "./Gateway.ts"

export type Sink = (delta: ModelDelta) => void
export type Doing = (
  request: ModelRequest,
  sink: Sink,
  n: number
) => Effect.Effect<Turn, ModelError>

export interface Model extends PlannedModel {
  /** When it was called, in ms. */
  readonly times: Array<number>
  readonly asked: Array<ModelRequest>
  /** Attempts that run now, and the most that ever did. */
  readonly load: { now: number; most: number }
}

export const model = (name: string, doing: Doing, provider = "acme", id?: string): Model => {
  const times: Array<number> = []
  const asked: Array<ModelRequest> = []
  const load = { now: 0, most: 0 }
  return {
    name,
    provider,
    times,
    asked,
    load,
    ...(id === undefined ? undefined : { model: id }),
    gateway: {
      turn: (request, sink) =>
        Effect.acquireUseRelease(
          Effect.map(Clock.currentTimeMillis, (now) => {
            times.push(now)
            asked.push(request)
            load.now++
            load.most = Math.max(load.most, load.now)
          }),
          () => doing(request, sink, asked.length),
          () => Effect.sync(() => void load.now--)
        )
    }
  }
}

export const says =
  (said: string): Doing =>
  (_request, sink) => {
    sink({ kind: "text", text: said, offset: 0 })
    return Exit.succeed(text(said, { model: `${said}-1` }))
  }

export const fails =
  (
    kind: ModelError["kind"] = "transient",
    also: Partial<Pick<ModelError, "retry_after_ms">> = {}
  ): Doing =>
  () =>
    Exit.fail(new ModelError({ kind, message: `it is ${kind}`, ...also }))

/** What it does the first time, the second, and so on; the last one again for those beyond. */
export const inTurn =
  (...doings: ReadonlyArray<Doing>): Doing =>
  (request, sink, n) =>
    doings[Math.min(n, doings.length) - 1]!(request, sink, n)

/** A gateway over a plan, for as long as the test. */
export const planned = (plan: ModelPlan) =>
  Effect.map(gatewayOf(ResilientModelGateway.layer(Effect.succeed(plan))), (gateway) => ({
    turn: (over: Partial<ModelRequest> = {}, sink: Sink = () => {}) =>
      gateway.turn(request(over), sink)
  }))
