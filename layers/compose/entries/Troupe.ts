/**
 * Troupe for a program in Effect: a runtime of the options that `start` of `troupe/embed` takes, as one Layer.
 *
 * ```ts
 * const program = Effect.gen(function* () {
 *   const troupe = yield* Troupe
 *   return yield* troupe.ask({ agent: "shop", text: "Pay order 1003 back" })
 * })
 * program.pipe(Effect.provide(Troupe.layer({ agents, tools, model })))
 * ```
 */
import { ConfigProvider, Context, Effect, Layer, References, Scope, Stream, Tracer } from "effect"
import type { FeedItem } from "../../../src/run/FeedItem.ts"
import type { ModelGateway } from "../../../services/ModelGateway.ts"
import type { PrincipalInput } from "../../../src/principal/Principal.ts"
import type { AnySchema } from "../../../src/tool/ToolCodec.ts"
import type * as LocalToolRegistry from "../../runtime/directory/LocalToolRegistry.ts"
import type { ModelChoice } from "../../model/providers/ChosenModels.ts"
import type { Wait } from "../promises/Answer.ts"
import * as EmbeddedHttp from "../promises/EmbeddedHttp.ts"
import type { MethodOf } from "../promises/DerivedMethods.ts"
import type { EffectsOf as FeatureEffectsOf } from "../promises/FeatureMethods.ts"
import { featureMethods } from "../promises/FeatureMethods.ts"
import type { NodeService, Sent, StreamedRun } from "../promises/NodeService.ts"
import type { AnswerTo, PartTo, SendTo, ToAgent } from "../promises/SendTo.ts"
import { AddedGroups } from "../../service/AddedGroups.ts"
import type { AnyFeature, Ports, StorePorts } from "../options/Feature.ts"
import type { Options } from "../options/ServiceOptions.ts"
import * as ServiceMethods from "../promises/ServiceMethods.ts"
import type { Services, StartError } from "../promises/StartedLayer.ts"
import * as StartedLayer from "../promises/StartedLayer.ts"
import type { HttpMethods } from "../assembly/ServedHttp.ts"

export type { StartError } from "../promises/StartedLayer.ts"

type Plain = Pick<NodeService, keyof typeof ServiceMethods.methods>

/** The methods of `NodeService` that return one value, with the errors of each. */
type Methods = {
  readonly [Name in keyof Plain]: (
    ...args: Parameters<Plain[Name]>
  ) => Effect.Effect<
    Awaited<ReturnType<Plain[Name]>>,
    Effect.Error<ReturnType<(typeof ServiceMethods.methods)[Name]>>
  >
}

type SendError = Effect.Error<ReturnType<typeof ServiceMethods.send>>
type AskError = Effect.Error<ReturnType<typeof ServiceMethods.ask>>
type ResultError = Effect.Error<ReturnType<typeof ServiceMethods.result>>
type StreamError = Stream.Error<ReturnType<typeof ServiceMethods.stream>>
type WatchError = Stream.Error<ReturnType<typeof ServiceMethods.watch>>

/** The options of a wait. An interruption ends the wait too and, with `cancel`, the run. */
export type EffectWait = Omit<Wait, "signal">

/** `NodeService` in Effect: the same arguments, refusals and results, with typed errors; waits end by interruption. */
export interface TroupeService extends Methods, HttpMethods {
  /** Sends a message. The message is durable when this succeeds, and is handled afterwards. */
  send<To extends ToAgent = string, S extends AnySchema = never>(
    message: SendTo<{}, To, S>,
    by?: PrincipalInput
  ): Effect.Effect<Sent, SendError>
  /** Sends a message and waits for the end of its run or for its first question. The sending itself cannot be interrupted. */
  ask<To extends ToAgent = string, S extends AnySchema = never>(
    message: SendTo<{}, To, S>,
    by?: PrincipalInput,
    wait?: EffectWait
  ): Effect.Effect<AnswerTo<S>, AskError>
  /** Waits as `ask` does, for a run whose message was sent before. */
  result<S extends AnySchema = never>(
    run: string,
    by?: PrincipalInput,
    wait?: EffectWait & { readonly answer?: S }
  ): Effect.Effect<AnswerTo<S>, ResultError>
  /** Sends the message when the stream is run, or takes up a run that was sent before, and goes on until the run has ended. */
  stream<To extends ToAgent = string, S extends AnySchema = never>(
    message: SendTo<{}, To, S> | (StreamedRun & { readonly answer?: S }),
    by?: PrincipalInput
  ): Stream.Stream<PartTo<S>, StreamError>
  /** The methods of a feature of this runtime. Throws InvalidInput for a feature that its options do not have. */
  readonly of: <F extends AnyFeature<unknown>>(feature: F) => FeatureEffects<F>
  /** Everything that happens in a conversation or a run, from its start. */
  readonly watch: (
    conversation_or_run: string,
    after?: { readonly ordinal: number; readonly seq: number },
    by?: PrincipalInput
  ) => Stream.Stream<FeedItem, WatchError>
}

/** The methods of a feature's operations. */
export type FeatureEffects<F extends AnyFeature<unknown>> =
  FeatureEffectsOf<F> extends infer Effects
    ? {
        readonly [Name in keyof Effects]: MethodOf<Effects[Name]> extends (
          ...args: infer Args
        ) => Effect.Effect<infer A, infer E, unknown>
          ? (...args: Args) => Effect.Effect<A, E>
          : never
      }
    : never

type ListOptions = "tools" | "shared" | "deliveries" | "channels" | "features"
type LayerName = "model" | "tokenizer" | "ports" | "ingress"

/** The options of `start`, except that tools, Layers and Effects may also need services of the program. */
export interface LayerOptions extends Omit<Options, ListOptions | LayerName> {
  /** Single tools and families of tools, as `tool`, `govern` and `remote` make them. */
  readonly tools?: ReadonlyArray<LocalToolRegistry.Family<unknown, unknown>>
  /** Tools that `tools` may replace by ones with the same plain name: families, and plugins, which are families under a manifest. */
  readonly shared?: ReadonlyArray<LocalToolRegistry.Shared<unknown, unknown>>
  /** Handlers of topics of the outbox, each topic once. Absent = none. */
  readonly deliveries?: ReadonlyArray<Effect.Effect<Delivery, unknown, unknown>>
  /** Ways to reach people beside `in_app`, such as e-mail. Absent = none. */
  readonly channels?: ReadonlyArray<Effect.Effect<Channel, unknown, unknown>>
  /** Operations, tables, tools and event handlers of the application. Absent = none. */
  readonly features?: ReadonlyArray<AnyFeature<unknown>>
  /** The model of every agent that names none; several are tried in their order. Or a Layer of `ModelGateway`. */
  readonly model:
    | ModelChoice
    | ReadonlyArray<ModelChoice>
    | Layer.Layer<ModelGateway, unknown, unknown>
  /** A Layer that sets the `Tokenizer`. Absent = tokens are estimated from the length of a text. */
  readonly tokenizer?: Layer.Layer<never, unknown, unknown>
  /** A Layer of services that take the place of the runtime's own. Absent = none. */
  readonly ports?: Layer.Layer<never, unknown, unknown>
  /** A Layer that takes messages in from outside, such as Slack's. Absent = none. */
  readonly ingress?: Layer.Layer<never, unknown, unknown>
}

type Each<Listed> = NonNullable<Listed> extends ReadonlyArray<infer Item> ? Item : never
type Delivery = Effect.Success<Each<Options["deliveries"]>>
type Channel = Effect.Success<Each<Options["channels"]>>

type Member<O, Name> = Name extends keyof O ? NonNullable<O[Name]> : never

/** Of plugins. */
type ToolsOf<Each> = Each extends { readonly tools: infer Tools } ? Tools : never

/** Effects among the options. */
type EffectsOf<O> =
  | Extract<
      Each<Member<O, "tools" | "shared" | "deliveries" | "channels">>,
      Effect.Effect<unknown, unknown, unknown>
    >
  | ToolsOf<Each<Member<O, "shared">>>

/** Layers among the options. */
type LayersOf<O> = Extract<Member<O, LayerName>, Layer.Any>

type FeatureLayers<O> = Each<Member<O, "features">> extends { readonly layer: infer L } ? L : never

/** What the options need and the runtime does not give. */
type NeedsOf<O> =
  | Exclude<
      | Effect.Services<EffectsOf<O>>
      | Layer.Services<Extract<FeatureLayers<O> | Member<O, "ports">, Layer.Any>>,
      StorePorts
    >
  | Exclude<Layer.Services<Extract<Member<O, "ingress">, Layer.Any>>, Ports>
  | Layer.Services<Extract<Member<O, "model" | "tokenizer">, Layer.Any>>

type Method = (...args: ReadonlyArray<never>) => Effect.Effect<unknown, unknown, Services>

const troupeOf = (built: Context.Context<Services>): TroupeService => {
  // The span and the scope in which the Layer is built are not those in which a method is called.
  const services = Context.omit(Tracer.ParentSpan, Scope.Scope)(built) as Context.Context<Services>
  const effectOf =
    (method: Method): Method =>
    (...args) =>
      Effect.provideContext(method(...args), services)
  const performed = (methods: object) =>
    Object.fromEntries(
      Object.entries(methods).map(([name, method]) => [name, effectOf(method as Method)])
    )
  const { stream, watch } = ServiceMethods
  return {
    ...performed({
      send: ServiceMethods.send,
      ask: ServiceMethods.ask,
      result: ServiceMethods.result,
      ...ServiceMethods.methods
    }),
    of: featureMethods(Context.get(services, AddedGroups), performed),
    stream: (...args: Parameters<typeof stream>) =>
      Stream.provideContext(stream(...args), services),
    watch: (...args: Parameters<typeof watch>) => Stream.provideContext(watch(...args), services),
    ...EmbeddedHttp.methods(services)
  } as unknown as TroupeService
}

/** What a program gets beside `Troupe`: not the scope, the spans and the environment of the Layer. */
const portsOf = Context.omit(
  Tracer.ParentSpan,
  Tracer.Tracer,
  Scope.Scope,
  ConfigProvider.ConfigProvider,
  References.CurrentLoggers
)

/** A runtime in the process that runs the program. */
export class Troupe extends Context.Service<Troupe, TroupeService>()("troupe/Troupe") {
  /**
   * Starts when it is built, and stops with its scope, after the steps in flight. Gives the ports of the runtime too, which
   * `routes` of `troupe/http` and programs over `troupe/services` need, and the services of its features. The Layer needs the services that its tools need. If an
   * option is wrong, it fails before anything is opened.
   */
  static readonly layer = <const O extends LayerOptions>(
    options: O
  ): Layer.Layer<
    Troupe | Ports | Layer.Success<Extract<FeatureLayers<O>, Layer.Any>>,
    StartError | Effect.Error<EffectsOf<O>> | Layer.Error<LayersOf<O>>,
    NeedsOf<O>
  > => layerOf(options as unknown as Options) as never
}

const layerOf = (options: Options) =>
  Layer.unwrap(
    Effect.map(
      // As in `start`: this is process-wide, so an import alone must not do it.
      Effect.promise(() => import("effect/schema/SchemaJITCompiler/enable")),
      () =>
        Layer.effectContext(
          Effect.map(Effect.context<Services>(), (built) =>
            Context.add(portsOf(built), Troupe, troupeOf(built))
          )
        ).pipe(Layer.provide(StartedLayer.layer(options)))
    )
  )
