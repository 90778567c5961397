/** What an examination finds, in the console and the API: of the database, and of one tenant's work. */
import { Effect, Schema } from "effect"
import { agent, tool } from "troupe"
import { start } from "troupe/embed"
import { call, scripted } from "troupe/testing"
import { assert, describe, it, vi } from "vitest"
import type { OutputOf } from "../../src/operation/Operation.ts"
import type * as StandingOperations from "../../src/operation/StandingOperations.ts"
import * as EmbeddedPostgres from "../sql/EmbeddedPostgres.ts"
import { anna, bank, http, letterId, postOffice, signedIn, tokenOf } from "./ConsoleScene.ts"

type Checks = OutputOf<typeof StandingOperations.checks>

const path = "/console/checks"
const elsewhere = { id: "other", tenant: "elsewhere", roles: ["admin"] }

const found = ({ findings }: Checks, check: string) =>
  findings.find((each) => each.check === check) ?? assert.fail(`nothing of ${check}`)

/** A shop over a database, as one release of it has its tools. */
const release = (postgres: string, tools: Readonly<Record<string, string>>) =>
  start({
    agents: [agent({ name: "shop", instructions: "Help.", tools: Object.keys(tools) })],
    tools: Object.entries(tools).map(([name, description]) =>
      tool(
        {
          namespace: "shop",
          name,
          description,
          side_effects: "external",
          input: Schema.Struct({ order: Schema.String })
        },
        () => "done"
      )
    ),
    model: scripted(() => call("refund", { order: "1" })),
    store: { postgres },
    http
  })

describe("checks", () => {
  it("name calls of unknown outcome, for the tenant that has them alone", async () => {
    const { ask, troupe } = await bank()
    try {
      const well = await troupe.checks(anna)
      assert.strictEqual(well.level, "ok", JSON.stringify(well))
      const run = await ask("invoice-1")
      const ill = await troupe.checks(anna)
      assert.strictEqual(ill.level, "warning")
      assert.deepInclude(found(ill, "unknown"), {
        level: "warning",
        message: "1 calls have an unknown outcome: an operator has to settle them"
      })
      assert.match(found(ill, "unknown").ids?.[0] ?? "", new RegExp(`^${run} `))
      const { text } = await (await signedIn(troupe, "vera")).get(path)
      assert.include(text, run)
      assert.isBelow(text.indexOf("unknown outcome: an operator"), text.indexOf("no run is in"))
      const other = await troupe.checks(elsewhere)
      assert.strictEqual(other.level, "ok")
      assert.notInclude(JSON.stringify(other), run)
      assert.notInclude((await (await signedIn(troupe, "other")).get(path)).text, run)
    } finally {
      await troupe.stop()
    }
  })

  it("name at most 20 of what there are more of", async () => {
    const { troupe } = await postOffice(Array.from({ length: 25 }, () => ({})))
    try {
      const letters = await vi.waitFor(async () => {
        const { ids, message } = found(await troupe.checks(anna), "dead_letters")
        assert.match(message, /^more than 20 /)
        return ids
      })
      assert.lengthOf(letters ?? [], 20)
      assert.include(letters?.join(" "), letterId(1).slice(0, 30))
      for (const name of ["ada", "feed"]) {
        const headers = { authorization: `Bearer ${tokenOf(name)}` }
        const answer = await fetch(`${troupe.url}/v1/checks`, { headers })
        assert.strictEqual(answer.status, 403, name)
      }
    } finally {
      await troupe.stop()
    }
  })

  it("say what of the database is not as it should be, and which questions a release changed", async () => {
    const postgres = await Effect.runPromise(EmbeddedPostgres.migrated)
    const first = await release(postgres, { refund: "Pays back." })
    const { run } = await first.ask({ agent: "shop", text: "refund it" }, anna)
    const well = await first.checks(anna)
    for (const check of ["durability", "clock", "schema", "rights", "connections", "tools"]) {
      assert.strictEqual(found(well, check).level, "ok", check)
    }
    await first.stop()
    const second = await release(postgres, { refund: "Pays back at once." })
    try {
      const changed = found(await second.checks(anna), "tools")
      assert.strictEqual(
        changed.message,
        "1 open questions are of agents or tools that were changed since they were asked"
      )
      assert.deepStrictEqual(changed.ids, [`${run} shop.refund@1`])
      const { text } = await (await signedIn(second, "olga")).get(path)
      assert.include(text, `${run} shop.refund@1`)
      const other = await second.checks(elsewhere)
      assert.include(found(other, "tools").message, "all 0 open questions")
      assert.notInclude(JSON.stringify(other), run)
    } finally {
      await second.stop()
    }
    const third = await release(postgres, { replace: "Sends another." })
    try {
      assert.include(found(await third.checks(anna), "tools").message, "do not have any more")
      assert.strictEqual((await third.checks(anna)).level, "warning")
    } finally {
      await third.stop()
    }
  })
})
