import { assert } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"
import {
  Capability,
  parseCapability,
  grantsOf,
  uncoveredCapability,
  requiredCapabilities
} from "../../src/capability/Capability.ts"
import type { Claim, Requires } from "../../src/capability/Capability.ts"
import { Policy } from "../../src/permission/Policy.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as Stage from "./Stage.ts"
import type { Driven } from "./Vectors.ts"
import { conformance, hasShape, isRecord, rowsOf } from "./Vectors.ts"

const decode = Schema.decodeUnknownResult(Schema.Array(Capability))

/** The text of a grant in a configuration. */
const written = ({ name, scope }: Claim): string => (scope === null ? name : `${name}:${scope}`)

interface Given {
  readonly permissions: ReadonlyArray<string>
  /** Null = the agent declares no capabilities. */
  readonly granted: ReadonlyArray<Claim> | null
  readonly default_deny: boolean
}

/** Lets an agent with these grants call a tool that needs these capabilities. Gives how often its body ran, and the outcome. */
const gated = Effect.fnUntraced(function* ({ default_deny, granted, permissions }: Given) {
  let bodies = 0
  const outcome = yield* Stage.stage(
    {
      tools: {
        touch: {
          governance: { side_effects: "read", capabilities: permissions },
          body: () => Effect.sync(() => ++bodies)
        }
      },
      ...(granted === null ? undefined : { capabilities: granted.map(written) }),
      policy: Policy.make({ default_deny }),
      script: [call("touch"), text("done")]
    },
    Effect.gen(function* () {
      const all = yield* Stage.events(yield* Stage.begin)
      return Stage.tagged(all, "CallSettled")[0]?.outcome
    })
  )
  return { bodies, outcome }
})

const holds = Effect.fnUntraced(function* (given: Given, expected: boolean) {
  const { default_deny, granted, permissions } = given
  const grants = granted === null ? null : grantsOf(granted, default_deny)
  assert.strictEqual(uncoveredCapability(grants, permissions) === undefined, expected)
  // Names that cannot be declared are refused before there is a gate.
  if (Result.isFailure(decode([...permissions, ...(granted ?? []).map(written)]))) return
  const { bodies, outcome } = yield* gated(given)
  assert.strictEqual(bodies, expected ? 1 : 0)
  assert.strictEqual(outcome?._tag, expected ? "Value" : "Failed")
})

const claims = (granted: unknown): ReadonlyArray<Claim> =>
  (granted as ReadonlyArray<Claim | string>).map((each) =>
    typeof each === "string" ? parseCapability(each) : each
  )

const shownBy = ({ granted, permissions }: Given): string => {
  const scoped = permissions.filter((each) => /:./.test(each))
  const some = granted ?? []
  return rowsOf(
    [true, "SG-35"],
    [permissions.length === 0, "SG-36"],
    [scoped.length > 0, "SG-37"],
    [some.some(({ name }) => !permissions.some((each) => each.split(":")[0] === name)), "SG-38"],
    [scoped.length > 0 && some.some(({ scope }) => scope !== null), "SG-39"],
    [scoped.length < permissions.length && some.some(({ scope }) => scope !== null), "SG-40"],
    [some.some(({ scope }) => scope === null), "SG-41"],
    [permissions.length > 1, "SG-42"],
    [granted === null && permissions.length > 0, "SG-43"]
  )
}

conformance("capability_checks", ({ expect, input }): Driven => {
  if (
    typeof expect === "boolean" &&
    hasShape(input, ["permissions"], ["default_deny", "granted", "capabilities"])
  ) {
    const given: Given = {
      permissions: input.permissions as ReadonlyArray<string>,
      granted: input.granted === undefined ? null : claims(input.granted),
      default_deny: input.default_deny === true
    }
    return {
      rows: shownBy(given),
      run: holds(given, expect)
    }
  }
  if (hasShape(input, ["requires_capability"]) && isRecord(expect)) {
    return {
      rows: "SG-34",
      run: Effect.sync(() =>
        assert.deepStrictEqual(
          requiredCapabilities(input.requires_capability as Requires),
          expect.permissions
        )
      )
    }
  }
  if (hasShape(input, ["tools", "granted"], ["default_deny"]) && isRecord(input.tools)) {
    const { default_deny, granted, tools } = input
    return {
      rows: "SG-45",
      run: Effect.gen(function* () {
        const ran: Array<string> = []
        for (const [key, permissions] of Object.entries(tools)) {
          const { bodies } = yield* gated({
            permissions: permissions as ReadonlyArray<string>,
            granted: claims(granted),
            default_deny: default_deny === true
          })
          if (bodies > 0) ran.push(key)
        }
        assert.deepStrictEqual(ran, expect)
      })
    }
  }
  if (hasShape(input, ["permissions", "granted"], ["default_deny"]) && isRecord(expect)) {
    return {
      rows: "SG-35",
      run: Effect.gen(function* () {
        const { bodies, outcome } = yield* gated({
          permissions: input.permissions as ReadonlyArray<string>,
          granted: claims(input.granted),
          default_deny: input.default_deny === true
        })
        assert.strictEqual(bodies, expect.bodyCalls)
        assert.deepNestedInclude(outcome, {
          "error.class": expect.errorClass,
          "error.kind": "permission",
          "error.reason": "CAPABILITY_DENIED"
        })
      })
    }
  }
  return undefined
})
