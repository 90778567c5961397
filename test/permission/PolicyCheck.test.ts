/** Which rules can be right, which of them have an effect on a runtime's tools, and what is said of each that has none. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { Policy } from "../../src/permission/Policy.ts"
import { checkPolicy, ineffectiveEntries } from "../../src/permission/PolicyCheck.ts"
import { toolsNamed } from "./Tools.ts"

const denying = (...patterns: ReadonlyArray<string>): Policy =>
  Policy.make({ rules: patterns.map((pattern) => ({ pattern, permission: "deny" })) })

const mistake = (policy: Policy) =>
  Effect.map(Effect.flip(checkPolicy(policy)), ({ message }) => message)

const name_mend = 'Write a name such as "refund", or a key such as "shop.refund@1".'
const url_mend = (tool: string) =>
  `Write "${tool}(https://api.example.com:*)", perhaps with a path, or https://*.example.com for those below it.`

/** A pattern, and all that is said of it behind its field and itself. */
const malformed: ReadonlyArray<readonly [pattern: string, said: string]> = [
  ["run_*_x", `a tool's name has no wildcards. ${name_mend}`],
  ["*_x", `a tool's name has no wildcards. ${name_mend}`],
  ["shop.*@1", `a tool's name has no wildcards. ${name_mend}`],
  ["run *", `"run *" is no tool's name or key. ${name_mend}`],
  ["* run", `"* run" is no tool's name or key. ${name_mend}`],
  [" run", `" run" is no tool's name or key. ${name_mend}`],
  ["shop.refund", `"shop.refund" is no tool's name or key. ${name_mend}`],
  ["shop.refund@", `"shop.refund@" is no tool's name or key. ${name_mend}`],
  [".refund@1", `".refund@1" is no tool's name or key. ${name_mend}`],
  ["shop.refund@1 ", `"shop.refund@1 " is no tool's name or key. ${name_mend}`],
  ["a.b.c@1", `"a.b.c@1" is no tool's name or key. ${name_mend}`],
  ["x".repeat(65), `"${"x".repeat(65)}" is no tool's name or key. ${name_mend}`],
  [
    "get(https://user@a.example:*)",
    `"https://user@a.example" is no URL that can be compared. ${url_mend("get")}`
  ],
  [
    "get(curl  -s\thttps://a*b.example now:*)",
    `"https://a*b.example" is no URL that can be compared. ${url_mend("get")}`
  ],
  [
    "get(https://good.example https://[x:*)",
    `"https://[x" is no URL that can be compared. ${url_mend("get")}`
  ],
  [
    "run(rm:)",
    `what is in the parentheses does not end in ":*". Write "run(rm:*)", or "run" for every call.`
  ],
  [
    "run(a)b)",
    `what is in the parentheses does not end in ":*". Write "run(a)b:*)", or "run" for every call.`
  ],
  [
    "run(x program=rm)",
    `what is in the parentheses does not end in ":*". Write "run(x program=rm:*)", or "run" for every call.`
  ],
  [
    "run(program = rm -rf)",
    `it names an argument, where only the beginning of a call can stand. Write "run(rm -rf:*)", or "run" for every call.`
  ],
  [
    "run(program=rm*)",
    `it names an argument, where only the beginning of a call can stand. Write "run(rm:*)", or "run" for every call.`
  ],
  ["run(rm", `its parenthesis is not closed. Write "run(rm:*)", or "run" for every call.`],
  ["run(", `it says nothing of how a call begins. Write "run" for every call.`]
]

describe("a rule", () => {
  it.effect("that no call could match is refused with its path, its text and its fix", () =>
    Effect.gen(function* () {
      for (const [pattern, said] of malformed) {
        const message = yield* mistake(denying("run", pattern))
        assert.strictEqual(message, `policy, rules.1.pattern ${JSON.stringify(pattern)}: ${said}`)
      }
      const listed = yield* mistake(Policy.make({ approval_required: ["run", "run *"] }))
      assert.strictEqual(
        listed,
        `policy, approval_required.1 "run *": "run *" is no tool's name or key. ${name_mend}`
      )
    })
  )

  it("that some call could match is accepted, by name and by key", () => {
    const policy = {
      ...denying(
        "run",
        "x".repeat(64),
        "a.b@1",
        "process.run_command@10.2.3-rc_1",
        "run(rm -rf:*)",
        "run(rm:) x:*)",
        "run(https:*)",
        "run(curl https://a.example/v1  https://*.b.example:*)",
        "run(A=b:*)"
      ),
      approval_required: ["run", "a.b@1"]
    }
    assert.isTrue(Exit.isSuccess(Effect.runSyncExit(checkPolicy(policy))))
  })
})

const text = { type: "string" }
const number = { type: "integer" }
const list = { type: "array", items: text }

const tools = toolsNamed({
  say: { properties: { text } },
  run: { properties: { program: text, args: list } },
  read: { properties: { program: text, args: list }, rule_arguments: ["program", "args"] },
  count: { properties: { n: number, of: number } },
  any: { properties: { value: {} } },
  odd: { properties: { yes: true, no: null, word: "string" } },
  none: { properties: {} },
  open: {},
  lost: { properties: null }
})

const said = (...patterns: ReadonlyArray<string>) =>
  ineffectiveEntries(denying(...patterns), tools).map(({ message }) => message)

describe("a rule of a tool that is there", () => {
  it("has an effect where its tool has arguments that it can read", () => {
    assert.deepStrictEqual(
      said(
        "say(x:*)",
        "say(other=1:*)",
        "say(x text=1:*)",
        "run(rm:*)",
        "run(rmx:*)",
        "run(A=b:*)",
        "run( rm :*)",
        "read(rm -rf:*)",
        "any(1:*)",
        "odd(1:*)",
        "none(1:*)",
        "open(a=b c:*)",
        "lost(1:*)",
        "test.count@1"
      ),
      []
    )
  })

  it("has no effect, and the message says why, where its tool has no such arguments", () => {
    const lost = (pattern: string, why: string) =>
      `The policy's rule ${JSON.stringify(pattern)} (deny) has no effect: ${why}`
    const argument = (name: string) =>
      `it names the argument "${name}", where only the beginning of a call can stand.`
    const fix = "Declare the tool with the rule_arguments that rules are to read."
    const lists = `a rule reads the tool's first text alone, and never its lists. ${fix}`
    const texts = `a rule reads a text, and the tool takes none. ${fix}`
    for (const [pattern, why] of [
      ["say(text=x:*)", argument("text")],
      ["say(text = x:*)", argument("text")],
      ["read(args=rm:*)", argument("args")],
      ["run(rm -rf:*)", lists],
      ["run(rm  \t -rf:*)", lists],
      ["test.run@1(rm -rf x:*)", lists],
      ["count(1:*)", texts]
    ] as const) {
      assert.deepStrictEqual(said(pattern), [lost(pattern, why)])
    }
  })

  it("has an effect where another tool of the name has such arguments", () => {
    const two = [...tools, ...toolsNamed({ count: { properties: { n: text } } }, "more")]
    assert.deepStrictEqual(ineffectiveEntries(denying("count(1:*)"), two), [])
    assert.lengthOf(ineffectiveEntries(denying("test.count@1(1:*)"), two), 1)
    assert.deepStrictEqual(ineffectiveEntries(denying("more.count@1(1:*)"), two), [])
  })
})

describe("a server of a policy", () => {
  it("has an effect where it provides a tool; otherwise the message suggests the closest name", () => {
    const brought = toolsNamed({ get: { properties: {} } }, "net", "mcp:github")
    const stray = (servers: Policy["servers"]) =>
      ineffectiveEntries(Policy.make({ servers }), [...tools, ...brought])
    assert.deepStrictEqual(stray({ "mcp:github": "deny" }), [])
    assert.deepStrictEqual(stray({ "mcp:githup": "deny", "mcp:github": "ask" }), [
      {
        permission: "deny",
        message:
          'The policy\'s server "mcp:githup" (deny) has no effect: it brings no tool here. Did you mean "mcp:github"?'
      }
    ])
    assert.lengthOf(
      ineffectiveEntries(Policy.make({ servers: { "mcp:github": "allow" } }), tools),
      1
    )
  })
})
