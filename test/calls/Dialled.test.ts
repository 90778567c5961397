/**
 * What is dialled for each spelling of a host. A refused one makes no connection, counted where this process makes its
 * sockets and where a server listens; an allowed one is dialled at the address that was checked.
 */
import { subscribe, unsubscribe } from "node:diagnostics_channel"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import type { Scope } from "effect"
import type { FetchError } from "../../layers/calls/Exchange.ts"
import * as GuardedFetch from "../../layers/calls/GuardedFetch.ts"
import { judgedFetch } from "../../layers/network/JudgedFetch.ts"
import { parseAddressRange } from "../../src/network/Address.ts"
import type { ToolConfig } from "../../src/call/ToolConfig.ts"
import { configured, platform, runBody } from "./Platform.ts"
import { names, web } from "./Web.ts"

/** The sockets that this process has begun to connect, wherever to. */
const dials: Effect.Effect<{ made: number }, never, Scope.Scope> = Effect.suspend(() => {
  const count = { made: 0 }
  const add = () => void count.made++
  return Effect.acquireRelease(
    Effect.sync(() => {
      subscribe("net.client.socket", add)
      return count
    }),
    () => Effect.sync(() => unsubscribe("net.client.socket", add))
  )
})

/** Hosts that are an address of this machine, in a form that some parser of URLs takes for one. */
const loopback =
  "127.0.0.1 127.0.0.2 127.255.255.254 127.1 127.0.1 127.0.0.1. 127.1. 2130706433 2130706433. 0x7f000001 0X7F000001 0x7f.1 " +
  "0x7f.0x0.0x0.0x1 127.0x0.0.01 017700000001 0177.1 0177.0.0.1 0177.0.0.01 00000177.1 0 0x0 00 0.0.0.0 0.0.0.1 0.1 " +
  "127%2e0%2e0%2e1 127%2E1 %31%32%37.0.0.1 %30x7f.1 2130706433%2e 127%E3%80%820%E3%80%820%E3%80%821 %EF%BC%91%EF%BC%92%EF%BC%97.0.0.1 " +
  "１２７.0.0.1 １２７．０．０．１ 127。0。0。1 127｡0｡0｡1 ①②⑦.0.0.1 𝟏𝟐𝟕.0.0.1 𝟚𝟙𝟛𝟘𝟟𝟘𝟞𝟜𝟛𝟛 ０ｘ７ｆ.1 1２7.1 127\u00ad.0.0.1 " +
  "[::1] [0:0:0:0:0:0:0:1] [0000::0001] [::0.0.0.1] [::] [::ffff:127.0.0.1] [::FFFF:127.0.0.1] [::ffff:7f00:1] [0:0:0:0:0:ffff:7f00:1] " +
  "[::127.0.0.1] [::7f00:1] [::ffff:0:127.0.0.1] [64:ff9b::127.0.0.1] [64:ff9b::7f00:1] [64:ff9b:1::7f00:1] [2002:7f00:1::] " +
  "[2002:7f00:1::1] [2001:0:7f00:1::1] [2606:4700::5efe:7f00:1] [2606:4700::200:5efe:127.0.0.1]"

/** The same of the metadata services of clouds. */
const metadata =
  "169.254.169.254 169.254.169.254. 2852039166 0xa9fea9fe 0xA9.0xFE.0xA9.0xFE 0251.0376.0251.0376 169.254.43518 169.16689662 " +
  "169%2e254%2e169%2e254 １６９.254.169.254 169。254。169。254 169.254.0.1 100.100.100.200 0x646464c8 192.0.0.192 168.63.129.16 " +
  "[::ffff:169.254.169.254] [::ffff:a9fe:a9fe] [::169.254.169.254] [::a9fe:a9fe] [::ffff:0:169.254.169.254] [64:ff9b::a9fe:a9fe] " +
  "[64:ff9b::169.254.169.254] [64:ff9b:1::a9fe:a9fe] [64:ff9b::a83f:8110] [2002:a9fe:a9fe::1] [2606:4700::5efe:a9fe:a9fe] " +
  "[fe80::a9fe:a9fe] [fd00:ec2::254] [FD00:0EC2::254] [fd20:ce::254] [fd00:c1::a9fe:a9fe] [fd00:42::42] " +
  "[64:ff9b:1:a9fe:a9:fe00::] [64:ff9b:1:a9:fe:a9fe::] [64:ff9b:1:0:a9:fea9:fe00:0] [2001:0:5601:203:0:0:5601:5601]"

/** The same of other networks that are not public. */
const closed =
  "10.0.0.1 167772161 012.1 0xa.1 10.255.255.255 172.16.0.1 172.31.255.255 192.168.1.1 0xc0a80101 3232235777 100.64.0.1 192.0.2.1 " +
  "192.88.99.1 198.18.0.1 203.0.113.9 224.0.0.1 240.0.0.1 255.255.255.255 4294967295 [fc00::1] [fd12::1] [fe80::1] [fec0::1] " +
  "[ff02::1] [100::1] [2001:db8::1] [3fff::1] [4000::1] [::ffff:10.0.0.1] [64:ff9b::c0a8:101]"

const literals = [loopback, metadata, closed].flatMap((hosts) => hosts.split(" "))

/** URLs that hide a host of this machine, and what each is refused for. `P` = the server's port. */
const forms: ReadonlyArray<readonly [url: string, reason: FetchError["reason"]]> = [
  ["http://user@127.0.0.1:P/", "url"],
  ["http://user:pass@127.0.0.1:P/", "url"],
  ["http://:pass@127.0.0.1:P/", "url"],
  ["http://a.example@127.0.0.1:P/", "url"],
  ["http://a.example:80@127.0.0.1:P/", "url"],
  ["http://127.0.0.1:P@a.example/", "url"],
  ["http://a.example%2f@127.0.0.1:P/", "url"],
  ["http://a.example\\@127.0.0.1:P/", "port"],
  ["http://127.0.0.1:P\\@a.example/", "address"],
  ["http://127.0.0.1:P\\.a.example/", "address"],
  ["http://127.0.0.1:P#@a.example/", "address"],
  ["http://127.0.0.1:P?@a.example/", "address"],
  ["http://a.example%40127.0.0.1:P/", "url"],
  ["http://a.example%00.127.0.0.1:P/", "url"],
  ["http:\\\\127.0.0.1:P/", "url"],
  ["http:/\\127.0.0.1:P/", "url"],
  ["http:/127.0.0.1:P/", "url"],
  ["http:127.0.0.1:P/", "url"],
  ["//127.0.0.1:P/", "url"],
  [" http://127.0.0.1:P/", "url"],
  ["\thttp://127.0.0.1:P/", "url"],
  ["ht\ttp://127.0.0.1:P/", "url"],
  ["http:\n//127.0.0.1:P/", "url"],
  ["http://\t127.0.0.1:P/", "address"],
  ["http://127.\t0.0.1:P/", "address"],
  ["http://127.0.\r\n0.1:P/", "address"],
  ["http://127.0.0.1:P/\t", "address"],
  ["http:///127.0.0.1:P/", "address"],
  ["http://\\127.0.0.1:P/", "address"],
  ["http://127.0.0.1 :P/", "url"],
  ["http://[::1%25lo]:P/", "url"],
  ["http://[::1%lo]:P/", "url"],
  ["http://[::1:P/", "url"],
  ["http://[[::1]]:P/", "url"],
  ["http://[127.0.0.1]:P/", "url"],
  ["http://127.0.0.256:P/", "url"],
  ["http://127.0.0.1.1:P/", "url"],
  ["http://0x100000000:P/", "url"],
  ["http://127.0.0.09:P/", "url"],
  ["http://127.0.0.1:99999/", "url"],
  ["http://127.0.0.1:P/..%2f", "address"],
  ["ftp://127.0.0.1:P/", "url"],
  ["file://127.0.0.1/etc/passwd", "url"],
  ["gopher://127.0.0.1:P/", "url"],
  ["ws://127.0.0.1:P/", "url"],
  ["http://127.0.0.1:1/", "port"]
]

/** Names and the addresses that a resolver gives for them; none may be dialled, whatever the others are. */
const answers: ReadonlyArray<ReadonlyArray<string>> = [
  ["127.0.0.1"],
  ["93.184.216.34", "127.0.0.1"],
  ["127.0.0.1", "93.184.216.34"],
  ["93.184.216.34", "::1"],
  ["::ffff:127.0.0.1"],
  ["::127.0.0.1"],
  ["64:ff9b::7f00:1"],
  ["169.254.169.254"],
  ["fe80::1%lo"],
  ["10.0.0.1"],
  ["0x7f000001"],
  ["2130706433"],
  ["localhost"],
  ["127.0.0.1 "],
  [""]
]

/** URLs that lead to the test's server, and the name that is resolved; null = none is. `P` = the server's port. */
const allowed: ReadonlyArray<readonly [url: string, resolved: string | null, path: string]> = [
  ["http://a.example:P/", "a.example", "/"],
  ["http://A.EXAMPLE:P/", "a.example", "/"],
  ["HTTP://a.example:P/", "a.example", "/"],
  ["http://a%2eexample:P/", "a.example", "/"],
  ["http://%61.example:P/", "a.example", "/"],
  ["http://ａ.example:P/", "a.example", "/"],
  ["http://ⓐ。ｅxample:P/", "a.example", "/"],
  ["http://a.ex\u00adample:P/", "a.example", "/"],
  ["http://a.ex\tam\nple:P/", "a.example", "/"],
  ["http://a.example.:P/", "a.example.", "/"],
  ["http://a.example:0P/", "a.example", "/"],
  ["http://a.example:P", "a.example", "/"],
  ["http://a.example:P\\@127.0.0.2/", "a.example", "/@127.0.0.2/"],
  ["http://a.example:P/\\\\127.0.0.2/", "a.example", "///127.0.0.2/"],
  ["http://a.example:P#@127.0.0.2/", "a.example", "/"],
  ["http://a.example:P?@127.0.0.2/", "a.example", "/?@127.0.0.2/"],
  ["http://a.example:P//127.0.0.2/", "a.example", "//127.0.0.2/"],
  ["http://a.example:P/x/../../y", "a.example", "/y"],
  ["http://a.example:P/%2e%2e/y", "a.example", "/y"],
  ["http://127.0.0.2.a.example:P/", "127.0.0.2.a.example", "/"],
  ["http://bücher.example:P/", "xn--bcher-kva.example", "/"],
  ["http://two.example:P/", "two.example", "/"],
  ["http://127.0.0.1:P/", null, "/"],
  ["http://2130706433:P/", null, "/"],
  ["http://0x7f.1:P/", null, "/"],
  ["http://017700000001:P/", null, "/"],
  ["http://１２７。0.0.1:P/", null, "/"],
  ["http://127%2e0%2e0%2e1:P/", null, "/"]
]

const get = (guard: GuardedFetch.GuardedFetch, url: string) =>
  guard.fetch({ url, method: "GET", headers: {}, body: undefined })

/** A server that permitted calls reach, one that none may, on the same port of another loopback address. */
const scene = Effect.gen(function* () {
  const outside = yield* web(({ url }, response) => {
    const [, to] = /^\/go\?to=(.*)$/.exec(url) ?? []
    if (to === undefined) response.end("outside")
    else response.writeHead(302, { location: decodeURIComponent(to) }).end()
  })
  const inside = yield* web((_, response) => response.end("inside"), "127.0.0.2", outside.port)
  const at = (url: string) => url.replaceAll(/(?<=[:0])P/g, String(outside.port))
  return { outside, inside, at, port: outside.port, dialled: yield* dials }
})

describe("what is dialled", () => {
  it.live("AG-05 is nothing for any spelling of a host that is not public", () =>
    Effect.gen(function* () {
      const { at, dialled, inside, outside, port } = yield* scene
      const dns = names(Object.fromEntries(answers.map((each, i) => [`n${i}.example`, each])))
      const guard = yield* GuardedFetch.make("test", {
        ports: [port],
        resolve: dns.resolve,
        timeout_ms: 2_000
      })
      const refused = Effect.fnUntraced(function* (url: string) {
        const { message, reason } = yield* Effect.flip(get(guard, url))
        assert.strictEqual(dialled.made, 0, url)
        assert.notMatch(message, /\d\.\d|localhost|example/)
        return reason
      })
      for (const host of literals) {
        assert.strictEqual(yield* refused(`http://${host}:${port}/`), "address", host)
      }
      for (const [url, reason] of forms) assert.strictEqual(yield* refused(at(url)), reason, url)
      assert.lengthOf(dns.asked, 0)
      for (const index of answers.keys()) {
        const url = `http://n${index}.example:${port}/`
        assert.strictEqual(yield* refused(url), "address", JSON.stringify(answers[index]))
      }
      assert.lengthOf(dns.asked, answers.length)
      assert.isAtLeast(literals.length + forms.length + answers.length, 150)
      assert.deepStrictEqual([inside.connections.made, outside.connections.made], [0, 0])
    }).pipe(Effect.scoped)
  )

  it.live("AG-05 is the checked address of each spelling of a host that may be reached", () =>
    Effect.gen(function* () {
      const { at, dialled, inside, outside, port } = yield* scene
      const one = ["127.0.0.1"]
      const dns = names({
        "a.example": one,
        "a.example.": one,
        "127.0.0.2.a.example": one,
        "xn--bcher-kva.example": one,
        "two.example": [...one, ...one]
      })
      const guard = yield* GuardedFetch.make("test", {
        ports: [port],
        allow_ranges: ["127.0.0.1/32"],
        resolve: dns.resolve
      })
      for (const [url, resolved, path] of allowed) {
        const { body, status } = yield* get(guard, at(url))
        assert.deepStrictEqual([status, Buffer.from(body).toString()], [200, "outside"], url)
        assert.deepStrictEqual(dns.asked.splice(0), resolved === null ? [] : [resolved], url)
        const [seen, ...more] = outside.seen.splice(0)
        assert.lengthOf(more, 0)
        assert.deepStrictEqual(
          [seen?.url, seen?.headers["host"]],
          [path, `${resolved ?? "127.0.0.1"}:${port}`],
          url
        )
      }
      assert.isAtLeast(allowed.length, 20)
      assert.deepStrictEqual(
        [dialled.made, outside.connections.made, inside.connections.made],
        [allowed.length, allowed.length, 0]
      )
    }).pipe(Effect.scoped)
  )

  it.live("AG-09 is nothing where a redirect leads to this machine or a metadata service", () =>
    Effect.gen(function* () {
      const { at, dialled, inside, outside, port } = yield* scene
      const dns = names({ "a.example": ["127.0.0.1"], "inside.example": ["127.0.0.2"] })
      const guard = yield* GuardedFetch.make("test", {
        ports: [port],
        allow_ranges: ["127.0.0.1/32"],
        resolve: dns.resolve
      })
      // A header holds ASCII.
      const hosts = [loopback, metadata]
        .flatMap((each) => each.split(" ").filter(isElsewhere))
        .map((each) => each.replaceAll(/[^\u0020-\u007e]+/g, encodeURIComponent))
      const targets = [...hosts, "inside.example"].flatMap((host) => [
        `http://${host}:P/`,
        `//${host}:P/`
      ])
      for (const to of targets.map(at)) {
        const before = dialled.made
        const via = at(`http://a.example:P/go?to=${encodeURIComponent(to)}`)
        assert.strictEqual((yield* Effect.flip(get(guard, via))).reason, "address", to)
        assert.strictEqual(dialled.made - before, 1, to)
      }
      assert.strictEqual(outside.connections.made, targets.length)
      assert.strictEqual(inside.connections.made, 0)
    }).pipe(Effect.scoped)
  )

  it.live("AG-05 is no metadata service, although an operator named the platform's host", () =>
    Effect.gen(function* () {
      const { dialled, inside, outside, port } = yield* scene
      const callbackOf = (host: string) => ({
        endpoint: `http://${host}:${port}/api/tools/call`,
        authorization: "secret"
      })
      for (const host of [...metadata.split(" "), "METADATA.google.internal.", "metadata.goog"]) {
        const error = yield* Effect.flip(
          configured({ port }, kinds, { callback: callbackOf(host) })
        )
        assert.deepInclude(error, { _tag: "ToolConfigRefused", tool: "callback.endpoint" }, host)
        assert.include(error.message, "metadata service")
      }
      const fails = Effect.fnUntraced(function* (host: string, address: ReadonlyArray<string>) {
        const { resolve } = names({ [host]: address })
        const callback = callbackOf(host)
        for (const tool of yield* configured({ port }, kinds, { callback, resolve })) {
          const error = yield* Effect.flip(runBody(tool, {}))
          assert.deepInclude(error, { _tag: "ToolPolicyError", reason: "CALL_ADDRESS" }, host)
          assert.strictEqual(dialled.made, 0, host)
        }
      })
      for (const address of metadata_answers) yield* fails("platform.example", [address])
      yield* fails("platform.example", ["127.0.0.1", "169.254.169.254"])
      assert.deepStrictEqual([inside.connections.made, outside.connections.made], [0, 0])
    }).pipe(Effect.scoped)
  )

  it.live("AG-09 is the platform's host as it was checked, at every call, and no redirect's", () =>
    Effect.gen(function* () {
      const { dialled, inside, outside, port } = yield* scene
      const moved = yield* platform(({ url }) => ({
        status: 307,
        headers: { location: `http://127.0.0.2:${port}${url}` }
      }))
      for (const tool of yield* configured(moved, kinds)) {
        yield* Effect.flip(runBody(tool, {}))
      }
      assert.deepStrictEqual([moved.connections.made, dialled.made], [2, 2])
      const given = [["127.0.0.1"], ["169.254.169.254"], ["::ffff:a9fe:a9fe"], ["127.0.0.1"]]
      const asked: Array<string> = []
      const [tool] = yield* configured({ port }, kinds, {
        callback: { endpoint: `http://platform.example:${port}/api/tools/call` },
        resolve: (host) => Promise.resolve(given[asked.push(host) - 1] ?? ["127.0.0.2"])
      })
      const ends = []
      for (const _ of given) ends.push((yield* Effect.exit(runBody(tool, {})))._tag)
      assert.deepStrictEqual(ends, ["Success", "Failure", "Failure", "Success"])
      assert.deepStrictEqual([outside.connections.made, dialled.made], [2, 4])
      assert.lengthOf(asked, given.length)
      assert.strictEqual(inside.connections.made, 0)
    }).pipe(Effect.scoped)
  )

  it.live("is the same for webhooks and servers of tools, which follow no redirect either", () =>
    Effect.gen(function* () {
      const { at, dialled, inside, outside, port } = yield* scene
      const allow = [Result.getOrThrow(parseAddressRange("127.0.0.1/32"))]
      const sent = (fetch: typeof globalThis.fetch, url: string, init?: RequestInit) =>
        Effect.tryPromise(() => fetch(url, init).then((response) => response.text()))
      const [webhook, server] = [judgedFetch({ allow: [] }), judgedFetch({ allow, named: true })]
      for (const host of [...literals, "localhost", "LOCALHOST."]) {
        yield* Effect.flip(sent(webhook, `http://${host}:${port}/`))
      }
      for (const host of metadata.split(" ")) {
        yield* Effect.flip(sent(server, `http://${host}:${port}/`))
      }
      assert.strictEqual(outside.connections.made, 0)
      const reached = judgedFetch({ allow })
      for (const to of ["http://127.0.0.2:P/", "http://169.254.169.254/", "http://127.0.0.1:P/"]) {
        const via = at(`http://127.0.0.1:P/go?to=${encodeURIComponent(at(to))}`)
        for (const init of [undefined, { redirect: "follow" }, { redirect: "error" }] as const) {
          yield* Effect.flip(sent(reached, via, init))
        }
        assert.strictEqual(yield* sent(reached, via, { redirect: "manual" }), "")
      }
      assert.strictEqual(inside.connections.made, 0)
      assert.isAtMost(dialled.made, 12)
      assert.strictEqual(yield* sent(reached, at("http://0x7f.1:P/")), "outside")
    }).pipe(Effect.scoped)
  )
})

/** A direct tool and one of the gateway, without arguments. */
const kinds: ReadonlyArray<ToolConfig> = [
  { kind: "callback", name: "note", call: { method: "POST", path: "/api/notes" } },
  { type: "gateway", integration: "github", action: "star", connection: "gh" }
]

/** A metadata service as a resolver may give it. */
const metadata_answers =
  "169.254.169.254 localhost 2852039166 ::ffff:169.254.169.254 ::169.254.169.254 64:ff9b::a9fe:a9fe 64:ff9b:1::a9fe:a9fe 2002:a9fe:a9fe::1 fd00:ec2::254 fe80::1%eth0".split(
    " "
  )

/** Not one of the spellings of 127.0.0.1, which the test's ranges allow. */
const isElsewhere = (host: string): boolean => {
  const { hostname } = new URL(`http://${host}/`)
  return hostname !== "127.0.0.1" && !/^\[(?:::ffff:|64:ff9b::)7f00:1\]$/.test(hostname)
}
