/** The wires that are served: doors for clients of other systems, over the operations of the service. */
import { Context, Effect } from "effect"
import type { Layer, Scope } from "effect"
import { HttpRouter } from "effect/http"
import type { HttpServerRequest } from "effect/http"
import type { Credentials } from "../../../services/Credentials.ts"
import { CustomerAgents } from "../../../services/AgentDirectory.ts"
import type { WireName } from "../boundary/HttpSettings.ts"
import { HttpSettings } from "../boundary/HttpSettings.ts"
import { a2aRoutes } from "./A2aDoor.ts"
import { agUiRoutes } from "./AgUiDoor.ts"
import { chatRoutes } from "./ChatDoor.ts"
import { mcp_metadata, mcpRoutes } from "./McpDoor.ts"
import { responsesRoutes } from "./ResponsesDoor.ts"
import { uiMessageRoutes } from "./UiMessageDoor.ts"
import type { OpenRoute, WireRoute } from "./WireRequest.ts"
import { makeAnswering } from "./WireRequest.ts"

const wires = {
  "ag-ui": agUiRoutes,
  "ui-messages": uiMessageRoutes,
  mcp: mcpRoutes,
  a2a: a2aRoutes,
  responses: responsesRoutes,
  "chat-completions": chatRoutes
} as const satisfies Record<WireName, unknown>

type AnyRoute = (typeof wires)[WireName][number]

/** What they need besides what each request has. */
type Services = Exclude<
  Effect.Services<ReturnType<AnyRoute["answer"]>>,
  HttpServerRequest.HttpServerRequest | Scope.Scope
>

/** The routes of the wires that are served, those that need no token, and what browsers ask before them. */
export const wireRoutes = (names: ReadonlyArray<WireName>) => {
  // Two wires may share a list.
  const routes = [...new Set(names.flatMap((name): ReadonlyArray<AnyRoute> => wires[name]))]
  const open: ReadonlyArray<OpenRoute> = names.includes("mcp") ? mcp_metadata : []
  const paths = [...new Set([...routes, ...open].map(({ path }) => path))]
  return { routes, open, preflights: paths.map((path) => ({ method: "OPTIONS", path }) as const) }
}

export const layer: Layer.Layer<never, never, HttpRouter.HttpRouter | Credentials | Services> =
  HttpRouter.use(
    Effect.fnUntraced(function* (router) {
      const { customer_agents, wires: names } = yield* HttpSettings
      if (names.length === 0) return
      const answering = yield* makeAnswering
      const services = Context.add(
        yield* Effect.context<Services>(),
        CustomerAgents,
        customer_agents
      ) as Context.Context<Services>
      const { open, preflights, routes } = wireRoutes(names)
      for (const route of routes) {
        const withServices = (own: Context.Context<never>) => Context.merge(services, own)
        yield* router.add(
          route.method,
          route.path,
          Effect.updateContext(
            answering.of(route as WireRoute<Services>) as Effect.Effect<never>,
            withServices
          )
        )
      }
      for (const route of open) {
        yield* router.add(route.method, route.path, answering.open(route))
      }
      for (const { method, path } of preflights)
        yield* router.add(method, path, answering.preflight)
    })
  )
