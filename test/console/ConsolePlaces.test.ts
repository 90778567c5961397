/** Where the console is: under a path of the service's choice, behind other routes, and among those of an application's router. */
import { createHash } from "node:crypto"
import { createServer } from "node:http"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServer, HttpServerResponse } from "effect/http"
import fastify from "fastify"
import { Principal } from "troupe"
import { routes } from "troupe/http"
import type { RouteOptions } from "troupe/http"
import { Troupe } from "troupe/layers"
import { assert, describe, it } from "vitest"
import { maintenance } from "../feature/maintenance/Maintenance.ts"
import {
  anna,
  http,
  PlainBrowser,
  reading,
  shop,
  shopOptions,
  tokenOf,
  tokens
} from "./ConsoleScene.ts"

const credentials = Object.entries(tokens).map(([name, of]) => ({
  sha256: createHash("sha256").update(tokenOf(name)).digest("hex"),
  principal: new Principal({ id: name, ...of })
}))

const path = "/ops/desk"

/** Every address in a page that its browser would ask for. */
const addressesIn = (text: string): ReadonlyArray<string> =>
  [...text.matchAll(/ (?:href|action|src|hx-get|hx-sse-connect)="([^"]*)"/g)].map(([, to = ""]) =>
    to.replaceAll("&amp;", "&")
  )

/** Signs in, decides a question and follows its run, and looks at every page that links lead to. */
const used = async (base: string, mount: string, ask: () => Promise<string>) => {
  const root = `${mount}${path}`
  const olga = new PlainBrowser(base, root)
  assert.isBelow((await olga.request(`${root}/`)).status, 400)
  const away = await olga.request(`${root}/inbox`)
  assert.match(away.headers.get("location") ?? "", new RegExp(`^${root}/sign-in`))
  const form = await olga.request(`${root}/sign-in`)
  assert.include(await form.text(), `action="${root}/sign-in"`)
  const sent = { method: "POST", body: new URLSearchParams({ token: tokenOf("olga") }) }
  const answer = await olga.request(`${root}/sign-in`, sent)
  assert.strictEqual(answer.headers.get("location"), root)
  assert.include(answer.headers.getSetCookie()[0] ?? "", `; Path=${root};`)

  const run = await ask()
  const seen = new Map<string, number>()
  const left = [root]
  let question = ""
  for (let address = left.pop(); address !== undefined; address = left.pop()) {
    if (seen.has(address)) continue
    const page = await olga.request(address)
    seen.set(address, page.status)
    const isPage = (page.headers.get("content-type") ?? "").startsWith("text/html")
    if (!isPage) {
      await page.body?.cancel()
      continue
    }
    for (const to of addressesIn(await page.text())) {
      if (to.startsWith("#")) continue
      assert.isTrue(
        to === root || to.startsWith(`${root}/`) || to.startsWith(`${root}?`),
        `${address}: ${to}`
      )
      if (/\/inbox\/[\w-]+$/.test(to)) question = to
      if (!/\/(?:live|sign-out|cancel)\b/.test(to) && seen.size < 60) left.push(to)
    }
  }
  assert.isAbove(seen.size, 15)
  // A form that is only sent has no page of its own.
  assert.deepStrictEqual(
    [...seen].filter(([, status]) => status !== 200 && status !== 405),
    []
  )

  const stream = reading(await olga.request(`${root}/live?run=${run}&after=0`))
  await stream.until("event: news")
  const { text } = await olga.post(question, { decision: "approve" })
  assert.include(text, "approved by olga")
  await stream.leave()

  const runs = await olga.get(`${root}/runs`)
  const [, address = ""] = /&#39;(http[^&]*?\/v1\/runs\?[^&]*?)&#39;/.exec(runs.text) ?? []
  assert.strictEqual(address, `${base}${mount}/v1/runs?limit=50`)
  const listed = await fetch(address, { headers: { authorization: `Bearer ${tokenOf("olga")}` } })
  assert.include(await listed.text(), run)
  assert.strictEqual((await olga.request("/console")).status, 404)
  const { location } = await olga.post(`${root}/sign-out`, {})
  assert.strictEqual(location, `${root}/sign-in`)
  assert.strictEqual(olga.cookie, "")
}

describe("the console under a path of its own", () => {
  it("has all of its links there, also behind Fastify under a prefix", async () => {
    const troupe = await shop({
      http: { tokens: http.tokens, console: { path }, settings: { base_path: "/agents" } }
    })
    const app = fastify()
    await app.register(
      (api) => {
        api.removeAllContentTypeParsers()
        api.addContentTypeParser("*", (_request, _payload, done) => done(null))
        api.all("/*", (request, reply) => {
          reply.hijack()
          troupe.nodeListener(request.raw, reply.raw)
        })
        return Promise.resolve()
      },
      { prefix: "/agents" }
    )
    try {
      const base = await app.listen({ port: 0, host: "127.0.0.1" })
      await used(base, "/agents", async () => {
        return (await troupe.ask({ agent: "billing", text: "Refund order 1003." }, anna)).run
      })
    } finally {
      await troupe.stop()
      await app.close()
    }
  })

  const wrong = [
    "ops",
    "/ops/",
    "//ops",
    "/",
    "",
    "/:id",
    "/*",
    "/a.b",
    "/a b",
    "/v1",
    "/v1/console",
    "/docs"
  ]
  it.each([...wrong, `/${"x".repeat(100)}`, 7, ["/ops"]])("is refused at %j", async (path) => {
    const error = await shop({ http: { ...http, console: { path } } as never }).then(
      (started) => started.stop(),
      (failure: unknown) => failure
    )
    assert.deepInclude(error, { _tag: "InvalidInput", field: "http.console.path" })
  })

  it("is refused where it is no setting", async () => {
    for (const console of ["/ops", 1, [], { paths: "/ops" }]) {
      const error = await shop({ http: { ...http, console } as never }).then(
        (started) => started.stop(),
        (failure: unknown) => failure
      )
      assert.deepInclude(error, { _tag: "InvalidInput" }, JSON.stringify(console))
    }
  })
})

describe("the console among the routes of an application", () => {
  const served = (options: Partial<RouteOptions>) =>
    HttpRouter.serve(
      Layer.merge(
        HttpRouter.add("GET", "/orders", HttpServerResponse.text("3 orders")),
        routes({ credentials, ...options })
      ),
      { disableLogger: true, disableListenLog: true }
    ).pipe(
      Layer.provideMerge(NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1" })),
      Layer.provideMerge(Troupe.layer({ ...shopOptions(), features: [maintenance] }))
    )
  const using = (
    options: Partial<RouteOptions>,
    use: (base: string, ask: () => Promise<string>) => Promise<void>
  ) =>
    Effect.gen(function* () {
      const { address } = yield* HttpServer.HttpServer
      const troupe = yield* Troupe
      const context = yield* Effect.context<Troupe>()
      const ask = () =>
        Effect.runPromiseWith(context)(
          Effect.map(
            troupe.ask({ agent: "billing", text: "Refund order 1003." }, anna),
            ({ run }) => run
          )
        )
      yield* Effect.promise(() => use(HttpServer.formatAddress(address).replace(/\/$/, ""), ask))
    }).pipe(Effect.provide(served(options)), Effect.runPromise)

  it("is used as elsewhere, and leaves the others to their owner", () =>
    using({ console: { path } }, async (base, ask) => {
      await used(base, "", ask)
      assert.strictEqual(await (await fetch(`${base}/orders`)).text(), "3 orders")
      const headers = { authorization: `Bearer ${tokenOf("olga")}` }
      assert.strictEqual((await fetch(`${base}/v1/maintenance`, { headers })).status, 200)
    }))

  it("is not there where nobody asked for it", () =>
    using({}, async (base) => {
      assert.strictEqual((await fetch(`${base}/console/sign-in`)).status, 404)
    }))

  it("is refused where its path is wrong", async () => {
    const error = await Effect.runPromise(
      Effect.flip(Effect.scoped(Layer.build(served({ console: { path: "/v1" } }))))
    )
    assert.deepInclude(error, { _tag: "InvalidInput", field: "console.path" })
  })
})
