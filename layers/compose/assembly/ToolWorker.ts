/**
 * A worker of the tool queue: its tools, and the gate that their calls pass.
 */
import * as NodeCrypto from "@effect/platform-node-shared/NodeCrypto"
import { Layer } from "effect"
import type { Effect } from "effect"
import { SecureRandom } from "effect/crypto"
import type { MisdeclaredPolicy } from "../../../src/permission/PolicyCheck.ts"
import type { DuplicateTool } from "../../../src/tool/Registry.ts"
import type { StoreError } from "../../../services/StoreError.ts"
import type { ToolQueue } from "../../../services/ToolQueue.ts"
import * as LocalToolRegistry from "../../runtime/directory/LocalToolRegistry.ts"
import type { ToolNotQueueable, WorkerOptions } from "../../runtime/queue/ServedTools.ts"
import type { WorkerRunning } from "../../runtime/queue/ToolQueueWorker.ts"
import * as ToolQueueWorker from "../../runtime/queue/ToolQueueWorker.ts"

type Family = LocalToolRegistry.Family<unknown, unknown>

/** The tools that a worker runs for the queue, and what they may do. */
export interface Options<Families extends ReadonlyArray<Family>> extends Pick<
  WorkerOptions,
  "capabilities" | "consumer_name_suffix" | "provider"
> {
  /** The tools of the worker, as `tool` and `govern` make them. */
  readonly tools: Families
  /** The names of the tools to serve. Absent = all tools that can run from a queue. */
  readonly serve?: ReadonlyArray<string>
}

type StartError<Families extends ReadonlyArray<Family>> =
  | Effect.Error<Families[number]>
  | DuplicateTool
  | MisdeclaredPolicy
  | ToolNotQueueable

type Needs<Families extends ReadonlyArray<Family>> = Effect.Services<Families[number]> | ToolQueue

const workerOf = <E, R, const Families extends ReadonlyArray<Family>>(
  worker: (options: WorkerOptions) => Layer.Layer<ToolQueueWorker.ToolQueueWorker, E, R>,
  { serve, tools, ...options }: Options<Families>
) =>
  worker({ ...options, ...(serve === undefined ? undefined : { tools: serve }) }).pipe(
    Layer.provide(LocalToolRegistry.layer(...tools)),
    Layer.provide(Layer.merge(NodeCrypto.layerDigest, SecureRandom.layerWebCrypto))
  )

/** A worker that runs until its scope closes. */
export const layer = <const Families extends ReadonlyArray<Family>>(
  options: Options<Families>
): Layer.Layer<
  ToolQueueWorker.ToolQueueWorker,
  StartError<Families> | WorkerRunning | StoreError,
  Needs<Families>
> => workerOf(ToolQueueWorker.layer, options)

/** A worker that takes no calls until the application starts it, and that stops with its scope at the latest. */
export const layerIdle = <const Families extends ReadonlyArray<Family>>(
  options: Options<Families>
): Layer.Layer<ToolQueueWorker.ToolQueueWorker, StartError<Families>, Needs<Families>> =>
  workerOf(ToolQueueWorker.layerIdle, options)
