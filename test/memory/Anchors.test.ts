/** Whose memories a message reaches, through `start` and over HTTP: those that its conversation and its sender name. */
import { createHash } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { HttpServer } from "effect/http"
import { start } from "../../layers/compose/entries/Embed.ts"
import * as Runtime from "../../layers/compose/assembly/Runtime.ts"
import * as Server from "../../layers/compose/assembly/HttpSurface.ts"
import * as Stores from "../../layers/compose/assembly/StoreLayers.ts"
import { call, scripted, text } from "../../layers/compose/entries/Testing.ts"
import { AgentMemory } from "../../services/AgentMemory.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { AgentName, Tenant } from "../../src/value/Ids.ts"
import type { AnchorKind } from "../../src/memory/MemoryAnchors.ts"
import { MemorySpec } from "../../src/memory/MemoryAnchors.ts"
import { originOfCall } from "../../src/memory/MemoryRow.ts"
import { Principal } from "../../src/principal/Principal.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"

const person = (id: string) =>
  new Principal({ id, tenant: Tenant.make("acme"), roles: ["operator"] })
const [olga, paul] = [person("olga"), person("paul")]

const note = "The password rotation is due on Friday"
const question = "When is the password rotation due?"

const keep = tool(
  {
    namespace: "desk",
    name: "keep",
    side_effects: "write",
    permission: "allow",
    dependencies: [AgentMemory]
  },
  (_, made) =>
    AgentMemory.use((memory) =>
      memory.remember({ text: note, tier: "persistent" }, originOfCall(made, "tool"))
    ).pipe(Effect.as("kept"), Effect.orDie)
)

const agentOf = (anchor: AnchorKind) =>
  AgentSpec.make({
    name: AgentName.make(anchor),
    instructions: "Keep what is due.",
    tools: ["keep"],
    memory: MemorySpec.make({ anchor })
  })
const agents = [agentOf("operator"), agentOf("world")]

/** A message "keep" has the note kept; to any other the answer says whether the run was told of it. */
const model = scripted(({ history, transcript }) => {
  const last = transcript.at(-1)
  if (last?.role === "user" && last.text === "keep") return call("keep", {})
  return text(JSON.stringify(history).includes(note) ? "told" : "not told")
})

type Ask = (
  by: Principal,
  message: { readonly agent?: string; readonly conversation?: string; readonly text?: string }
) => Promise<string>

const tagOf = (error: unknown): string =>
  typeof error === "object" && error !== null && "_tag" in error ? String(error._tag) : "?"

const embedded = async (use: (ask: Ask) => Promise<void>) => {
  const troupe = await start({ agents, tools: [keep], model })
  try {
    await use((by, message) =>
      troupe
        .ask({ agent: "operator", text: question, ...message }, by)
        .then(({ text: answer = "" }) => answer, tagOf)
    )
  } finally {
    await troupe.stop()
  }
}

const sha256 = (token: string) => createHash("sha256").update(token).digest("hex")

const app = Server.layer({
  listen: { port: 0 },
  credentials: [olga, paul].map((principal) => ({ sha256: sha256(principal.id), principal }))
}).pipe(
  Layer.provideMerge(Runtime.layer({ agents, tools: [keep] })),
  Layer.provide(model),
  Layer.provideMerge(Stores.ephemeral)
)

const served = (use: (ask: Ask) => Promise<void>) =>
  Effect.gen(function* () {
    const { address } = yield* HttpServer.HttpServer
    const url = HttpServer.formatAddress(address)
    yield* Effect.promise(() =>
      use(async ({ id }, { conversation, ...message }) => {
        const to =
          conversation === undefined ? "messages" : `conversations/${conversation}/messages`
        const headers = {
          authorization: `Bearer ${id}`,
          "content-type": "application/json",
          // What a client sends of its own accord names no conversation.
          ...(conversation === undefined ? { "idempotency-key": crypto.randomUUID() } : undefined)
        }
        const body = JSON.stringify({ agent: "operator", text: question, ...message })
        const response = await fetch(`${url}/v1/${to}`, { method: "POST", headers, body })
        const sent = (await response.json()) as Record<string, string>
        if (response.status !== 202) return `${response.status} ${sent.type?.split(":").at(-1)}`
        const path = `/v1/conversations/${sent.conversation_id}/events?after=${Number(sent.ordinal) - 1}.9999`
        const events = await fetch(`${url}${path}`, { headers })
        for await (const piece of events.body!.pipeThrough(new TextDecoderStream())) {
          const end = /"_tag":"RunEnded".*?"text":"([^"]*)"/.exec(piece)
          if (end !== null) return end[1]!
        }
        return "the stream ended"
      })
    )
  }).pipe(Effect.provide(app))

const cases: ReadonlyArray<
  readonly [string, (use: (ask: Ask) => Promise<void>) => Effect.Effect<void>]
> = [
  ["start", (use) => Effect.promise(() => embedded(use))],
  ["HTTP", (use) => Effect.orDie(served(use))]
]

for (const [surface, using] of cases) {
  const refused = surface === "HTTP" ? "422 anchor-mismatch" : "AnchorMismatch"

  describe(`memories through ${surface}`, () => {
    it.live("SA-34 of an operator reach all tasks of that operator, and nobody else", () =>
      using(async (ask) => {
        assert.strictEqual(await ask(olga, { conversation: "olga:t1", text: "keep" }), "not told")
        for (const conversation of ["olga:t1", "olga:t2", undefined]) {
          const message = conversation === undefined ? {} : { conversation }
          assert.strictEqual(await ask(olga, message), "told", conversation ?? "a new one")
        }
        for (const conversation of ["paul:t1", undefined]) {
          const message = conversation === undefined ? {} : { conversation }
          assert.strictEqual(await ask(paul, message), "not told", conversation ?? "a new one")
        }
        for (const conversation of ["olga:t1", "olga:t3", "olga", "olga:", "paul", "paul2:t1"]) {
          assert.strictEqual(await ask(paul, { conversation }), refused, conversation)
        }
      })
    )

    it.live("SA-33 of a world reach every version of it, and no conversation without a world", () =>
      using(async (ask) => {
        const at = (conversation: string) => ({ agent: "world", conversation })
        await ask(olga, { ...at("mars@3:s1"), text: "keep" })
        assert.strictEqual(await ask(paul, at("mars@4:s2")), "told")
        assert.strictEqual(await ask(paul, at("mars:s3")), "told")
        assert.strictEqual(await ask(olga, at("venus@3:s1")), "not told")
        // A question without a session: it has no memory of anything.
        assert.strictEqual(await ask(olga, { agent: "world" }), "not told")
        for (const conversation of ["mars", "mars@3", "mars:", "a@b@c:s1"]) {
          assert.strictEqual(await ask(olga, at(conversation)), refused, conversation)
        }
      })
    )
  })
}

describe("a sender", () => {
  it.live("SA-34 whose id could be read as another operator's has no conversation", () =>
    Effect.promise(() =>
      embedded(async (ask) => {
        for (const id of ["olga:t1", "olga t", "", "x".repeat(151)]) {
          const expected = id === "" ? "InvalidInput" : "AnchorMismatch"
          const sender = id === "" ? ({ ...olga, id } as Principal) : person(id)
          for (const conversation of [undefined, "olga:t1", "olga:t1:t2"]) {
            const message = conversation === undefined ? {} : { conversation }
            assert.strictEqual(await ask(sender, message), expected, `${id} in ${conversation}`)
          }
        }
      })
    )
  )
})
