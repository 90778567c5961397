/** Messages that follow others of one conversation, at the same time and again. */
import OpenAI from "openai"
import { assert, describe, it, vi } from "vitest"
import type { Shop } from "./WireScene.ts"
import { picture, prompts, shopOn, store_names, tokens } from "./WireScene.ts"

const model = "clerk"
const clientOf = ({ url }: Shop) =>
  new OpenAI({ baseURL: `${url}/wires/v1`, apiKey: tokens.ada, maxRetries: 0 })

/** Sends a message behind a response. One with a picture is looked at, and stored, while others overtake it. */
const sending = (troupe: Shop) => {
  const client = clientOf(troupe)
  return async (previous_response_id: string | null, text: string, isSlow = false) => {
    const image_url = `data:image/png;base64,${picture.data}`
    const image = { type: "input_image", image_url, detail: "auto" } as const
    const content = [{ type: "input_text", text } as const, ...(isSlow ? [image] : [])]
    const input = [{ role: "user", content } as const]
    const { id } = await client.responses.create({ model, input, previous_response_id })
    return id
  }
}

it.each(store_names)(
  "messages that follow different responses at the same time see their own line alone (%s)",
  (store) =>
    shopOn[store](async (troupe) => {
      const after = sending(troupe)
      const root = await after(null, "root")
      const lines = ["line-1", "line-2"]
      let ends = [await after(root, "line-1"), await after(root, "line-2")]
      for (const round of ["a", "b", "c"]) {
        const from = prompts.length
        // The one that follows the newest response is overtaken by the other.
        const newest = ends.toSorted().at(-1)
        ends = await Promise.all(
          ends.map((end, at) => after(end, `${lines[at]} ${round}`, end === newest))
        )
        const seen = prompts.slice(from).map((prompt) => [...new Set(prompt.match(/line-\d/g))])
        assert.deepStrictEqual(seen.flat().sort(), lines)
      }
      assert.match(String(prompts.at(-1)), /root.*(line-\d).*\1 a.*\1 b.*\1 c/)
    })
)

it.each(store_names)(
  "of messages that follow one response at the same time each is told it alone, or refused (%s)",
  (store) =>
    shopOn[store](async (troupe) => {
      const after = sending(troupe)
      const root = await after(null, "root")
      const from = prompts.length
      const sent = await Promise.allSettled(
        [1, 2, 3, 4].map((one) => after(root, `race-${one}`, one === 1))
      )
      for (const each of sent) {
        if (each.status === "rejected") assert.include(String(each.reason), "is not over")
      }
      const accepted = sent.filter(({ status }) => status === "fulfilled")
      assert.isNotEmpty(accepted)
      assert.lengthOf(prompts.slice(from), accepted.length)
      for (const prompt of prompts.slice(from)) {
        assert.lengthOf([...new Set(prompt.match(/race-\d/g))], 1)
      }
    })
)

describe("a request", () => {
  it("is one run for ten minutes where the client says that it sends it again", () =>
    shopOn.ephemeral(async (troupe) => {
      const client = clientOf(troupe)
      const send = (input: string, isRetry: boolean) =>
        client.responses.create(
          { model, input },
          isRetry ? { headers: { "x-stainless-retry-count": "1" } } : {}
        )
      const at = Math.ceil(Date.now() / 600_000) * 600_000
      try {
        vi.useFakeTimers({ toFake: ["Date"], now: at - 1 })
        const { id } = await send("late 1", false)
        vi.setSystemTime(at + 1)
        assert.strictEqual((await send("late 1", true)).id, id)
        assert.notStrictEqual((await send("late 2", true)).id, id)
        vi.setSystemTime(at + 599_998)
        assert.strictEqual((await send("late 1", true)).id, id)
        vi.setSystemTime(at + 599_999)
        assert.notStrictEqual((await send("late 1", true)).id, id)
      } finally {
        vi.useRealTimers()
      }
    }))

  it("is one run for the same input behind the same response, also at the same time and later", () =>
    shopOn.ephemeral(async (troupe) => {
      const client = clientOf(troupe)
      const first = await client.responses.create({ model, input: "root-c" })
      const send = (input: string) =>
        client.responses.create({ model, input, previous_response_id: first.id })
      const same = await Promise.all([1, 2, 3].map(() => send("again")))
      assert.strictEqual(new Set(same.map(({ id }) => id)).size, 1)
      await send("in its place")
      vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 3_600_000 })
      try {
        assert.strictEqual((await send("again")).id, same[0]?.id)
      } finally {
        vi.useRealTimers()
      }
    }))
})
