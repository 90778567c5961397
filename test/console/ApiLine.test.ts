/** What pages of the console offer besides themselves: the line that asks the API for the same, and a run's events as a file. */
import { execFile } from "node:child_process"
import { promisify } from "node:util"
import { assert, describe, it } from "vitest"
import { apiLine } from "../../layers/console/ApiLine.ts"
import { anna, shop, signedIn, tokenOf } from "./ConsoleScene.ts"

const run = promisify(execFile)

const within = async (use: (troupe: Awaited<ReturnType<typeof shop>>) => Promise<void>) => {
  const troupe = await shop()
  try {
    await use(troupe)
  } finally {
    await troupe.stop()
  }
}

const ask = async (troupe: Awaited<ReturnType<typeof shop>>) =>
  (await troupe.ask({ agent: "billing", text: "refund <b>order-1003</b>" }, anna)).run

const entities = { "&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#39;": "'" }

/** The line of a page, as somebody copies it. */
const lineIn = (text: string): string =>
  (/<pre tabindex="0">(curl [^<]*)<\/pre>/.exec(text)?.[1] ?? assert.fail("no line")).replaceAll(
    /&[a-z0-9#]+;/g,
    (each) => entities[each as keyof typeof entities]
  )

/** What a shell makes of a line, word by word, with `curl` in place of the program. */
const wordsOf = async (line: string): Promise<ReadonlyArray<string>> => {
  const script = `curl() { printf '%s\\n' "$@"; }\n${line}`
  const { stdout } = await run("sh", ["-c", script], {
    env: { ...process.env, TOKEN: tokenOf("vera") }
  })
  return stdout.trimEnd().split("\n")
}

const answerOf = async (line: string): Promise<unknown> => {
  const [flag, header = "", address = ""] = await wordsOf(line)
  assert.strictEqual(flag, "-H")
  const [name = "", value = ""] = header.split(": ")
  return await (await fetch(address, { headers: { [name]: value } })).json()
}

describe("the line of a page", () => {
  it("asks the API for what the page shows, with the token of the shell", () =>
    within(async (troupe) => {
      const id = await ask(troupe)
      const [approval] = await troupe.approvals({ run_id: id }, anna)
      await troupe.decide(approval?.id ?? assert.fail(), { decision: "deny", reason: "no" }, anna)
      const vera = await signedIn(troupe, "vera")
      for (const [path, part] of [
        ["/console/runs", id],
        ["/console/runs?status=processing", undefined],
        ["/console/decisions?tool=refund_order&until=2999-01-01", approval?.id],
        ["/console/decisions?tool=it%27s%20%26%20%24(id)", undefined],
        ["/console/costs?by=agent&days=7", undefined],
        ["/console/inbox", undefined],
        ["/console/agents", "refund_order"],
        ["/console/tools", "refund_order"]
      ] as const) {
        const { text } = await vera.get(path)
        const line = lineIn(text)
        assert.notInclude(text, tokenOf("vera"))
        const answer = (await answerOf(line)) as { readonly items: ReadonlyArray<object> }
        assert.isArray(answer.items, line)
        if (part === undefined) assert.notInclude(JSON.stringify(answer), id, line)
        else assert.include(JSON.stringify(answer), part, line)
      }
      for (const [path, part] of [
        [`/console/inbox/${approval?.id}`, approval?.id ?? ""],
        ["/console/policy", "warnings"]
      ] as const) {
        const line = lineIn((await vera.get(path)).text)
        assert.include(JSON.stringify(await answerOf(line)), part, line)
      }
    }))

  it("stays one address in its quotes, whatever stands in it", async () => {
    const request = { headers: { host: "h'; id; '" }, source: {} }
    const line = apiLine(
      { base: "/a'b$(id)", request } as never,
      { path: "/v1/runs" },
      { after: "'`id`", limit: 5 }
    )
    const words = await wordsOf(line)
    assert.lengthOf(words, 3)
    assert.match(
      words[2] ?? "",
      /^http:\/\/h%27; id; %27\/a%27b\$\(id\)\/v1\/runs\?after=%27%60id%60&limit=5$/
    )
  })

  it("is under https behind a proxy that says so", () => {
    const request = { headers: { host: "desk.example", "x-forwarded-proto": "https" }, source: {} }
    assert.include(
      apiLine({ base: "", request } as never, { path: "/v1/costs" }, {}),
      "'https://desk.example/v1/costs'"
    )
  })
})

describe("the events of a run", () => {
  it("are a file of JSON, as the API has them, for those who may see the run", () =>
    within(async (troupe) => {
      const id = await ask(troupe)
      const vera = await signedIn(troupe, "vera")
      assert.include(
        (await vera.get(`/console/runs/${id}`)).text,
        `/console/runs/${id}/events.json`
      )
      const api = await fetch(`${troupe.url}/v1/runs/${id}/events?limit=500`, {
        headers: { authorization: `Bearer ${tokenOf("vera")}` }
      })
      const answer = await vera.request(`/console/runs/${id}/events.json`)
      assert.strictEqual(answer.headers.get("content-type"), "application/json")
      assert.strictEqual(
        answer.headers.get("content-disposition"),
        `attachment; filename="run-${id}.json"`
      )
      assert.strictEqual(answer.headers.get("x-content-type-options"), "nosniff")
      const given = (await answer.json()) as { readonly items: ReadonlyArray<{ seq: number }> }
      assert.deepStrictEqual<unknown>(given, await api.json())
      const later = await vera.request(`/console/runs/${id}/events.json?after=2`)
      assert.strictEqual(((await later.json()) as typeof given).items[0]?.seq, 3)
      const other = await signedIn(troupe, "other")
      assert.strictEqual((await other.get(`/console/runs/${id}/events.json`)).status, 404)
      for (const odd of [
        "/console/runs/none/events.json",
        `/console/runs/${id}/events.json?after=x`
      ]) {
        assert.strictEqual((await vera.get(odd)).status, 404, odd)
      }
    }))
})
