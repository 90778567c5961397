import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger, Schema } from "effect"
import { scopeClimbs, grantsOf, uncoveredCapability } from "../../src/capability/Capability.ts"
import { Policy } from "../../src/permission/Policy.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"
import type { GovernedTool } from "../../src/tool/GovernedTool.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as H from "./Harness.ts"

const climbing = [
  "fs:../x",
  "fs:a/../../x",
  "fs:a/..",
  "fs:..",
  "fs:a\\..\\x",
  "fs:https://x/../y",
  "fs:a/%2e%2e/x",
  "fs:a/%2E./x",
  "fs:a/.%2e",
  "fs:a%2f..%2fx",
  "fs:a%5c%2e%2e%5cx",
  "fs:%252e%252e/x",
  "fs:a/%25252e%25252e/x",
  "fs:a/%c0%ae%c0%ae/x",
  "fs:a/..;/x"
]
const level = [
  "fs",
  "fs:",
  "fs:a..b/x",
  "fs:.../x",
  "fs:a/.x",
  "fs:..a/b",
  "fs:a/%2e%2ex/y",
  "fs:100%/x",
  "fs:a/%zz"
]

/** The warnings of a start whose one agent has these grants and whose one tool asks for `needs`. */
const warned = (needs: string, capabilities: ReadonlyArray<string>, default_deny: boolean) => {
  const lines: Array<string> = []
  const logger = Logger.layer([
    Logger.make<unknown, void>(({ message }) => lines.push(`${message}`))
  ])
  return H.send("hello").pipe(
    Effect.flatMap((run) => H.ended(run)),
    Effect.as(lines),
    Effect.provide(
      H.layer({
        tools: { t: H.reads(() => Effect.succeed(1), { capabilities: needs }) },
        agent: { capabilities },
        policy: Policy.make({ default_deny }),
        script: [text("done")]
      }).pipe(Layer.provide(logger))
    )
  )
}

describe("capabilities", () => {
  it("SG-37 SG-39 a scope with a segment .. is covered by no grant, and dots in other segments are allowed", () => {
    const all = ["fs", "fs:*", ...climbing, ...level]
    for (const default_deny of [false, true]) {
      const grants = grantsOf(
        all.map((each) => {
          const [name, ...scope] = each.split(":")
          return { name: name!, scope: scope.join(":") || null }
        }),
        default_deny
      )
      for (const each of climbing)
        assert.strictEqual(uncoveredCapability(grants, ["fs:a", each]), each)
    }
    const wide = grantsOf([{ name: "fs", scope: null }], false)
    for (const each of level)
      assert.isFalse(scopeClimbs(each) || uncoveredCapability(wide, [each]) !== undefined)
  })

  it.effect("SG-37 a tool that asks for a scope with a segment .. ends the start", () =>
    Effect.gen(function* () {
      for (const capability of climbing) {
        const declared = tool(
          {
            namespace: "n",
            name: "up",
            side_effects: "read",
            input: Schema.Struct({}),
            capabilities: ["fs:a", capability]
          },
          () => "ran"
        )
        const error = yield* Effect.flip(declared)
        assert.deepInclude(error, { _tag: "MisdeclaredTool", tool: "up", field: "capabilities.1" })
        assert.include(error.message, 'has a ".." segment, which no grant covers. Write ')
      }
    })
  )

  it.live(
    "SG-35 SG-39 a call that asks for a scope with a segment .. never runs, whatever is granted",
    () => {
      let bodies = 0
      const spied = (made: GovernedTool<never>) => ({
        ...made,
        spec: { ...made.spec, capabilities: ["fs:../x"] }
      })
      return Effect.gen(function* () {
        const all = yield* H.ended(yield* H.send("hello"))
        const [settled] = H.settled(all)
        assert.deepNestedInclude(settled, {
          "outcome._tag": "Failed",
          "outcome.error.class": "ToolPolicyError",
          "outcome.error.reason": "CAPABILITY_DENIED"
        })
        assert.include(JSON.stringify(settled), "which nobody can be granted.")
        assert.strictEqual(bodies, 0)
      }).pipe(
        Effect.provide(
          H.layer({
            tools: { t: H.reads(() => Effect.sync(() => ++bodies)) },
            spied: spied as never,
            agent: { capabilities: ["fs", "fs:*", "fs:../x"] },
            script: [call("t", { n: 1 }), text("done")]
          })
        )
      )
    }
  )

  it.live("SG-40 SG-41 a start names the grant that would help, if there is one", () =>
    Effect.gen(function* () {
      const helps = (yield* warned("fs:x", ["fs:y"], true)).join("\n")
      assert.include(helps, 'needs the capability "fs:x"')
      assert.include(helps, "Add it to capabilities.")
      const unscoped = (yield* warned("fs", ["fs:*"], true)).join("\n")
      assert.include(unscoped, "Declare it with a scope")
      assert.notInclude(unscoped, "Add it to")
      assert.include((yield* warned("fs", ["net"], false)).join("\n"), "Add it to capabilities.")
      const bracketed = (yield* warned("fs:[a]", ["net"], false)).join("\n")
      assert.include(bracketed, "Add one whose glob matches it")
    })
  )
})
