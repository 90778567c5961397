/** What becomes of a call at each door of the gate before anything runs, and what its model is told. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, Logger, Schema } from "effect"
import { TestClock } from "effect/testing"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { AgentName } from "../../src/value/Ids.ts"
import { Policy, policyOf } from "../../src/permission/Policy.ts"
import { RunLimits } from "../../src/run/RunLimits.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"
import type { GovernedTool, MisdeclaredTool } from "../../src/tool/GovernedTool.ts"
import type { AgentMemory } from "../../services/AgentMemory.ts"
import { KillSwitch } from "../../services/KillSwitch.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { policySubjectOf } from "../../src/permission/JudgedTool.ts"
import * as H from "./Harness.ts"

const limits = RunLimits.make({ repeats_max: 0, mistakes_max: 0 })

/** What each settled call is: `Value`, or class, kind and reason of its failure. */
const outcomes = (all: Parameters<typeof H.settled>[0]) =>
  H.settled(all).map(({ outcome }) =>
    outcome._tag === "Failed"
      ? `${outcome.error.class} ${outcome.error.kind} ${outcome.error.reason}`
      : outcome._tag
  )

const wrong_input = "ToolUserError invalid_args INPUT_SCHEMA"

describe("a delegation", () => {
  const helper = { name: AgentName.make("helper"), instructions: "Help.", tools: ["test.look@1"] }
  const look = H.reads((n) => Effect.succeed(n))

  /** The runs of a supervisor that delegates with each of these, one a step, to a specialist that says at once. */
  const delegating = (given: ReadonlyArray<unknown>, takes?: AgentSpec["takes"]) =>
    Effect.gen(function* () {
      const all = yield* H.ended(yield* H.send("hello"))
      const asked = yield* H.requests
      return {
        outcomes: outcomes(all),
        inputs: all.flatMap((event) => (event._tag === "FrameOpened" ? [event.input] : [])),
        offered: asked[0]?.tools.map(({ input_schema }) => input_schema),
        said: H.resultsShown(asked.filter(({ frame }) => frame === "0").at(-1)),
        read: asked.flatMap(({ frame, transcript }) => (frame === "0" ? [] : transcript))
      }
    }).pipe(
      Effect.provide(
        H.layer({
          tools: { look },
          agent: { tools: [], specialists: [helper.name], limits },
          agents: [AgentSpec.make(takes === undefined ? helper : { ...helper, takes })],
          script: ({ frame, step }) =>
            frame === "0" && step <= given.length
              ? call("ask_helper", given[step - 1] as never)
              : text("done")
        })
      )
    )

  it.live("SA-07 takes a task and nothing else, and opens no frame with any other arguments", () =>
    Effect.gen(function* () {
      const found = yield* delegating([
        { task: "find" },
        { task: "" },
        { task: "find", more: 1 },
        { task: 5 },
        {},
        [],
        "find",
        null
      ])
      assert.deepStrictEqual(found.inputs, ["find"])
      assert.deepStrictEqual(found.outcomes, [
        "Value",
        ...Array.from({ length: 7 }, () => wrong_input)
      ])
      assert.include(found.said[1], "task")
      assert.include(found.said[2], "more")
    })
  )

  it.live(
    "to an agent with an input schema takes that input, which the agent reads as JSON",
    () => {
      const takes = {
        type: "object",
        properties: { order: { type: "integer" } },
        required: ["order"],
        additionalProperties: false
      }
      return Effect.gen(function* () {
        const found = yield* delegating(
          [{ order: 7 }, { task: "find" }, { order: "7" }, { order: 7, more: 1 }, {}],
          takes
        )
        assert.deepStrictEqual(found.offered, [takes])
        assert.deepStrictEqual(found.inputs, ['{"order":7}'])
        assert.deepStrictEqual(found.read, [{ role: "user", text: '{"order":7}' }])
        assert.deepStrictEqual(found.outcomes, [
          "Value",
          ...Array.from({ length: 4 }, () => wrong_input)
        ])
        assert.include(found.said[2], "order")
      })
    }
  )
})

describe("a call that cannot be decoded", () => {
  it.live("SM-05 is refused with a short text, however long its name or its arguments are", () => {
    const malformed = "{".repeat(1_000)
    return Effect.gen(function* () {
      yield* H.ended(yield* H.send("hello"))
      const [name, args] = H.resultsShown((yield* H.requests)[2])
      assert.include(name, `there is no tool "${"n".repeat(64)}".`)
      assert.notInclude(name, "n".repeat(65))
      assert.include(args, `the arguments were not JSON: ${"{".repeat(200)}`)
      assert.notInclude(args, "{".repeat(201))
    }).pipe(
      Effect.provide(
        H.layer({
          tools: { t: H.reads((n) => Effect.succeed(n)) },
          agent: { limits },
          script: [
            call("n".repeat(1_000), { n: 1 }),
            call("t", null, {
              calls: [{ model_id: "x", name: "t", arguments: null, malformed }]
            }),
            text("done")
          ]
        })
      )
    )
  })

  it.live("whose tool's schema throws is refused without the text that was thrown", () => {
    const throws = Schema.Int.check(
      Schema.makeFilter(() => {
        throw new Error("the secret of the gate")
      })
    )
    let ran = 0
    return Effect.gen(function* () {
      const all = yield* H.ended(yield* H.send("hello"))
      assert.deepStrictEqual(outcomes(all), [wrong_input])
      assert.notInclude(JSON.stringify(all), "the secret of the gate")
      assert.strictEqual(H.end(all)?.status, "complete")
      assert.strictEqual(ran, 0)
    }).pipe(
      Effect.provide(
        H.layer({
          tools: { t: { ...H.reads(() => Effect.sync(() => ++ran)), parameters: { n: throws } } },
          script: [call("t", { n: 1 }), text("done")]
        })
      )
    )
  })
})

describe("a gate that breaks while it asks a person", () => {
  it.live("ends that call alone, as a defect without its text", () => {
    let ran = 0
    const spied: NonNullable<H.Options["spied"]> = (each) => ({
      ...each,
      spec: Object.defineProperty({ ...each.spec }, "approval_expires_ms", {
        enumerable: false,
        get: () => {
          throw new Error("the secret of the gate")
        }
      })
    })
    return Effect.gen(function* () {
      const all = yield* H.ended(yield* H.send("hello"))
      assert.match(outcomes(all)[0]!, /^ToolTerminalError internal/)
      assert.notInclude(JSON.stringify(all), "the secret of the gate")
      assert.deepInclude(H.end(all), { status: "complete", text: "done" })
      assert.strictEqual(H.count(all, "RunClaimed"), 1)
      assert.strictEqual(ran, 0)
    }).pipe(
      Effect.provide(
        H.layer({
          tools: { t: H.asks(() => Effect.sync(() => ++ran)) },
          spied,
          script: [call("t", { n: 1 }), text("done")]
        })
      )
    )
  })
})

describe("the expiry of a question", () => {
  it.effect(
    "SM-59 is its tool's, counted from when it was asked; without one it never expires",
    () =>
      Effect.gen(function* () {
        yield* TestClock.adjust(5_000)
        const run = yield* H.send("hello")
        const first = yield* H.question(run)
        assert.strictEqual(first.expires_at, 5_000 + 60_000)
        yield* H.decide(first.approval, H.approve)
        const second = yield* H.question(run, 2)
        assert.notProperty(second, "expires_at")
      }).pipe(
        Effect.provide(
          H.layer({
            tools: {
              soon: H.asks((n) => Effect.succeed(n), { approval_expires_ms: 60_000 }),
              ever: H.asks((n) => Effect.succeed(n))
            },
            script: [call("soon", { n: 1 }), call("ever", { n: 1 }), text("done")]
          })
        )
      )
  )
})

describe("a body that asks what is permitted", () => {
  it.live("AG-62 gets what the policy, the roles and the kill switch decide of each call", () => {
    const said: Array<ReadonlyArray<boolean | undefined>> = []
    const texts = ["good", "bad", "perhaps", "ours"]
    let switched: KillSwitch["Service"] | undefined
    return Effect.gen(function* () {
      switched = yield* KillSwitch
      yield* H.ended(yield* H.send("hello"))
      const olga = H.person("olga", ["operator"])
      yield* H.ended(yield* H.send("hello", "c-2", olga), "c-2", olga)
      assert.deepStrictEqual(said, [
        [true, false, false, true, false],
        [true, false, false, false, false]
      ])
    }).pipe(
      Effect.provide(
        H.layer({
          tools: {
            t: {
              ...H.reads((_, { permits }) =>
                Effect.gen(function* () {
                  const now = texts.map((to) => permits?.({ n: 1, to }))
                  yield* Effect.orDie(switched!.turn(true, H.alice))
                  said.push([...now, permits?.({ n: 1, to: "good" })])
                  yield* Effect.orDie(switched!.turn(false, H.alice))
                  return null
                })
              ),
              parameters: { n: H.anyFields.n, to: H.textField }
            }
          },
          policy: policyOf({
            mode: "allow",
            rules: [
              { pattern: "t(bad:*)", permission: "deny" },
              { pattern: "t(perhaps:*)", permission: "ask" },
              { pattern: "t(ours:*)", permission: "deny", unless_roles: ["admin"] }
            ]
          }),
          script: ({ transcript }) =>
            transcript.length === 1 ? call("t", { n: 1, to: "good" }) : text("done")
        })
      )
    )
  })
})

describe("the subject of a policy", () => {
  const governed = (declared: object) =>
    Effect.map(
      tool(declared as never, () => null) as Effect.Effect<
        ReadonlyArray<GovernedTool<AgentMemory>>,
        MisdeclaredTool
      >,
      ([made]) => made!
    )
  const subject = (more: object) =>
    Effect.map(
      governed({
        namespace: "shop",
        name: "pay",
        side_effects: "external",
        input_schema: { type: "object", properties: { to: { type: "string" }, n: {} } },
        ...more
      }),
      policySubjectOf
    )
  const plain = {
    name: "pay",
    key: "shop.pay@1",
    category: "mutate",
    read_only: false,
    arguments: ["to", "n"]
  }

  it.effect("has what the tool declares, and nothing else", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* subject({}), plain as never)
      for (const [declared, more] of [
        [{ permission: "deny" }, { permission: "deny" }],
        [{ approval: "at-publication-gate" }, { approval: "at-publication-gate" }],
        [{ rule_arguments: ["n", "to"] }, { rule_arguments: ["n", "to"] }],
        [{ side_effects: "read" }, { category: "read", read_only: true }],
        [{ side_effects: "none" }, { category: "read", read_only: true }],
        [{ produces: "proposal" }, { category: "suggest" }],
        [{ input_schema: { type: "object" } }, { arguments: [] }],
        [{ version: "2" }, { key: "shop.pay@2" }]
      ] as const) {
        assert.deepStrictEqual(yield* subject(declared), { ...plain, ...more } as never)
      }
      const made = yield* governed({ namespace: "n", name: "t", side_effects: "read" })
      assert.strictEqual(policySubjectOf({ ...made, provider: "mcp:x" }).server, "mcp:x")
      assert.notProperty(policySubjectOf(made), "server")
      const odd = { ...made, spec: { ...made.spec, input_schema: { properties: null } } }
      assert.deepStrictEqual(policySubjectOf(odd as never).arguments, [])
    })
  )

  it.live("SA-23 a write that is approved at publication asks nobody at its call", () => {
    let ran = 0
    return Effect.gen(function* () {
      const all = yield* H.ended(yield* H.send("hello"))
      assert.deepStrictEqual(outcomes(all), ["Value"])
      assert.strictEqual(H.count(all, "ApprovalRequested"), 0)
      assert.strictEqual(ran, 1)
    }).pipe(
      Effect.provide(
        H.layer({
          tools: {
            t: {
              governance: { side_effects: "write", approval: "at-publication-gate" },
              body: () => Effect.sync(() => ++ran)
            }
          },
          script: [call("t", { n: 1 }), text("done")]
        })
      )
    )
  })
})

describe("a start", () => {
  /** All that a start with this policy warns of, and how it ended. */
  const started = Effect.fnUntraced(function* (policy: Policy) {
    const lines: Array<string> = []
    const logger = Logger.make<unknown, void>(({ logLevel, message }) => {
      if (logLevel !== "Info" && logLevel !== "Debug") lines.push(`${logLevel}: ${String(message)}`)
    })
    const layer = H.layer({
      tools: { t: H.reads((n) => Effect.succeed(n), { capabilities: "fs:/x" }) },
      agent: { capabilities: ["fs"] },
      policy,
      script: [text("done")]
    }).pipe(Layer.provide(Logger.layer([logger])))
    return { exit: yield* Effect.exit(Effect.scoped(Layer.build(layer))), lines }
  })

  it.live("logs nothing about a policy and agents that are right", () =>
    Effect.gen(function* () {
      for (const policy of [Policy.make({}), policyOf({ mode: "ask" })]) {
        const { exit, lines } = yield* started(policy)
        assert.isTrue(Exit.isSuccess(exit))
        assert.deepStrictEqual(lines, [])
      }
    })
  )

  it.live("fails with a policy from a program that no schema decodes, and says what is wrong", () =>
    Effect.gen(function* () {
      const { exit } = yield* started({ ...Policy.make({}), mode: "perhaps" } as never)
      const error = yield* Effect.flip(exit)
      assert.strictEqual((error as { readonly _tag: string })._tag, "MisdeclaredPolicy")
      const { field, message } = error as never as Readonly<Record<string, string>>
      assert.strictEqual(field, "policy")
      assert.match(message!, /^policy: .*\["mode"\]/)
    })
  )
})
