/** Messages that follow others of one conversation at the same time, on each store. */
import OpenAI from "openai"
import { assert, it } from "vitest"
import type { Shop } from "./WireScene.ts"
import { picture, prompts, shopOn, store_names, tokens } from "./WireScene.ts"

/** Sends a message behind a response. One with a picture is looked at, and stored, while others overtake it. */
const sending = ({ url }: Shop) => {
  const client = new OpenAI({ baseURL: `${url}/wires/v1`, apiKey: tokens.ada, maxRetries: 0 })
  return async (previous_response_id: string | null, text: string, isSlow = false) => {
    const image_url = `data:image/png;base64,${picture.data}`
    const image = { type: "input_image", image_url, detail: "auto" } as const
    const content = [{ type: "input_text", text } as const, ...(isSlow ? [image] : [])]
    const input = [{ role: "user", content } as const]
    const { id } = await client.responses.create({ model: "clerk", input, previous_response_id })
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
