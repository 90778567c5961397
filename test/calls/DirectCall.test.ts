/** Direct calls against real servers: what is sent, what is not, and what a model reads. */
import { gzipSync } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { isToolError } from "../../src/error/ToolError.ts"
import type { CallContext } from "../../src/tool/GovernedTool.ts"
import { CallId } from "../../src/value/Ids.ts"
import { detailOf } from "../../src/call/ErrorDetail.ts"
import { configured, platform, runBody } from "./Platform.ts"
import { web } from "./Web.ts"

const variant = { workflow: { variant: { id: "own-variant" } } }
const latest = (revision: string) => () => ({ workflow: { latest_revision_id: revision } })
const commit = { workflow_revision: { message: "colder", data: { temperature: 0.2 } } }

const errorOf = (exit: unknown) => {
  assert.isTrue(isToolError(exit), String(exit))
  return exit as {
    readonly _tag: string
    readonly kind: string
    readonly reason?: string
    readonly message: string
  }
}

describe("a direct call", () => {
  it.live("AG-13 AG-25 AG-32 AG-34 sends the arguments with its fixed and bound fields", () =>
    Effect.gen(function* () {
      const web = yield* platform(() => ({ body: '{"revision":{"id":"r9"}}' }))
      const [tool] = yield* configured(web, [{ type: "platform", op: "commit_revision" }], {
        identity: variant,
        context: latest("r8")
      })
      // The workflow's variant stands in the fixed body from the start; the revision is asked for at the call.
      assert.deepInclude(JSON.parse(String(tool?.target)), {
        body: { workflow_revision: { workflow_variant_id: "own-variant" } },
        context: { "workflow_revision.expected_revision_id": "$ctx.workflow.latest_revision_id" }
      })
      const guess = { ...commit.workflow_revision, workflow_variant_id: "someone-elses" }
      const value = yield* runBody(tool, { workflow_revision: guess })
      assert.deepStrictEqual(value, { revision: { id: "r9" } })
      assert.deepStrictEqual(
        web.seen.map(({ body, method, url }) => [method, url, JSON.parse(body)]),
        [
          [
            "POST",
            "/api/workflows/revisions/commit",
            {
              workflow_revision: {
                ...commit.workflow_revision,
                workflow_variant_id: "own-variant",
                expected_revision_id: "r8"
              }
            }
          ]
        ]
      )
    })
  )

  it.live("AG-30 uses the trace of its own turn", () =>
    Effect.gen(function* () {
      const web = yield* platform()
      const [tool] = yield* configured(web, [{ type: "platform", op: "annotate_trace" }], {
        context: ({ trace_id }) => ({ trace: { trace_id, span_id: "00f067aa0ba902b7" } })
      })
      const note = { references: { evaluator: { slug: "tone" } }, data: { outputs: { ok: true } } }
      for (const trace_id of ["turn-1", "turn-2"]) yield* runBody(tool, note, { trace_id })
      assert.deepStrictEqual(
        web.seen.map(({ body }) => JSON.parse(body).annotation.links.invocation.trace_id),
        ["turn-1", "turn-2"]
      )
    })
  )

  it.live("AG-33 fails as the model's to correct when the platform has a later revision", () =>
    Effect.gen(function* () {
      const web = yield* platform(({ body }) =>
        body.includes('"expected_revision_id":"r1"')
          ? { status: 409, body: '{"detail":"The variant has revision r2 by now."}' }
          : undefined
      )
      const [tool] = yield* configured(web, [{ type: "platform", op: "commit_revision" }], {
        identity: variant,
        context: latest("r1")
      })
      const error = errorOf(yield* Effect.flip(runBody(tool, commit)))
      assert.strictEqual(error._tag, "ToolUserError")
      assert.include(error.message, "HTTP 409: The variant has revision r2 by now.")
    })
  )

  it.live("AG-18 sends nothing when the run's context lacks a bound field or cannot be had", () =>
    Effect.gen(function* () {
      const web = yield* platform()
      for (const context of [
        () => ({}),
        () => ({ workflow: { latest_revision_id: "" } }),
        () => Promise.reject(new Error("secret host 10.0.0.4")),
        () => {
          throw new Error("secret host 10.0.0.4")
        }
      ]) {
        const [tool] = yield* configured(web, [{ type: "platform", op: "commit_revision" }], {
          identity: variant,
          context: context as never
        })
        const error = errorOf(yield* Effect.flip(runBody(tool, commit)))
        assert.strictEqual(error._tag, "ToolTerminalError")
        assert.strictEqual(error.reason, "MISSING_RUN_CONTEXT")
        assert.notInclude(error.message, "10.0.0.4")
      }
      assert.lengthOf(web.seen, 0)
    })
  )

  it.live("AG-22 sends nothing when the merged body does not fit the endpoint's schema", () =>
    Effect.gen(function* () {
      const web = yield* platform()
      const text = { type: "string" }
      const endpoint = (note: object, kind: object) => ({
        type: "object",
        properties: { note, kind },
        required: ["note", "kind"],
        additionalProperties: false
      })
      for (const method of ["POST", "GET"]) {
        const tools = yield* configured(web, [
          {
            kind: "callback",
            name: "short_note",
            input_schema: { type: "object", properties: { note: text }, required: ["note"] },
            call: { method, path: "/api/notes", body: { kind: "memo" } },
            request_schema: endpoint({ type: "string", maxLength: 5 }, text)
          },
          {
            kind: "callback",
            name: "wrong_kind",
            input_schema: { type: "object", properties: { note: text }, required: ["note"] },
            call: { method, path: "/api/notes", context: { kind: "$ctx.session.id" } },
            request_schema: endpoint(text, { type: "integer" })
          }
        ] as never)
        const ofModel = errorOf(yield* Effect.flip(runBody(tools[0], { note: "much too long" })))
        assert.deepInclude(ofModel, { _tag: "ToolUserError", reason: "POST_MERGE_SCHEMA" })
        const ofHost = errorOf(yield* Effect.flip(runBody(tools[1], { note: "a" })))
        assert.deepInclude(ofHost, { _tag: "ToolTerminalError", reason: "POST_MERGE_SCHEMA" })
        assert.lengthOf(web.seen, 0)
        yield* runBody(tools[0], { note: "short" })
        assert.lengthOf(web.seen.splice(0), 1)
      }
    })
  )

  it.live("AG-23 AG-24 sends scalars of a GET as its query, and no body", () =>
    Effect.gen(function* () {
      const web = yield* platform()
      const [tool] = yield* configured(web, [
        {
          kind: "callback",
          name: "list_items",
          read_only: true,
          input_schema: {
            type: "object",
            properties: { kind: { type: "string" }, page: { type: "integer" }, tags: {} },
            required: ["kind"]
          },
          call: { method: "GET", path: "/api/items/{kind}?limit=5" }
        }
      ])
      // The path's own query is fixed: no argument adds to it.
      yield* runBody(tool, { kind: "a b", page: 2, limit: 500 })
      assert.deepInclude(web.seen[0], { url: "/api/items/a%20b?limit=5&page=2", body: "" })
      const error = errorOf(yield* Effect.flip(runBody(tool, { kind: "a", tags: ["x"] })))
      assert.deepInclude(error, { _tag: "ToolUserError", reason: "NON_SCALAR_ARGUMENT" })
      assert.lengthOf(web.seen, 1)
    })
  )

  it.live(
    "AG-23 AG-34 fills a path from its bound fields, and from no argument of their name",
    () =>
      Effect.gen(function* () {
        const web = yield* platform()
        const path = "/api/workflows/{workflow.id}/runs/{run}"
        const call = { path, context: { "workflow.id": "$ctx.workflow.artifact.id" } }
        const input_schema = { type: "object", properties: { run: {} }, required: ["run"] }
        const tools = yield* configured(
          web,
          [
            { kind: "callback", name: "stop", input_schema, call: { ...call, method: "POST" } },
            { kind: "callback", name: "read", input_schema, call: { ...call, method: "GET" } }
          ],
          { context: () => ({ workflow: { artifact: { id: "own" } } }) }
        )
        const guess = { run: "r", "workflow.id": "someone-elses", workflow: { id: "another" } }
        for (const tool of tools) yield* runBody(tool, guess)
        assert.deepStrictEqual(
          web.seen.map(({ body, url }) => [url, body]),
          [
            ["/api/workflows/own/runs/r", "{}"],
            ["/api/workflows/own/runs/r", ""]
          ]
        )
      })
  )

  it.live("AG-12 shows the detail of an answer that quotes a long request, up to its bound", () =>
    Effect.gen(function* () {
      const detail = [{ loc: ["body", "name"], msg: "field required", input: "x".repeat(300_000) }]
      const web = yield* platform(() => ({ status: 422, body: JSON.stringify({ detail }) }))
      const [tool] = yield* configured(web, [{ type: "platform", op: "query_workflows" }])
      const { _tag, message } = errorOf(yield* Effect.flip(runBody(tool, {})))
      assert.strictEqual(_tag, "ToolUserError")
      assert.match(message, /HTTP 422: .*field required.* \(truncated\)$/)
      assert.isBelow(message.length, 2_100)
    })
  )

  it.live("takes no answer of more than 4,000,000 bytes, as sent or unpacked", () =>
    Effect.gen(function* () {
      const bytes = (count: number) => Buffer.alloc(count, " ")
      const server = yield* web(({ url }, response) => {
        if (url === "/api/fits") return void response.end(bytes(4_000_000))
        if (url === "/api/packed") {
          response.writeHead(200, { "content-encoding": "gzip" })
          return void response.end(gzipSync(bytes(40_000_000)))
        }
        if (url === "/api/longer") return void response.end(bytes(4_000_001))
        // One that never ends.
        const more = (): void => {
          while (response.write(bytes(65_536))) continue
        }
        response.on("drain", more)
        more()
      })
      const get = (path: string) =>
        Effect.gen(function* () {
          const call = { method: "GET", path } as const
          const [tool] = yield* configured(server, [{ kind: "callback", name: "get", call }])
          return yield* runBody(tool, {})
        })
      assert.strictEqual(String(yield* get("/api/fits")).length, 4_000_000)
      for (const path of ["/api/longer", "/api/packed", "/api/endless"]) {
        const error = errorOf(yield* Effect.flip(get(path)))
        assert.strictEqual(error.reason, "CALL_ANSWER", path)
      }
      while (server.connections.open > 0) yield* Effect.sleep(5)
    })
  )

  it("AG-11 shows no host of the platform, however it is written", () => {
    const shown = (endpoint: string, detail: string) =>
      detailOf(JSON.stringify({ detail }), [], endpoint)
    const endpoint = "https://agenta.example:8443/api/tools/call"
    assert.strictEqual(
      shown(endpoint, "HTTPS://Agenta.Example:8443/x and AGENTA.EXAMPLE are down"),
      "[host]/x and [host] are down"
    )
    assert.strictEqual(
      shown("http://platform:8000/api/tools/call", "platform:8000 has no such platform"),
      "[host] has no such platform"
    )
  })

  it("AG-11 shows no host of a private network and no user of a URL", () => {
    const shown = (detail: unknown) => detailOf(JSON.stringify({ detail }))
    for (const [detail, expected] of [
      ["connect ECONNREFUSED 10.0.0.4:5432", "connect ECONNREFUSED [host]"],
      ["db.prod.internal:5432 and a.svc.cluster.local. are down", "[host] and [host] are down"],
      ["see http://platform-db:8000/x", "see http://[host]/x"],
      [
        "http://0x7f.1/ http://2130706433/ http://[fd00::1]:80/",
        "http://[host]/ http://[host]/ http://[host]/"
      ],
      ["postgres://user:hidden@db/x", "postgres://[host]/x"],
      ["https://user:hidden@docs.example.org/a", "https://docs.example.org/a"],
      ["from fe80::1 and ::ffff:10.0.0.1", "from [host] and [host]"],
      ['host name "db" at http://x%2Einternal/', 'host name "[host]" at http://[host]/'],
      [
        "HTTPPool(host='db', port=80); lookup db on a.corp: none",
        "HTTPPool(host='[host]', port=80); lookup [host] on [host]: none"
      ],
      ["EAI_AGAIN db, connecting to db:80.", "EAI_AGAIN [host], connecting to [host]."],
      [["down:\n10.0.0.4", "\tfd00::1"], '["down:\\n[host]","\\t[host]"]']
    ] as const) {
      assert.strictEqual(shown(detail), expected)
    }
    for (const detail of [
      "Target a field under 'parameters.agent', or settings.locale, at 12:30:45.",
      "std::string of 1.2.3.4 and 2606:4700::1111, version 10.2.3, Face::Bad, ::",
      "ENOTFOUND api.example.org, the host is down, lookup table: none, id:12345",
      "https://docs.example.org/errors#10 and internal.example.org"
    ]) {
      assert.strictEqual(shown(detail), detail)
    }
  })

  it.effect("AG-10 ends after its time, or 30 s, and says nothing of where it went", () =>
    Effect.gen(function* () {
      for (const [options, limit_ms] of [
        [{ timeout_ms: 50 }, 50],
        [{}, 30_000]
      ] as const) {
        let arrived = () => {}
        const asked = new Promise<void>((resolve) => (arrived = resolve))
        const server = yield* web(() => arrived())
        const tools = [{ type: "platform", op: "query_workflows" }] as const
        const [tool] = yield* configured(server, tools, options)
        const fiber = yield* Effect.forkChild(Effect.flip(runBody(tool, {})))
        yield* Effect.promise(() => asked)
        yield* TestClock.adjust(limit_ms - 1)
        assert.strictEqual(fiber.pollUnsafe(), undefined)
        yield* TestClock.adjust(1)
        assert.deepInclude(errorOf(yield* Fiber.join(fiber)), {
          _tag: "ToolTransientError",
          kind: "timeout",
          message: "direct tool call failed"
        })
      }
    })
  )

  it.live("AG-06 AG-23 tells the model which of its values can be no part of a path", () =>
    Effect.gen(function* () {
      const web = yield* platform()
      const [tool] = yield* configured(web, [{ type: "platform", op: "pause_schedule" }])
      for (const id of ["", "..", "../../admin", "\ud800"]) {
        const error = errorOf(yield* Effect.flip(runBody(tool, { id })))
        assert.deepInclude(error, { _tag: "ToolUserError", kind: "invalid_args" }, id)
        assert.include(error.message, "an argument cannot be part of the request")
      }
      assert.lengthOf(web.seen, 0)
    })
  )

  it.live("leaves no outcome open when no connection was made", () =>
    Effect.gen(function* () {
      const [tool] = yield* configured({ port: 1 }, [{ type: "platform", op: "pause_schedule" }])
      const error = errorOf(yield* Effect.flip(runBody(tool, { id: "s" })))
      // A failure of the kind `network` would make a write unknown.
      assert.deepInclude(error, { _tag: "ToolTransientError", kind: "external" })
      const cut = yield* web((_, response) => response.destroy())
      const [again] = yield* configured(cut, [{ type: "platform", op: "pause_schedule" }])
      assert.deepInclude(errorOf(yield* Effect.flip(runBody(again, { id: "s" }))), {
        _tag: "ToolTransientError",
        kind: "network"
      })
    })
  )

  it.live("leaves the outcome of a write open where a server on the way lost its answer", () =>
    Effect.gen(function* () {
      for (const status of [502, 504]) {
        const between = yield* platform(() => ({ status }))
        const [tool] = yield* configured(between, [{ type: "platform", op: "pause_schedule" }])
        const { kind } = errorOf(yield* Effect.flip(runBody(tool, { id: "s" })))
        // A failure of another kind would say that nothing is open.
        assert.include(["network", "timeout"], kind)
      }
    })
  )

  it.live("AG-07 AG-08 has the one authorization of its run, and none means no request", () =>
    Effect.gen(function* () {
      const web = yield* platform()
      const asked: Array<string> = []
      const authorization = ({ run }: { readonly run: string }) => {
        asked.push(run)
        return Promise.resolve(run === "none" ? undefined : Redacted.make(`ApiKey ${run}`))
      }
      const callback = { endpoint: `http://127.0.0.1:${web.port}/api/tools/call`, authorization }
      const tools = yield* configured(
        web,
        [
          { type: "platform", op: "query_workflows" },
          { type: "platform", op: "pause_schedule" }
        ],
        { callback }
      )
      const of = (run: string) => ({ run: run as CallContext["run"] })
      yield* Effect.all([runBody(tools[0], {}, of("a")), runBody(tools[1], { id: "s" }, of("a"))], {
        concurrency: 2
      })
      yield* runBody(tools[0], {}, of("b"))
      assert.deepStrictEqual(asked, ["a", "b"])
      assert.deepStrictEqual(web.seen.map(({ headers }) => headers["authorization"]).sort(), [
        "ApiKey a",
        "ApiKey a",
        "ApiKey b"
      ])
      const error = errorOf(yield* Effect.flip(runBody(tools[0], {}, of("none"))))
      assert.strictEqual(error.reason, "NO_AUTHORIZATION")
      assert.lengthOf(web.seen, 3)
    })
  )

  it.live("AG-10 closes its connection when it is interrupted", () =>
    Effect.gen(function* () {
      let arrived = () => {}
      const first = new Promise<void>((resolve) => (arrived = resolve))
      const server = yield* web(() => arrived())
      const [tool] = yield* configured(server, [{ type: "platform", op: "query_workflows" }])
      const fiber = yield* Effect.forkChild(runBody(tool, {}))
      yield* Effect.promise(() => first)
      assert.strictEqual(server.connections.open, 1)
      yield* Fiber.interrupt(fiber)
      yield* Effect.promise(async () => {
        while (server.connections.open > 0) await new Promise((next) => setTimeout(next, 5))
      }).pipe(Effect.timeout("5 seconds"))
    })
  )

  it.live("sends the key of a dispatched call and the span in which it is made", () =>
    Effect.gen(function* () {
      const web = yield* platform()
      const [tool] = yield* configured(web, [{ type: "platform", op: "pause_schedule" }])
      yield* Effect.withSpan(runBody(tool, { id: "s" }, { key: "k-1" }), "turn")
      assert.strictEqual(web.seen[0]?.headers["idempotency-key"], "k-1")
      assert.match(
        String(web.seen[0]?.headers["traceparent"]),
        /^00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]$/
      )
    })
  )

  it.live("is in the run's trace without a tracer too, under one span for each call", () =>
    Effect.gen(function* () {
      const web = yield* platform()
      const [pause, annotate] = yield* configured(web, [
        { type: "platform", op: "pause_schedule" },
        { type: "platform", op: "annotate_trace" }
      ])
      const trace_id = "4bf92f3577b34da6a3ce929d0e0e4736"
      const of = (call: string) => ({ call: CallId.make(call), trace_id })
      for (const call of ["0/1.0", "0/1.0", "0/1.1"]) {
        yield* runBody(pause, { id: "s" }, of(call))
      }
      const said = web.seen.map(({ headers }) => String(headers["traceparent"]))
      for (const each of said) {
        assert.match(each, new RegExp(`^00-${trace_id}-[0-9a-f]{16}-01$`))
      }
      assert.strictEqual(said[0], said[1])
      assert.notStrictEqual(said[0], said[2])
      const note = { references: { evaluator: { slug: "tone" } }, data: { outputs: { ok: true } } }
      yield* runBody(annotate, note, of("0/1.0"))
      const { annotation } = JSON.parse(String(web.seen[3]?.body))
      assert.deepStrictEqual(annotation.links.invocation, {
        trace_id,
        span_id: said[0]?.split("-")[2]
      })
      // A worker that was told of no trace sends none.
      yield* runBody(pause, { id: "s" }, { ...of("0/1.0"), trace_id: "" })
      assert.isUndefined(web.seen[4]?.headers["traceparent"])
    })
  )
})
