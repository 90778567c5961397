/** Runs that are larger than what a fork, a comparison and a policy's trial read: each says so. */
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { Schema } from "effect"
import { agent, tool } from "troupe"
import { start } from "troupe/embed"
import { call, calls, scripted, text } from "troupe/testing"

const anna = { id: "anna", tenant: "default", roles: ["operator"] } as const

const look = tool(
  {
    namespace: "shop",
    name: "look",
    description: "Looks.",
    input: Schema.Struct({ n: Schema.Int }),
    side_effects: "read"
  },
  () => "on its way"
)

/** Of `{ calls, units }`: so many calls in one turn, then two turns of a call and an answer, each of so many characters. */
const model = scripted(({ step, transcript: [first] }) => {
  const { calls: count, units } = JSON.parse(first?.role === "user" ? first.text : "{}")
  const said = "x".repeat(units)
  if (step > 3) return text(said)
  if (step > 1) return call("look", { n: step }, { text: said })
  return calls(Array.from({ length: count }, (_, n) => call("look", { n })))
})

const shop = () =>
  start({
    agents: [
      agent({
        name: "clerk",
        instructions: "Help.",
        tools: ["look"],
        limits: { calls_max: 2_000 }
      })
    ],
    tools: [look],
    model
  })

describe("a run that is large", () => {
  let troupe: Awaited<ReturnType<typeof shop>>
  const ran = async (calls: number, units: number) => {
    const { run } = await troupe.ask(
      { agent: "clerk", text: JSON.stringify({ calls, units }) },
      anna
    )
    return run
  }
  const failing = (what: Promise<unknown>) =>
    what.then(
      () => undefined,
      (error: unknown) => error
    )

  beforeAll(async () => {
    troupe = await shop()
  })
  afterAll(() => troupe.stop())

  it("is neither forked nor compared, and says why", async () => {
    const [small, large] = [await ran(1, 1_900_000), await ran(1, 2_100_000)]
    const refused = {
      _tag: "NotForkable",
      run_id: large,
      reason: "its events have more than 8,000,000 characters"
    }
    assert.deepInclude(await failing(troupe.fork(large, {}, anna)), refused)
    assert.deepInclude(await failing(troupe.comparison(small, { of: large }, anna)), refused)
    assert.deepInclude(await failing(troupe.comparison(large, { of: small }, anna)), refused)
    const { id } = await troupe.fork(small, {}, anna)
    assert.strictEqual((await troupe.comparison(id, {}, anna)).of, small)
  })

  it("is left out of the trial of a policy, by its id", async () => {
    const [long, other] = [await ran(1, 520_000), await ran(1, 480_000)]
    const tried = await troupe.tryPolicy({}, anna)
    assert.include(tried.left_out, long)
    assert.notInclude(tried.left_out, other)
  })

  it("is compared by its first thousand deeds", async () => {
    const [many, few] = [await ran(1_001, 10), await ran(900, 10)]
    const cut = await troupe.comparison(many, { of: few }, anna)
    assert.deepStrictEqual([cut.items.length, cut.is_cut], [1_000, true])
    const whole = await troupe.comparison(few, { of: few }, anna)
    assert.isFalse(whole.is_cut)
    assert.isAbove(whole.items.length, 900)
  })
})
