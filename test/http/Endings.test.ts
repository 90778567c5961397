/**
 * The finish and the sources of an answer, wherever people read them: over HTTP, in code and in a terminal.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { start } from "../../layers/compose/entries/Embed.ts"
import { layer as scripted, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { View } from "../../scripts/chat/View.ts"
import { ModelError } from "../../services/ModelGateway.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { AgentName, RunId } from "../../src/value/Ids.ts"
import type { Turn } from "../../src/run/RunDecider.ts"
import type { RunEvent } from "../../src/run/RunEvent.ts"
import { ends, Script } from "./Script.ts"
import { ask, layer } from "./Service.ts"

const sources = [{ url: "https://example.org/a", title: "A" }]
const ran = [{ id: "s", name: "web_search", arguments: '{"query":"x"}', arguments_units: 13 }]

/** An ended run of this one turn. */
const said = Effect.fnUntraced(function* (turn: Turn) {
  const answer = yield* ask("/v1/messages", {
    as: "olga",
    json: { agent: "operations", text: "hello" }
  })
  const run = RunId.make(answer.json.run_id)
  const conversation = answer.json.conversation_id as string
  yield* Script.use((script) => script.turn(run, turn))
  yield* ends({ run, conversation })
  const shown = yield* ask(`/v1/runs/${run}`, { as: "vera" })
  const history = yield* ask(`/v1/conversations/${conversation}`, { as: "vera" })
  const events = yield* ask(`/v1/runs/${run}/events?limit=50`, { as: "vera" })
  const items = events.json.items as ReadonlyArray<{ readonly event: RunEvent }>
  return {
    run: shown.json,
    last: history.json.messages.at(-1),
    events: items.map((it) => it.event)
  }
})

describe("an answer", () => {
  it.live(
    "that was cut is marked as cut in its run and in its conversation, with its sources",
    () =>
      Effect.gen(function* () {
        const { events, last, run } = yield* said(
          text("Half of", { finish: "length", sources, ran })
        )
        assert.deepInclude(run, { status: "complete", text: "Half of", finish: "length", sources })
        assert.deepInclude(last, { content: "Half of", finish: "length", sources })
        const turned = events.find((event) => event._tag === "ModelTurned")
        assert.deepStrictEqual(turned?.ran, ran)
      }).pipe(Effect.provide(layer))
  )

  it.live("whose text is missing has the reason in its run and in its conversation", () =>
    Effect.gen(function* () {
      const { last, run } = yield* said(text("", { finish: "refusal" }))
      assert.deepInclude(run, { status: "failed", reason: "refused", finish: "refusal", text: "" })
      assert.include(run.detail, "refused")
      assert.deepInclude(last, { content: "", finish: "refusal", reason: "refused" })
    }).pipe(Effect.provide(layer))
  )

  it.live("that is whole has no finish", () =>
    Effect.gen(function* () {
      const { last, run } = yield* said(text("All of it."))
      for (const each of [run, last]) {
        for (const name of ["finish", "sources"]) assert.notProperty(each, name)
      }
    }).pipe(Effect.provide(layer))
  )

  it("has its finish, or the reason of its absence, in the result of `ask`", async () => {
    const agents = [
      AgentSpec.make({ name: AgentName.make("shop"), instructions: "Be kind.", tools: [] })
    ]
    const model = scripted([
      text("Half of", { finish: "length", sources }),
      text("", { finish: "content_filter", finish_raw: "SAFETY" }),
      new ModelError({ kind: "refused", reason: "content_filter", message: "SAFETY" })
    ])
    const troupe = await start({ agents, model })
    try {
      const cut = await troupe.ask({ agent: "shop", text: "hello" })
      assert.deepInclude(cut, { status: "complete", text: "Half of", finish: "length", sources })
      // The provider filters the answer, then the prompt, which it answers with an error.
      for (let times = 0; times < 2; times++) {
        const none = await troupe.ask({ agent: "shop", text: "hello" })
        assert.deepInclude(none, {
          status: "failed",
          reason: "content_filtered",
          finish: "content_filter",
          text: ""
        })
        assert.include(none.detail, "SAFETY")
      }
    } finally {
      await troupe.stop()
    }
  })

  it("has lines in a terminal for its finish, its sources and what its provider ran", () => {
    let out = ""
    const view = new View((text) => (out += text))
    const frame = "0"
    view.event({ _tag: "ModelTurned", frame, step: 1, ran, ...text("Half of") } as RunEvent)
    view.event({
      _tag: "RunEnded",
      status: "complete",
      reason: "complete",
      text: "Half of",
      finish: "length",
      sources: [{ url: "https://example.org/a", title: "A\u001b[2J" }]
    })
    assert.include(out, 'the provider ran web_search {"query":"x"}')
    assert.include(out, "cut at the limit of its length")
    assert.include(out, "source: A[2J, https://example.org/a")
  })
})
