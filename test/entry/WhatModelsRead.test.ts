/** Who approves, in which roles and for which groups of tools, stands in nothing that a model reads. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { start } from "../../layers/compose/entries/Embed.ts"
import type { NodeService } from "../../layers/compose/promises/NodeService.ts"
import { call, layer as scripted, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { toPrompt } from "../../layers/model/wire/ProviderPrompt.ts"
import { agent } from "../../src/agent/DeclaredAgent.ts"
import { Policy } from "../../src/permission/Policy.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"

/** All that no model may read has this in its name. */
const canary = "canary"
const sender = { id: "sam", tenant: "default", roles: ["canary_sender"] }
const approver = { id: "canary_person", tenant: "default", roles: ["canary_desk", "operator"] }

const named = { namespace: "shop", side_effects: "external", input: Schema.Struct({}) } as const
const asks = { ...named, group: "canary_group", approvers: ["canary_desk"] }
const body = () => "done"
const tools = [
  tool({ ...asks, name: "refund", effect_description: "Pays." }, body),
  tool({ ...asks, name: "late", approval_expires_ms: 1 }, body),
  tool({ ...asks, name: "ruled" }, body),
  tool({ ...named, name: "vault", group: "canary_vault" }, body),
  tool({ ...named, name: "gated", group: "canary_group", capabilities: "fs.read:/x" }, body)
]
const names = ["refund", "late", "ruled", "vault", "gated"]

/** What the model read, as its provider would be sent it, and what it answers: a call of the tool that the message names. */
const read: Array<string> = []
const model = scripted((request) => {
  const prompt = JSON.stringify([toPrompt(request), request.tools])
  read.push(prompt)
  const [asked] = request.transcript
  const called = request.transcript.some(({ role }) => role === "tool")
  return called || asked?.role !== "user" ? text("So be it.") : call(asked.text, {})
})

let troupe: NodeService
beforeAll(async () => {
  troupe = await start({
    agents: [
      agent({
        name: "shop",
        instructions: "Help.",
        tools: names,
        groups_by_role: { canary_sender: ["canary_group"] },
        limits: { steps_max: 5 } as never
      })
    ],
    tools,
    model,
    policy: Policy.make({
      rules: [{ pattern: "ruled", permission: "deny", roles: ["canary_sender"] }]
    }),
    roles: {
      canary_sender: { send: "all", follow: "all" },
      canary_desk: { decide: "named", inspect: "all", follow: "all" }
    }
  })
})
afterAll(() => troupe.stop())

/** The texts that the model read in a run that calls a tool, after its question was answered, if there is one. */
const readBy = async (name: string, decision?: object): Promise<string> => {
  read.length = 0
  const message = { agent: "shop", conversation: "one", text: name }
  let status = ""
  for await (const part of troupe.stream(message, sender)) {
    if (part.type === "event" && part.event._tag === "ApprovalRequested" && decision !== undefined)
      await troupe.decide(part.event.approval, decision as never, approver)
    if (part.type === "end") ({ status } = part.answer)
  }
  assert.strictEqual(status, "complete", name)
  assert.isAtLeast(read.length, 2, name)
  return read.join("\n")
}

describe("what a model reads", () => {
  for (const [what, name, decision, says] of [
    ["a denial", "refund", { decision: "deny", reason: "no" }, "a person denied this call: no"],
    ["a revision", "refund", { decision: "request_revision", note: "less" }, "a person asks for"],
    ["changed arguments", "refund", { decision: "modify", arguments: {} }, "A person changed"],
    ["an approval", "refund", { decision: "approve" }, "done"],
    ["an expired question", "late", undefined, "APPROVAL_EXPIRED"],
    ["a rule for roles", "ruled", undefined, "is not permitted for whoever sent the message"],
    ["a group of another role", "vault", undefined, "is not for whoever sent the message"],
    ["a capability that is missing", "gated", undefined, "CAPABILITY"],
    ["an unknown tool", "nothing", undefined, "there is no tool"]
  ] as const) {
    it(`says of ${what} neither who approves nor for which roles and groups`, async () => {
      const prompts = await readBy(name, decision)
      assert.include(prompts, says)
      assert.notInclude(prompts, canary)
    })
  }

  it("says of stopped tools not who stopped them", async () => {
    await troupe.stopTools(true, approver)
    const prompts = await readBy("refund")
    assert.include(prompts, "every tool is stopped")
    assert.notInclude(prompts, canary)
    assert.notInclude(prompts, "operator")
  })
})
