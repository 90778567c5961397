import { createHash } from "node:crypto"
import { Effect, Layer, Schema } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest, HttpRouter, HttpServer } from "effect/http"
import {
  HttpApi,
  HttpApiBuilder,
  HttpApiClient,
  HttpApiEndpoint,
  HttpApiGroup
} from "effect/http-api"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { createServer } from "node:http"
import { AgentSpec, Principal } from "troupe"
import * as Server from "troupe/http"
import { Troupe } from "troupe/layers"
import { scripted, text } from "troupe/testing"

const shop = AgentSpec.make({ name: "shop", instructions: "Help customers." })
const token = "a-token-for-olga"
const olga = new Principal({ id: "olga", tenant: "default", roles: ["operator"] })
const sha256 = createHash("sha256").update(token).digest("hex")

// An API of your own.
const Orders = HttpApiGroup.make("orders").add(
  HttpApiEndpoint.get("count", "/orders", { success: Schema.Number })
)
class ShopApi extends HttpApi.make("shop").add(Orders) {}
const orders = HttpApiBuilder.group(ShopApi, "orders", (handlers) =>
  handlers.handle("count", () => Effect.succeed(3))
)

// One router, one server.
const routes = Layer.merge(
  HttpApiBuilder.layer(ShopApi).pipe(Layer.provide(orders)),
  Server.routes({ credentials: [{ sha256, principal: olga }] })
)
const app = HttpRouter.serve(routes, { disableLogger: true, disableListenLog: true }).pipe(
  Layer.provideMerge(NodeHttpServer.layer(createServer, { port: 0 })),
  Layer.provide(Troupe.layer({ agents: [shop], model: scripted([text("Good morning.")]) }))
)

const program = Effect.gen(function* () {
  const { address } = yield* HttpServer.HttpServer
  const baseUrl = HttpServer.formatAddress(address)
  const own = yield* HttpApiClient.make(ShopApi, { baseUrl })
  console.log(yield* own.orders.count())
  const troupe = yield* HttpApiClient.make(Server.TroupeApi, {
    baseUrl,
    transformClient: HttpClient.mapRequest(HttpClientRequest.bearerToken(token))
  })
  const { items } = yield* troupe.agents.list()
  console.log(items.map(({ name }) => name).join())
})

await Effect.runPromise(Effect.provide(program, Layer.merge(app, FetchHttpClient.layer)))

// Output:
// 3
// shop
