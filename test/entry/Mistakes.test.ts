/** The errors of people who come from other libraries: each says where the mistake is and what is written instead. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { NodeService } from "../../layers/compose/promises/NodeService.ts"
import { aiSdk } from "./mistakes/AiSdkMistakes.ts"
import { customers } from "./mistakes/CustomerMistakes.ts"
import { langGraph } from "./mistakes/LangGraphMistakes.ts"
import { mastra } from "./mistakes/MastraMistakes.ts"
import type { Mistake } from "./mistakes/Mistake.ts"
import { starting } from "./mistakes/Mistake.ts"
import { openAiAgents } from "./mistakes/OpenAiAgentsMistakes.ts"

let troupe: NodeService
beforeAll(async () => {
  troupe = await starting({ customer_agents: ["shop"] })
})
afterAll(() => troupe.stop())

/** The error of an attempt, thrown or rejected. */
const errorOf = async (attempt: (troupe: NodeService) => unknown): Promise<unknown> => {
  try {
    await attempt(troupe)
  } catch (error) {
    return error
  }
  return undefined
}

const areTold = (mistakes: ReadonlyArray<Mistake>) => {
  for (const [what, attempt, message] of mistakes) {
    it(`${what}: is told what to write`, async () => {
      const error = (await errorOf(attempt)) as {
        readonly _tag?: string
        readonly message?: string
      }
      assert.strictEqual(error?.message, message)
    })
  }
}

for (const [library, mistakes] of Object.entries({ aiSdk, mastra, langGraph, openAiAgents })) {
  describe(`the mistakes of people who come from ${library}`, () => {
    it("are twenty", () => assert.strictEqual(mistakes.length, 20))
    areTold(mistakes)
  })
}

describe("mistakes with conversations of customers", () => areTold(customers))
