/** `npx vitest run --config test/vitest.config.ts test/readmes -u` writes the tables of the READMEs anew. */
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { defaults as http } from "../../layers/http/boundary/HttpSettings.ts"
import { ToolQueueConfig } from "../../layers/runtime/queue/ToolQueueConfig.ts"
import { boundRows, bounds } from "../bench/Bounds.ts"
import { load } from "../HouseTree.ts"
import { absentOf, filled, membersOf, tableNames } from "./Tables.ts"
import { readmes, root } from "../examples/Readmes.ts"

const holders = readmes.filter(({ text }) => text.includes("<!-- table: "))

describe("the tables of the READMEs", () => {
  for (const { path, text } of holders) {
    it(`are in ${path} as the source has them`, async () => {
      await expect(filled(path, text)).toMatchFileSnapshot(join(root, path))
    })
  }

  it("stand in a README, each of them once", () => {
    const named = holders.flatMap(({ text }) =>
      [...text.matchAll(/<!-- table: (\S+) -->/g)].map(([, name]) => name!)
    )
    expect(named.toSorted()).toEqual(tableNames.toSorted())
  })

  it("have the defaults of the code", () => {
    const said = (value: unknown) =>
      typeof value === "number" ? value.toLocaleString("en-US") : undefined
    const both = [
      ["layers/http/boundary/HttpSettings.ts", "HttpSettings", http],
      ["layers/runtime/queue/ToolQueueConfig.ts", "ToolQueueConfig", ToolQueueConfig.defaultValue()]
    ] as const
    for (const [file, name, defaults] of both) {
      const members = membersOf(file, name)
      const values: Readonly<Record<string, unknown>> = { ...defaults }
      expect(members.map((member) => member.name).toSorted()).toEqual(
        Object.keys(values).toSorted()
      )
      for (const member of members) {
        const value = values[member.name]
        const texts = Array.isArray(value) ? value.map(said) : [said(value)]
        for (const text of texts) if (text !== undefined) expect(absentOf(member)).toContain(text)
      }
    }
  })

  it("have the bounds of the bench: each is that of a row, and no row has another", () => {
    const texts = [...load("test/bench")].flatMap(([path, text]) =>
      /\/(?:Bounds|Bench\.test)\.ts$/.test(path) ? [] : [text]
    )
    const used = texts.flatMap((text) =>
      [...text.matchAll(/\bbounds\.(\w+)/g)].map(([, name]) => name!)
    )
    expect([...new Set(used)].toSorted()).toEqual(Object.keys(bounds).toSorted())
    for (const text of texts) expect(text).not.toMatch(/\bkind: "at (?:most|least)"/)
    // What is promised is measured, and kept.
    for (const [work, measured, promise, , kept] of boundRows()) {
      if (promise !== "") expect([measured !== "", kept !== ""], work).toEqual([true, true])
    }
  })
})
