/** A service whose PostgreSQL is stopped and started again while requests arrive. */
import { assert, it } from "@effect/vitest"
import { Context, Effect, Fiber, Layer, Redacted, Schedule } from "effect"
import * as Runtime from "../../layers/compose/assembly/Runtime.ts"
import * as Server from "../../layers/compose/assembly/HttpSurface.ts"
import * as Stores from "../../layers/compose/assembly/StoreLayers.ts"
import { defaults, RuntimeConfig } from "../../layers/runtime/actor/RuntimeConfig.ts"
import * as EmbeddedPostgres from "../sql/EmbeddedPostgres.ts"
import * as PostgresServer from "../sql/PostgresServer.ts"
import * as Script from "./Script.ts"
import type { Ask } from "./Service.ts"
import { ask, credentials } from "./Service.ts"

class Postgres extends Context.Service<Postgres, PostgresServer.PostgresServer>()(
  "test/http/Postgres"
) {}

const postgres = Layer.effect(
  Postgres,
  Effect.acquireRelease(
    Effect.promise(() => PostgresServer.launch()),
    (server) => Effect.promise(() => server.stop())
  )
)

/** Limits that the number of requests in this test does not reach. */
const generous = { messages_principal_per_minute: 100_000, messages_tenant_per_minute: 100_000 }

/** A statement is answered in time, or fails. */
const limits = { statement_timeout_ms: 1_000, answer_timeout_ms: 1_500 }

const service = Layer.unwrap(
  Postgres.useSync(({ port }) =>
    Server.layer({ listen: { port: 0 }, credentials, settings: generous }).pipe(
      Layer.provideMerge(Runtime.layer({ agents: Script.agents, tools: Script.tools })),
      Layer.provideMerge(Script.layer),
      Layer.provideMerge(
        Stores.postgres(Redacted.make(EmbeddedPostgres.urlOf(String(port), "postgres")), limits)
      ),
      Layer.provide(Layer.succeed(RuntimeConfig, { ...defaults, drain_ms: 1 })),
      Layer.orDie
    )
  )
).pipe(Layer.provideMerge(postgres))

const json = { agent: "operations", text: "hello" }
const reason = "test"
const unknown = "00000000-0000-4000-8000-000000000001"

/** Each route, with a request of a principal that may use it. */
const routes = (
  run: string,
  conversation: string,
  approval: string
): ReadonlyArray<readonly [path: string, how: Ask]> => [
  ["/ready", {}],
  ["/v1/messages", { as: "olga", json }],
  [`/v1/conversations/${conversation}/messages`, { as: "olga", json }],
  ["/v1/conversations", { as: "vera" }],
  [`/v1/conversations/${conversation}`, { as: "vera" }],
  [`/v1/conversations/${conversation}/events`, { as: "vera" }],
  ["/v1/runs", { as: "vera" }],
  ["/v1/runs?waiting=unknown", { as: "vera" }],
  [`/v1/runs/${run}`, { as: "vera" }],
  [`/v1/runs/${run}/events`, { as: "vera" }],
  ["/v1/kill-switch", { as: "olga", method: "PUT", json: { on: false } }],
  ["/v1/approvals", { as: "vera" }],
  [`/v1/approvals/${approval}`, { as: "vera" }],
  [`/v1/approvals/${approval}/decision`, { as: "ada", json: { decision: "deny", reason } }],
  [`/v1/runs/${run}/cancel`, { as: "olga", json: { reason } }],
  ["/v1/dead-letters", { as: "olga" }],
  [`/v1/dead-letters/${unknown}`, { as: "olga" }],
  [`/v1/dead-letters/${unknown}/replay`, { as: "olga", json: { reason } }],
  [`/v1/dead-letters/${unknown}/discard`, { as: "olga", json: { reason } }],
  ["/v1/costs", { as: "vera" }]
]

/** What every route answers, with the text where it is no problem document. */
const answers = (asked: ReturnType<typeof routes>) =>
  Effect.forEach(
    asked,
    ([path, how]) =>
      Effect.map(ask(path, how), ({ headers, json: problem, status, text }) => {
        const isProblem = headers.get("content-type")?.startsWith("application/problem+json")
        return `${path}: ${status} ${isProblem === true ? problem.type : text}`
      }).pipe(
        Effect.timeoutOrElse({
          duration: "20 seconds",
          orElse: () => Effect.succeed(`${path}: silent`)
        })
      ),
    { concurrency: "unbounded" }
  )

const served = Effect.repeat(ask("/ready"), {
  until: ({ status }) => status === 200,
  schedule: Schedule.spaced("50 millis")
})

/** A run that waits for an approver, on a service that is ready: every route, and what each answers while the store is away. */
const waiting = Effect.gen(function* () {
  yield* served
  const sent = (yield* ask("/v1/messages", { as: "olga", json })).json
  const { conversation_id: conversation, run_id: run } = sent
  yield* Script.turns({ run, conversation }, Script.proposed, "ApprovalRequested")
  const approval: string = (yield* ask("/v1/approvals", { as: "vera" })).json.items[0].id
  const asked = routes(run, conversation, approval)
  const away = asked.map(([path]) => `${path}: 503 urn:troupe:problem:store-unavailable`)
  return { approval, asked, away, run: run as string }
})

it.live(
  "a service answers 503, never 500, while its PostgreSQL is down, and serves again once it is up",
  () =>
    Effect.gen(function* () {
      const server = yield* Postgres
      const { approval, asked, away } = yield* waiting

      const made = { name: "prometheus", roles: ["viewer"] }
      const { token } = (yield* ask("/v1/tokens", { as: "admin", json: made })).json
      const scraped = Effect.map(
        ask("/metrics", { headers: { authorization: `Bearer ${token}` } }),
        ({ status }) => status
      )
      assert.strictEqual(yield* scraped, 200)

      // Requests are in flight while the server stops.
      const seen = new Set<number>()
      const busy = yield* Effect.forkChild(
        Effect.forEach(
          Array.from({ length: 8 }),
          () =>
            Effect.forever(
              Effect.tap(ask("/v1/messages", { as: "olga", json }), ({ status }) =>
                Effect.andThen(
                  Effect.sync(() => seen.add(status)),
                  Effect.sleep(20)
                )
              )
            ),
          { concurrency: "unbounded" }
        )
      )
      yield* Effect.repeat(
        Effect.sync(() => seen.has(202)),
        { until: (is) => is, schedule: Schedule.spaced("10 millis") }
      )
      yield* Effect.promise(() => server.crash())
      assert.deepStrictEqual(yield* answers(asked), away)
      // Metrics are needed most now, though the token cannot be looked up.
      assert.strictEqual(yield* scraped, 200)
      yield* Fiber.interrupt(busy)
      assert.deepStrictEqual(
        [...seen].sort((a, b) => a - b),
        [202, 503]
      )
      assert.deepStrictEqual(yield* answers(asked), away)
      assert.strictEqual((yield* ask("/health")).status, 200)

      yield* Effect.promise(() => server.start())
      yield* served
      const [own] = (yield* ask("/v1/tokens", { as: "admin" })).json.items
      yield* ask(`/v1/tokens/${own.id}`, { as: "admin", method: "DELETE" })
      assert.strictEqual(yield* scraped, 401)
      const back = yield* answers(asked.filter(([path]) => !path.endsWith("/events")))
      assert.isEmpty(back.filter((answer) => /: (5\d\d|silent)/.test(answer)))
      assert.strictEqual((yield* ask(`/v1/approvals/${approval}`, { as: "vera" })).status, 200)
    }).pipe(Effect.provide(service)),
  120_000
)

it.live(
  "a service whose PostgreSQL stands still answers 503, goes on by itself after, and can be stopped meanwhile",
  () =>
    Effect.gen(function* () {
      const server = yield* Postgres
      const { approval, asked, away, run } = yield* waiting
      const events = Effect.map(ask(`/v1/runs/${run}/events`, { as: "vera" }), ({ text }) => text)

      yield* Effect.sync(server.pause)
      assert.deepStrictEqual(yield* answers(asked), away)
      assert.strictEqual((yield* ask("/health")).status, 200)
      // Every connection of the pool stands still by now.
      assert.deepStrictEqual(yield* answers(asked), away)

      yield* Effect.sync(server.resume)
      yield* served
      const how = { as: "ada", json: { decision: "approve" } } as const
      const { status } = yield* ask(`/v1/approvals/${approval}/decision`, how)
      // What the server was told while it stood still may have been done after all: a denial, or the end of the run.
      assert.include([200, 404, 409], status)
      yield* Effect.repeat(events, {
        until: (text) => /"_tag":"(?:CallSettled|RunEnded)"/.test(text),
        schedule: Schedule.spaced("50 millis")
      })
      // The service is stopped next, and after it the server.
      yield* Effect.sync(server.pause)
    }).pipe(Effect.provide(service)),
  120_000
)
