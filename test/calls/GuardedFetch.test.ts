/** What a tool may reach on the network: real sockets on loopback, and a resolver that the test gives. */
import { gzipSync } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import type { FetchError } from "../../layers/calls/Exchange.ts"
import type { Fetch, Options } from "../../layers/calls/GuardedFetch.ts"
import * as GuardedFetch from "../../layers/calls/GuardedFetch.ts"
import * as HttpRequestTool from "../../layers/calls/HttpRequestTool.ts"
import { isGlobalAddress } from "../../src/network/Address.ts"
import { eventually } from "../contracts/Contract.ts"
import { names, web } from "./Web.ts"

/** Treats one loopback address as public, and all others as they are. */
const public_address = "127.0.0.1"
const allow_ranges = [`${public_address}/32`]

const fetching = (options: Options, request: Partial<Fetch> & Pick<Fetch, "url">) =>
  Effect.flatMap(GuardedFetch.make("test", options), (guard) =>
    guard.fetch({ method: "GET", headers: {}, body: undefined, ...request })
  )

const reasonOf = <A>(effect: Effect.Effect<A, FetchError | { readonly _tag: "MisdeclaredTool" }>) =>
  Effect.map(Effect.flip(effect), (error) => {
    assert.strictEqual(error._tag, "FetchError")
    const { message, reason } = error as FetchError
    assert.notMatch(message, /127\.|169\.254|localhost|ECONN|node:/)
    return reason
  })

const textOf = (body: Uint8Array) => new TextDecoder().decode(body)

describe("an address", () => {
  it("that is not global unicast is refused, in whatever form it is written", () => {
    const closed =
      "0.0.0.0 0.1.2.3 10.255.255.255 100.64.0.1 100.127.255.255 127.0.0.1 127.255.255.254 169.254.169.254 172.16.0.1 " +
      "172.31.255.255 192.0.0.1 192.0.2.9 192.88.99.1 192.168.0.1 198.18.0.1 198.19.255.255 198.51.100.7 203.0.113.255 " +
      "224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255 :: ::1 ::ffff:127.0.0.1 ::ffff:7f00:1 ::ffff:10.0.0.1 " +
      "::127.0.0.1 ::8.8.8.8 64:ff9b::127.0.0.1 64:ff9b::a9fe:a9fe 64:ff9b:1::1 100::1 2001::1 2001:db8::1 2002:7f00:1::1 " +
      "2002:0808:0808::1 3fff::1 5f00::1 fc00::1 fd00:ec2::254 fe80::1 fe80::1%eth0 fec0::1 ff02::1 4000::1 " +
      "2606:4700::1111%1 127.1 0x7f.0.0.1 0177.0.0.1 2130706433 1.2.3 1.2.3.4.5 256.1.1.1 01.2.3.4 :::1 1:2:3:4:5:6:7:8:9 " +
      "12345::1 g::1 ::1.2.3 localhost " +
      "168.63.129.16 ::ffff:168.63.129.16 64:ff9b::a83f:8110 100.100.100.200 192.0.0.192 2606:4700::5efe:7f00:1 " +
      "2606:4700::5efe:127.0.0.1 2606:4700::200:5efe:a9fe:a9fe ::ffff:0:127.0.0.1"
    for (const address of [...closed.split(" "), "", " 8.8.8.8", "8.8.8.8\n", "x".repeat(1_000)]) {
      assert.isFalse(isGlobalAddress(address), address)
    }
    const open =
      "1.1.1.1 8.8.8.8 93.184.216.34 100.63.255.255 100.128.0.1 172.15.255.255 172.32.0.1 192.0.1.1 223.255.255.255 " +
      "2606:4700:4700::1111 2a00:1450:4001:80e::200e 2001:4860:4860::8888 2003::1 ::ffff:93.184.216.34 64:ff9b::808:808 168.63.129.17 2606:4700::5efe:808:808"
    for (const address of open.split(" ")) assert.isTrue(isGlobalAddress(address), address)
  })
})

/** Headers that no model may set. */
const withheld =
  "Authorization AUTHORIZATION Cookie cookie2 Set-Cookie X-HTTP-Method-Override x-http-method X-Method-Override Host Proxy-Connection Forwarded X-Forwarded-For x-forwarded-host X-Real-IP X-Original-URL X-Rewrite-URL True-Client-IP CF-Connecting-IP X-Client-IP Via Origin Connection Upgrade Keep-Alive Content-Length X-Api-Key api-key X-Auth-Token X-Access-Token X-CSRF-Token Metadata Metadata-Flavor X-aws-ec2-metadata-token X-Amz-Security-Token X-MS-Client-Principal X-Goog-User-Project X-User X-Tenant-Id Sec-Fetch-Site".split(
    " "
  )

describe("the guarded fetch", () => {
  it.live("AG-05 refuses every spelling of a private host without a connection", () =>
    Effect.gen(function* () {
      const { connections, port } = yield* web((_, response) => response.end("inside"))
      const dns = names({
        "inside.example": ["127.0.0.1"],
        "mixed.example": ["93.184.216.34", "::1"],
        "mapped.example": ["::ffff:127.0.0.1"],
        "empty.example": []
      })
      const options: Options = { ports: [port], resolve: dns.resolve }
      const hosts =
        "127.0.0.1 127.1 127.0.0.1. 0x7f000001 0x7f.1 017700000001 2130706433 0 [::1] [::ffff:127.0.0.1] [::ffff:7f00:1] " +
        "[64:ff9b::7f00:1] [::] 127%2e0%2e0%2e1 １２７.0.0.1 ①②⑦.0.0.1 169.254.169.254 inside.example mixed.example mapped.example"
      for (const host of hosts.split(" ")) {
        assert.strictEqual(
          yield* reasonOf(fetching(options, { url: `http://${host}:${port}/` })),
          "address",
          host
        )
      }
      for (const host of ["empty.example", "unknown.example", "localhost", "LOCALHOST."]) {
        assert.strictEqual(
          yield* reasonOf(fetching(options, { url: `http://${host}:${port}/` })),
          "unresolved",
          host
        )
      }
      const forms = [
        `http://[fe80::1%25eth0]:${port}/`,
        `http://user:pass@93.184.216.34:${port}/`,
        `http://93.184.216.34@127.0.0.1:${port}/`,
        "file:///etc/passwd",
        "gopher://127.0.0.1/",
        "data:text/plain,hi",
        "//127.0.0.1/",
        "/relative",
        "http:127.0.0.1",
        "http:/127.0.0.1/",
        "http://",
        `http://a.example/${"x".repeat(9_000)}`
      ]
      for (const url of forms) {
        assert.strictEqual(yield* reasonOf(fetching(options, { url })), "url", url.slice(0, 60))
      }
      assert.strictEqual(
        yield* reasonOf(fetching({ resolve: dns.resolve }, { url: `http://8.8.8.8:${port}/` })),
        "port"
      )
      assert.strictEqual(
        yield* reasonOf(fetching({ hosts: ["a.example"] }, { url: "http://b.example/" })),
        "host"
      )
      assert.strictEqual(connections.made, 0)
    }).pipe(Effect.scoped)
  )

  it.live(
    "resolves a name once and connects to the address that it checked, whatever the name resolves to later",
    () =>
      Effect.gen(function* () {
        const outside = yield* web((_, response) => response.end("outside"))
        const inside = yield* web(
          (_, response) => response.end("inside"),
          "127.0.0.2",
          outside.port
        )
        let asked = 0
        const fetched = yield* fetching(
          {
            ports: [outside.port],
            allow_ranges,
            resolve: () => Promise.resolve([asked++ === 0 ? public_address : "127.0.0.2"])
          },
          { url: `http://rebinding.example:${outside.port}/a?b=c` }
        )
        assert.strictEqual(asked, 1)
        assert.strictEqual(textOf(fetched.body), "outside")
        assert.strictEqual(inside.connections.made, 0)
        const [seen] = outside.seen
        assert.strictEqual(seen?.url, "/a?b=c")
        assert.strictEqual(seen?.headers["host"], `rebinding.example:${outside.port}`)
      }).pipe(Effect.scoped)
  )

  it.live("checks the target of each redirect, and follows a bounded number of them", () =>
    Effect.gen(function* () {
      const inside = yield* web((_, response) => response.end("inside"), "127.0.0.2")
      const outside = yield* web(({ url }, response) => {
        const to = decodeURIComponent(url.slice(url.indexOf("=") + 1))
        response.writeHead(url.startsWith("/end") ? 200 : 302, { location: to }).end("done")
      })
      const dns = names({ "a.example": [public_address], "inside.example": ["127.0.0.2"] })
      const options: Options = {
        ports: [outside.port, inside.port],
        allow_ranges,
        resolve: dns.resolve
      }
      const start = `http://a.example:${outside.port}`
      const via = (to: string) =>
        fetching(options, { url: `${start}/go?to=${encodeURIComponent(to)}` })
      const ended = yield* via("/end")
      assert.deepStrictEqual([ended.status, ended.url], [200, `${start}/end`])
      for (const [to, reason] of [
        [`http://inside.example:${inside.port}/`, "address"],
        [`http://127.0.0.2:${inside.port}/`, "address"],
        [`//0x7f000002:${inside.port}/`, "address"],
        ["http://169.254.169.254:80/", "port"],
        ["file:///etc/passwd", "url"],
        ["http://nobody.example/", "port"],
        ["http://[", "redirect"]
      ] as const) {
        assert.strictEqual(yield* reasonOf(via(to)), reason, to)
      }
      const loop = fetching(options, { url: `${start}/go?to=${encodeURIComponent("?to=")}` })
      const before = outside.seen.length
      assert.strictEqual(yield* reasonOf(loop), "redirect")
      assert.strictEqual(outside.seen.length - before, 6)
      assert.strictEqual(inside.connections.made, 0)
      const kept = yield* fetching({ ...options, redirects_max: 0 }, { url: `${start}/go?to=/x` })
      assert.strictEqual(kept.status, 302)
    }).pipe(Effect.scoped)
  )

  it.live("sends credentials and other headers to their own origin only", () =>
    Effect.gen(function* () {
      const second = yield* web((_, response) => response.end("second"))
      const first = yield* web(({ url }, response) => {
        const status = Number(url.slice(1, 4))
        const to = url.endsWith("/same") ? "/200" : `http://b.example:${second.port}/there`
        response.writeHead(status, status === 200 ? {} : { location: to }).end("first")
      })
      const dns = names({ "a.example": [public_address], "b.example": [public_address] })
      const options: Options = {
        ports: [first.port, second.port],
        allow_ranges,
        resolve: dns.resolve,
        credentials: { [`http://a.example:${first.port}`]: { Authorization: "Bearer canary" } }
      }
      const send = (path: string, method: string) =>
        fetching(options, {
          url: `http://a.example:${first.port}${path}`,
          method,
          headers: {
            "X-Note": "k",
            "X-Request-Id": "c",
            Accept: "text/html",
            "Content-Type": "x/y"
          }
        })
      yield* send("/307/same", "GET")
      const [, again] = first.seen
      assert.deepInclude(again?.headers, { authorization: "Bearer canary", "x-note": "k" })
      for (const [status, method] of [
        [302, "GET"],
        [303, "HEAD"],
        [307, "GET"],
        [308, "HEAD"]
      ] as const) {
        yield* send(`/${status}/other`, method)
        const there = second.seen.at(-1)
        assert.deepInclude(there, { method, body: "" })
        assert.strictEqual(there?.headers["accept"], "text/html")
        for (const name of ["authorization", "x-note", "x-request-id", "content-type"]) {
          assert.isUndefined(there?.headers[name], name)
        }
      }
      assert.strictEqual(second.seen.length, 4)
    }).pipe(Effect.scoped)
  )

  it.live("refuses methods, headers and bodies that were not allowed, before it connects", () =>
    Effect.gen(function* () {
      const { connections, port } = yield* web((_, response) => response.end())
      const options: Options = { ports: [port], allow_ranges, request_bytes_max: 4 }
      const url = `http://127.0.0.1:${port}/`
      for (const [request, reason] of [
        [{ method: "POST" }, "method"],
        [{ method: "TRACE" }, "method"],
        [{ method: "get" }, "method"],
        [{ body: "x" }, "method"],
        [{ headers: { host: "other.example" } }, "headers"],
        [{ headers: { "Transfer-Encoding": "chunked" } }, "headers"],
        [{ headers: { "proxy-authorization": "x" } }, "headers"],
        ...withheld.map((name) => [{ headers: { [name]: "x" } }, "headers"] as const),
        [{ headers: { "x-a": "b\r\nx-c: d" } }, "headers"],
        [{ headers: { "x a": "b" } }, "headers"],
        [
          { headers: Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`x-${i}`, ""])) },
          "headers"
        ]
      ] as const) {
        assert.strictEqual(yield* reasonOf(fetching(options, { url, ...request })), reason)
      }
      const big = { url, method: "POST", body: "12345" }
      assert.strictEqual(yield* reasonOf(fetching({ ...options, methods: ["POST"] }, big)), "size")
      assert.strictEqual(connections.made, 0)
    }).pipe(Effect.scoped)
  )

  it.live("refuses an encoding by the name of what every object has", () =>
    Effect.gen(function* () {
      const names = ["constructor", "__proto__", "toString", "hasOwnProperty", "valueOf"]
      const { port } = yield* web(({ url }, response) => {
        response.writeHead(200, { "content-encoding": (url ?? "").slice(1) }).end("x")
      })
      for (const name of names) {
        const get = fetching(
          { ports: [port], allow_ranges },
          { url: `http://127.0.0.1:${port}/${name}` }
        )
        assert.strictEqual(yield* reasonOf(get), "encoding", name)
      }
    }).pipe(Effect.scoped)
  )

  it.live("reads no more than its bound of a long answer and of a compressed one", () =>
    Effect.gen(function* () {
      const bomb = gzipSync(Buffer.alloc(50_000_000))
      const { connections, port } = yield* web(({ url }, response) => {
        if (url === "/bomb") response.writeHead(200, { "content-encoding": "gzip" }).end(bomb)
        else if (url === "/gzip") {
          response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync("small"))
        } else if (url === "/none") {
          response.writeHead(200, { "content-encoding": "gzip" }).flushHeaders()
          response.end()
        } else if (url === "/odd") {
          response.writeHead(200, { "content-encoding": "gzip, gzip" }).end("x")
        } else if (url === "/broken") {
          response.writeHead(200, { "content-encoding": "gzip" }).end("no gzip")
        } else if (url === "/exact") response.end("x".repeat(1_000))
        else {
          const pour = () => {
            while (!response.destroyed && response.write("x".repeat(65_536)));
            response.once("drain", pour)
          }
          pour()
        }
      })
      const get = (path: string) =>
        fetching(
          { ports: [port], allow_ranges, response_bytes_max: 1_000 },
          { url: `http://127.0.0.1:${port}${path}` }
        )
      for (const path of ["/bomb", "/endless"]) {
        const { body, truncated } = yield* get(path)
        assert.deepStrictEqual([body.length, truncated], [1_000, true], path)
      }
      const exact = yield* get("/exact")
      assert.deepStrictEqual([exact.body.length, exact.truncated], [1_000, false])
      assert.strictEqual(textOf((yield* get("/gzip")).body), "small")
      assert.strictEqual(textOf((yield* get("/none")).body), "")
      assert.strictEqual(yield* reasonOf(get("/odd")), "encoding")
      assert.strictEqual(yield* reasonOf(get("/broken")), "network")
      yield* eventually(
        Effect.sync(() => connections.open),
        (open) => open === 0
      )
    }).pipe(Effect.scoped)
  )

  it.live("takes little more than its bound for an answer in chunks of one byte", () =>
    Effect.gen(function* () {
      const block = Buffer.from("1\r\nx\r\n".repeat(10_000))
      const { port } = yield* web((_, response) => {
        const { socket } = response
        socket?.write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
        let left = 45
        const more = (): void => {
          while (left-- > 0)
            if (socket?.write(block) === false) return void socket.once("drain", more)
        }
        more()
      })
      const before = process.memoryUsage().rss
      let most = before
      const watch = setInterval(() => (most = Math.max(most, process.memoryUsage().rss)), 5)
      const { body, truncated } = yield* Effect.ensuring(
        fetching(
          { ports: [port], allow_ranges, response_bytes_max: 400_000 },
          { url: `http://127.0.0.1:${port}/` }
        ),
        Effect.sync(() => clearInterval(watch))
      )
      assert.deepStrictEqual([body.length, body.at(-1), truncated], [400_000, 120, true])
      // A list of its chunks takes more than 150 MB.
      assert.isBelow(most - before, 80_000_000)
    }).pipe(Effect.scoped)
  )

  it.live("ends at its time-out, and leaves no connection when it is interrupted", () =>
    Effect.gen(function* () {
      const { connections, port, seen } = yield* web((_, response) => {
        response.writeHead(200).write("begun")
      })
      const url = `http://127.0.0.1:${port}/`
      const options: Options = { ports: [port], allow_ranges }
      assert.strictEqual(
        yield* reasonOf(fetching({ ...options, timeout_ms: 100 }, { url })),
        "timeout"
      )
      const fiber = yield* Effect.forkChild(fetching(options, { url }))
      yield* eventually(
        Effect.sync(() => seen.length),
        (requests) => requests === 2
      )
      yield* Fiber.interrupt(fiber)
      yield* eventually(
        Effect.sync(() => connections.open),
        (open) => open === 0
      )
      const never = fetching(
        { ...options, timeout_ms: 50, resolve: () => new Promise(() => undefined) },
        { url: `http://slow.example:${port}/` }
      )
      assert.strictEqual(yield* reasonOf(never), "timeout")
      const closed = fetching({ ports: [1], allow_ranges }, { url: "http://127.0.0.1:1/" })
      assert.strictEqual(yield* reasonOf(closed), "network")
    }).pipe(Effect.scoped)
  )

  it.effect("is not made from invalid options, whose error says which and how to fix them", () =>
    Effect.gen(function* () {
      for (const [options, field] of [
        [{ methods: [] }, "methods"],
        [{ methods: ["get"] }, "methods"],
        [{ methods: ["CONNECT"] }, "methods"],
        [{ ports: [] }, "ports"],
        [{ ports: [0] }, "ports"],
        [{ hosts: [] }, "hosts"],
        [{ hosts: ["https://a.example"] }, "hosts"],
        [{ allow_ranges: ["10.0.0.0/33"] }, "allow_ranges"],
        [{ allow_ranges: ["intranet"] }, "allow_ranges"],
        [{ credentials: { "a.example": { authorization: "x" } } }, "credentials"],
        [{ credentials: { "https://a.example": { host: "x" } } }, "credentials"],
        [{ timeout_ms: 0 }, "timeout_ms"],
        [{ response_bytes_max: 5_000_000 }, "response_bytes_max"],
        [{ redirects_max: 21 }, "redirects_max"]
      ] as const) {
        const error = yield* Effect.flip(HttpRequestTool.tools(options))
        assert.deepInclude(error, { _tag: "MisdeclaredTool", tool: "http_request", field })
        assert.include(error.message, "Write")
      }
      // From JavaScript, where a misspelt option would otherwise be ignored.
      const misspelt = { host: ["api.example.org"] } as object
      const error = yield* Effect.flip(HttpRequestTool.tools(misspelt))
      assert.deepInclude(error, { _tag: "MisdeclaredTool", tool: "http_request", field: "host" })
      assert.include(error.message, 'Did you mean "hosts"?')
    })
  )
})
