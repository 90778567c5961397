/** A runner over HTTP whose other process is away, is another one, or breaks off in the middle. */
import { createServer } from "node:http"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import * as HttpWorldAgentRunner from "../../layers/spectral/worlds/HttpWorldAgentRunner.ts"
import * as WorldQuestions from "../../layers/spectral/worlds/WorldQuestions.ts"
import { WorldAgentRunner } from "../../services/spectral/worlds/contracts/WorldAgentRunner.ts"
import { olga } from "./Worlds.ts"

const run_id = "00000000-0000-4000-8000-000000000001"
const accepted = { run_id, conversation_id: "c-1", ordinal: 3 }
const ended = { run_id, event: { status: "complete", text: "forty rules", reason: "complete" } }
const eventOf = (name: string, data: object) => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`

type Answers = (request: IncomingMessage, response: ServerResponse, index: number) => unknown

/** A server that answers as it is told, and what it was asked. */
const serving = (answers: Answers) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const asked: Array<IncomingMessage> = []
      const server = createServer((request, response) => {
        request.resume()
        answers(request, response, asked.push(request) - 1)
      })
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
      return { asked, server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` }
    }),
    ({ server }) =>
      Effect.promise(
        () =>
          new Promise((resolve) => {
            server.close(resolve)
            server.closeAllConnections()
          })
      )
  )

const token = () => Redacted.make("a-token")

const asking = (worlds: HttpWorldAgentRunner.RemoteWorlds) =>
  WorldAgentRunner.use((runner) => runner.ask("How many rules?", "credit", olga)).pipe(
    Effect.provide(HttpWorldAgentRunner.layer(worlds))
  )

const json = (response: ServerResponse, status: number, body: object) =>
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))

describe("a runner over HTTP", () => {
  it.live(
    "sends a question again whose outcome is not known, and opens a stream again that broke",
    () =>
      Effect.gen(function* () {
        const { asked, url } = yield* serving((request, response, index) => {
          if (index === 0) return request.socket.destroy()
          if (index === 1) return json(response, 202, accepted)
          response.writeHead(200, { "content-type": "text/event-stream" })
          if (index === 2) {
            response.write(
              `retry: 1\n\n${eventOf("run_ended", { ...ended, run_id: run_id.replace("1", "2") })}`
            )
            return setImmediate(() => response.destroy())
          }
          const text = eventOf("run_ended", ended)
          response.write(text.slice(0, 30))
          return setImmediate(() => response.write(text.slice(30)))
        })
        const answer = yield* asking({ url, token })
        assert.deepStrictEqual({ ...answer }, {
          world: "credit",
          text: "forty rules",
          run: run_id
        } as never)
        const [first, second, ...streams] = asked
        assert.strictEqual(first!.headers["idempotency-key"], second!.headers["idempotency-key"])
        assert.deepStrictEqual(
          streams.map(({ headers, url }) => [url, headers["last-event-id"], headers.authorization]),
          Array.from({ length: 2 }, () => ["/v1/conversations/c-1/events", "3.0", "Bearer a-token"])
        )
      }).pipe(Effect.scoped)
  )

  it.live("cancels the run that did not end in time", () =>
    Effect.gen(function* () {
      const { asked, url } = yield* serving((request, response) => {
        if (request.url === "/v1/messages") return json(response, 202, accepted)
        if (request.method === "POST") return response.writeHead(204).end()
        return response.writeHead(200, { "content-type": "text/event-stream" }).write(": open\n\n")
      })
      const late = yield* Effect.flip(
        Effect.provideService(asking({ url, token }), WorldQuestions.AnswerLimit, 50)
      )
      assert.deepInclude(late, { _tag: "WorldUnanswered", kind: "unavailable" })
      assert.strictEqual(asked.at(-1)!.url, `/v1/runs/${run_id}/cancel`)
    }).pipe(Effect.scoped)
  )

  it.live("does not ask for ever for a run that it may not read any more, and cancels it", () =>
    Effect.gen(function* () {
      const { asked, url } = yield* serving((request, response) => {
        if (request.url === "/v1/messages") return json(response, 202, accepted)
        return request.method === "POST"
          ? response.writeHead(204).end()
          : json(response, 401, { detail: "A valid token is needed." })
      })
      const refused = yield* Effect.flip(asking({ url, token }))
      assert.strictEqual(refused._tag, "WorldRefused")
      assert.deepStrictEqual(
        asked.map(({ url }) => url),
        ["/v1/messages", "/v1/conversations/c-1/events", `/v1/runs/${run_id}/cancel`]
      )
    }).pipe(Effect.scoped)
  )

  for (const [what, answers, expected] of [
    [
      "is another service",
      (_, response) => json(response, 202, { ok: true }),
      ["WorldUnanswered", /is not their process/]
    ],
    [
      "redirects",
      (_, response) => response.writeHead(302, { location: "/elsewhere" }).end(),
      ["WorldUnanswered", /reached/]
    ],
    [
      "is overloaded",
      (_, response) => json(response, 503, { detail: "no" }),
      ["WorldUnanswered", /takes no question now/]
    ],
    [
      "does not know the token",
      (_, response) => json(response, 401, { detail: "A valid token is needed." }),
      ["WorldRefused", /^A valid token/]
    ],
    ["has no such world", (_, response) => json(response, 404, {}), ["WorldUnknown", /credit/]],
    [
      "says too much",
      (_, response) => response.writeHead(202).end("x".repeat(1_000_001)),
      ["WorldUnanswered", /is not their process/]
    ]
  ] as ReadonlyArray<readonly [string, Answers, readonly [string, RegExp]]>) {
    it.live(`fails where the other process ${what}`, () =>
      Effect.gen(function* () {
        const { url } = yield* serving(answers)
        const error = yield* Effect.flip(asking({ url, token }))
        assert.strictEqual(error._tag, expected[0])
        assert.match(error.message, expected[1])
      }).pipe(Effect.scoped)
    )
  }

  it.live("fails where nobody answers, where the caller has no token, and at a wrong address", () =>
    Effect.gen(function* () {
      const away = yield* Effect.flip(asking({ url: "http://127.0.0.1:1", token }))
      assert.deepInclude(away, { _tag: "WorldUnanswered", kind: "unavailable" })
      const stranger = yield* Effect.flip(
        asking({ url: "http://127.0.0.1:1", token: () => undefined })
      )
      assert.strictEqual(stranger._tag, "WorldRefused")
      for (const url of [
        "",
        "worlds",
        "ftp://worlds",
        "https://a:b@worlds",
        "https://worlds/?a=b",
        7
      ]) {
        const error = yield* Effect.flip(asking({ url: url as string, token }))
        assert.deepInclude(error, { _tag: "InvalidInput", field: "url" })
      }
    })
  )
})
