/**
 * The handlers of groups of operations. They follow from the declarations and the effects: the parts of a request are one input,
 * an error is its problem, and there is no rule here.
 */
import { Effect, Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import type { HttpApiGroup } from "effect/http-api"
import { CustomerAgents } from "../../../services/AgentDirectory.ts"
import type { Authentication, RequestBody, Validation } from "../../../src/operation/Boundary.ts"
import { CurrentPrincipal, CurrentToken } from "../../../src/operation/Boundary.ts"
import type { Described } from "../../../src/operation/Problem.ts"
import { CallerToken } from "../../../src/operation/Operation.ts"
import { TroupeApi } from "../../../src/operation/TroupeApi.ts"
import type { AddedGroup } from "../../service/AddedGroups.ts"
import type { AnyServed, ServicesOf } from "../../service/Served.ts"
import { HttpSettings } from "../boundary/HttpSettings.ts"
import type { PortError } from "../../service/PortError.ts"
import { anyProblemOf } from "../boundary/Problems.ts"

type Failure = PortError | Described
/** The effects of a group's operations, each under its own name for TypeScript: a module of `layers/service`. */
type Effects = Readonly<Record<string, AnyServed<Failure>>>

/** What was decoded of a request, by its parts. */
interface Parts {
  readonly params?: object
  readonly query?: object
  readonly payload?: object
}

/** The handler of one operation. Its output and its errors are those that the endpoint declares. */
export const handlerOf =
  <S extends AnyServed<Failure>>({ perform }: S, { customer_agents }: HttpSettings) =>
  ({ params, payload, query }: Parts) =>
    Effect.gen(function* () {
      const by = yield* CurrentPrincipal
      const token = yield* CurrentToken
      return yield* perform(Effect.succeed({ ...query, ...payload, ...params } as never), by).pipe(
        Effect.catch((error: unknown) => {
          const problem = anyProblemOf(error)
          // The log has what it is.
          return problem === undefined ? Effect.die(error) : Effect.fail(problem)
        }),
        Effect.provideService(CallerToken, token),
        Effect.provideService(CustomerAgents, customer_agents)
      )
    }) as Effect.Effect<never, never, ServicesOf<S> | CurrentPrincipal | CurrentToken>

/** The builder of a group's handlers, whose types say more than can be derived. */
interface Building {
  readonly handleAll: (handlers: Readonly<Record<string, unknown>>) => unknown
}

type GroupName = keyof (typeof TroupeApi)["groups"] & string

/** Throws where an operation of the group has no effect. */
const groupLayer = (api: typeof TroupeApi, name: GroupName, all: Effects) => {
  const served = new Map(Object.values(all).map((each) => [each.operation.id, each]))
  const handlersFor = (settings: HttpSettings) =>
    Object.fromEntries(Array.from(served, ([id, each]) => [id, handlerOf(each, settings)]))
  const missing = Object.keys(api.groups[name].endpoints).filter((id) => !served.has(id))
  if (missing.length > 0) throw new TypeError(`no effect for ${name}.${missing.join(", ")}`)
  return HttpApiBuilder.group(api, name, ((building: Building) =>
    Effect.map(HttpSettings, (settings) =>
      building.handleAll(handlersFor(settings))
    )) as never) as unknown as Layer.Layer<never>
}

/** The handlers of groups whose operations all have an effect. */
export const layer = <const All extends Readonly<Partial<Record<GroupName, Effects>>>>(all: All) =>
  Layer.mergeAll(
    Layer.empty,
    ...Object.entries(all).map(([name, each]) =>
      groupLayer(TroupeApi, name as GroupName, each as Effects)
    )
  ) as unknown as Layer.Layer<
    HttpApiGroup.Service<"troupe", keyof All & string>,
    never,
    | { readonly [G in keyof All]: ServicesOf<Extract<All[G][keyof All[G]], AnyServed>> }[keyof All]
    | Authentication
    | RequestBody
    | Validation
  >

/**
 * The handlers of groups that features add to the API. What they need comes with the groups, as `AddedGroups` says, so that no
 * type has to name it.
 */
export const added = (api: typeof TroupeApi, groups: ReadonlyArray<AddedGroup>) =>
  Layer.mergeAll(
    Layer.empty,
    ...groups.map(({ effects, id }) => groupLayer(api, id as GroupName, effects))
  ) as Layer.Layer<never, never, Authentication>
