/**
 * The variants of the row of open consoles. The service and its runs are in the variant's process, whose CPU is measured; those who
 * follow are in a process of their own.
 */
import { createHash } from "node:crypto"
import { Agent, get, request } from "node:http"
import type { IncomingMessage } from "node:http"
import { text } from "node:stream/consumers"
import { setTimeout as sleep } from "node:timers/promises"
import { Effect } from "effect"
import { Principal, Tenant } from "troupe"
import { Troupe } from "troupe/layers"
import { newDatabase } from "./NewDatabase.ts"
import { agent, lookup, model } from "./Reader.ts"
import type { Sample } from "./Row.ts"
import { served } from "./Row.ts"
import { compileSchemas, sized } from "./Work.ts"

/** Runs that go on at the same time, each with ten events a second: a turn and its call every 200 ms. */
const runs_count = sized(2, 20)
const turn_ms = 200
const each_count = sized(2, 10)
const warm_ms = sized(500, 8_000)
const window_ms = sized(500, 20_000)
/** Longer than all of it. */
const steps = sized(20, 400)

/** One of each run's followers has this one's token: of a token there are at most 100 sessions. */
const tokens = Array.from({ length: each_count }, (_, n) => `token-of-follower-${n}`)
const tenant = Tenant.make("default")
const ownerOf = (n: number) => new Principal({ id: `follower-${n}`, tenant, roles: ["operator"] })

const plenty = 1_000_000

type Kind = "none" | "streams" | "consoles"

const keptOpen = new Agent({ keepAlive: true })

const asked = (
  url: string,
  headers: Readonly<Record<string, string>>,
  body?: string
): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const method = body === undefined ? "GET" : "POST"
    request(url, { method, agent: keptOpen, headers }, resolve).once("error", reject).end(body)
  })

/** Opens an event stream, and gives what it says to `seen`. */
const opened = (
  url: string,
  headers: Readonly<Record<string, string>>,
  seen: (part: string) => void
) =>
  new Promise<void>((resolve, reject) => {
    get(url, { agent: false, headers }, (response) => {
      if (response.statusCode !== 200) return reject(new Error(`${url}: ${response.statusCode}`))
      response.setEncoding("utf8").on("data", seen)
      resolve()
    }).once("error", reject)
  })

/** Signs in, opens the page of a run, and follows it; it is fetched again where its stream says so, one at a time, and the last. */
const consoleOf = async (url: string, run: string, token: string) => {
  const body = new URLSearchParams({ form_key: "none", token }).toString()
  const type = "application/x-www-form-urlencoded"
  // Of one address so many would be too many.
  const headers = {
    "content-type": type,
    "x-forwarded-for": `198.51.100.${token.split("-").at(-1)}`
  }
  const answer = await asked(`${url}/console/sign-in`, headers, body)
  answer.resume()
  const cookie = answer.headers["set-cookie"]?.[0]?.split(";", 1)[0] ?? ""
  const pageOf = async (headers: Readonly<Record<string, string>>) => {
    const page = await asked(`${url}/console/runs/${run}`, { cookie, ...headers })
    const html = await text(page)
    if (page.statusCode !== 200) throw new Error(`${page.statusCode}: ${html.slice(0, 200)}`)
    return html
  }
  const path = /hx-sse-connect="([^"]+)"/.exec(await pageOf({}))?.[1]?.replaceAll("&amp;", "&")
  if (path === undefined) throw new Error("the page does not follow its run")
  let wanted = 0
  const fetched = async () => {
    for (; wanted > 0; wanted = Math.min(1, wanted - 1)) await pageOf({ "hx-request": "true" })
  }
  await opened(`${url}${path}`, { cookie }, (part) => {
    const news = part.split("event: news").length - 1
    if (news === 0) return
    wanted += news
    if (wanted === news) void fetched()
  })
}

/** The followers, until their parent is gone. */
export const follow = async (kind: Kind, url: string, ...places: ReadonlyArray<string>) => {
  const openAll = async (token: string) => {
    for (const place of places) {
      const [run = "", conversation = ""] = place.split(" ")
      const events = `${url}/v1/conversations/${conversation}/events`
      if (kind === "consoles") await consoleOf(url, run, token)
      else await opened(events, { authorization: `Bearer ${token}` }, () => {})
    }
  }
  await Promise.all(tokens.map(openAll))
  console.log("ready")
  return new Promise<never>(() => {})
}

const memory = () => {
  for (let n = 0; n < 3; n++) globalThis.gc?.()
  const { arrayBuffers, heapUsed, rss } = process.memoryUsage()
  return { held: (heapUsed + arrayBuffers) / 1_000_000, rss: rss / 1_000_000 }
}

export const ours = async (kind: Kind, on: string): Promise<Sample> => {
  await compileSchemas()
  const app = Troupe.layer({
    agents: [agent],
    tools: [lookup],
    model: model({ steps, turn_ms }),
    store: await newDatabase(on),
    http: {
      port: 0,
      console: true,
      tokens: tokens.map((token, n) => ({
        sha256: createHash("sha256").update(token).digest("hex"),
        principal: ownerOf(n)
      })),
      settings: { requests_principal_per_minute: plenty, requests_tenant_per_minute: plenty }
    }
  })
  const measured = Troupe.use((troupe) =>
    Effect.gen(function* () {
      const places: Array<string> = []
      for (let n = 0; n < runs_count; n++) {
        const sent = yield* troupe.send({ agent: agent.name, text: "read" }, ownerOf(0))
        places.push(`${sent.run} ${sent.conversation}`)
      }
      return yield* Effect.promise(async () => {
        await sleep(sized(100, 2_000))
        const before = memory()
        const others =
          kind === "none"
            ? undefined
            : await served("followers", "follow", [kind, troupe.url ?? "", ...places])
        await sleep(warm_ms)
        const begun = memory()
        const cpu = process.cpuUsage()
        const from = performance.now()
        await sleep(window_ms)
        const seconds = (performance.now() - from) / 1_000
        const used = process.cpuUsage(cpu)
        const after = memory()
        await others?.stop()
        await sleep(sized(100, 1_000))
        const left = memory()
        return {
          cpu_ms: (used.user + used.system) / 1_000 / seconds,
          open_mb: after.held - before.held,
          grown: after.held / begun.held,
          rss_mb: after.rss,
          left: left.held / before.held
        }
      })
    })
  )
  return Effect.runPromise(Effect.provide(measured, app))
}
