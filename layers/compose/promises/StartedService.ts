/**
 * The service that `start` of `troupe/embed` returns. It is imported when a service starts, so that importing the entry
 * alone loads no runtime.
 */
import type { Layer } from "effect"
import { Cause, Context, Effect, Exit, ManagedRuntime } from "effect"
import type { Principal } from "../../../src/principal/Principal.ts"
import type { Answer, Following, Wait } from "./Answer.ts"
import { asyncIterables } from "./AsyncStream.ts"
import * as EmbeddedHttp from "./EmbeddedHttp.ts"
import { ShuttingDown } from "../../../services/AgentRuntime.ts"
import type { NodeService, Send, StreamedRun } from "./NodeService.ts"
import type { Options } from "../options/ServiceOptions.ts"
import { AddedGroups } from "../../service/AddedGroups.ts"
import { featureMethods } from "./FeatureMethods.ts"
import { OpenCalls, unlessEnding } from "./OpenCalls.ts"
import * as ServiceMethods from "./ServiceMethods.ts"
import type { Services } from "./StartedLayer.ts"
import * as StartedLayer from "./StartedLayer.ts"
import { abortable } from "./AbortableIterable.ts"
import { isSignal } from "./Waiting.ts"

type Run = <A, E>(
  effect: Effect.Effect<A, E, Services>,
  options?: { readonly signal?: AbortSignal | undefined }
) => Promise<A>

type Methods = Pick<NodeService, keyof typeof ServiceMethods.methods>

/** The methods as functions that run their Effects. */
const promised = (run: Run, methods: object): object =>
  Object.fromEntries(
    Object.entries(methods).map(([name, method]) => [
      name,
      (...args: ReadonlyArray<never>) =>
        run(
          (method as (...args: ReadonlyArray<never>) => Effect.Effect<unknown, unknown, Services>)(
            ...args
          )
        )
    ])
  )

/** Runs a wait for an answer until the signal aborts, and then rejects with the signal's reason. */
const runUntilAborted = async (
  run: Run,
  wait: Wait | undefined,
  answer: Effect.Effect<Answer, unknown, Services>
): Promise<Answer> => {
  const signal: unknown = wait?.signal
  // A value that is not a signal is refused with the other options of the wait.
  if (!isSignal(signal)) return run(answer)
  signal.throwIfAborted()
  try {
    return await run(answer, { signal })
  } catch (error) {
    throw signal.aborted ? signal.reason : error
  }
}

const conversationMethods = (run: Run, services: Context.Context<Services>) => {
  const calls = Context.get(services, OpenCalls)
  const { ofFeed, ofStream } = asyncIterables(forkOf(services))
  const withSignal = abortable(ofStream)
  return {
    send: (async (message: Send, by?: Principal) =>
      run(ServiceMethods.send(message, by))) as NodeService["send"],
    // What a method gives depends on the answer schema of its message.
    ask: (async (message: Send, by?: Principal, wait?: Wait) =>
      runUntilAborted(run, wait, ServiceMethods.ask(message, by, wait))) as NodeService["ask"],
    result: (async (id: string, by?: Principal, wait?: Wait) =>
      runUntilAborted(run, wait, ServiceMethods.result(id, by, wait))) as NodeService["result"],
    stream: ((message: Send | StreamedRun, by?: Principal, following?: Following) =>
      withSignal(ofStream(ServiceMethods.stream(message, by)), following)) as NodeService["stream"],
    watch: (id, after, by, following) => {
      const opened = ServiceMethods.openWatch(id, after, by as Principal | undefined)
      return withSignal(ofFeed(unlessEnding(calls, opened)), following)
    }
  } satisfies Partial<NodeService>
}

/** Forks Effects, and counts each of them among the calls of the service until it is over. */
const forkOf = (services: Context.Context<Services>) => {
  const calls = Context.get(services, OpenCalls)
  const fork = Effect.runForkWith(services)
  return <A, E>(
    effect: Effect.Effect<A, E, Services>,
    options?: { readonly signal?: AbortSignal | undefined }
  ) => {
    calls.begin()
    const fiber = fork(effect, options)
    fiber.addObserver(calls.finish)
    return fiber
  }
}

/** Runs Effects as promises, until the service stops. */
const promises = (services: Context.Context<Services>): Run => {
  const calls = Context.get(services, OpenCalls)
  const fork = forkOf(services)
  return (effect, options) =>
    new Promise((resolve, reject) => {
      if (calls.isEnding()) return reject(new ShuttingDown())
      fork(effect, options).addObserver((exit) => {
        if (Exit.isSuccess(exit)) resolve(exit.value)
        else reject(Cause.squash(exit.cause))
      })
    })
}

/** The service over a Layer of `StartedLayer`, run in this process until `stop`. */
export const serviceOf = async <E>(layer: Layer.Layer<Services, E>) => {
  const runtime = ManagedRuntime.make(layer)
  const services = await runtime.context()
  const run = promises(services)
  const service: NodeService = {
    ...conversationMethods(run, services),
    ...(promised(run, ServiceMethods.methods) as Methods),
    of: featureMethods(Context.get(services, AddedGroups), (methods) =>
      promised(run, methods)
    ) as NodeService["of"],
    ...EmbeddedHttp.methods(services),
    stop: () => {
      Context.get(services, OpenCalls).end()
      return runtime.dispose()
    }
  }
  return { run, service }
}

/** Starts the service that the options describe. Rejects with the typed error that prevented the start. */
export const startService = async (options: Options): Promise<NodeService> =>
  (await serviceOf(StartedLayer.layer(options))).service
