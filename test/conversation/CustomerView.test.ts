import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Effect, Stream } from "effect"
import * as EventStream from "../../layers/http/stream/EventStream.ts"
import type { FeedItem } from "../../src/run/FeedItem.ts"
import { openStream } from "../../services/AgentRuntime.ts"
import { ConversationMessage } from "../../src/conversation/Conversation.ts"
import { customerEvent, customerMessage } from "../../src/conversation/CustomerView.ts"
import { CallId, FrameId, RunId } from "../../src/value/Ids.ts"
import { RunQuarantined } from "../../src/run/Quarantine.ts"
import { RunEvent } from "../../src/run/RunEvent.ts"

const secret = "planted secret"

/** Sources are a part of the answer. */
const sources = ["sources.url", "sources.title", "sources.document"]
const file = ["type", "digest", "media_type", "size", "name"]
const files = file.map((name) => `files.${name}`)
const parts = [...file, "text"].map((name) => `parts.${name}`)

/** The paths of all members that a customer may read, by event. */
const shown: Readonly<Record<string, ReadonlyArray<string>>> = {
  RunAccepted: ["message", ...parts, "branch.replaces"],
  ModelTurned: ["frame", "text", "finish"],
  ApprovalRequested: [],
  ClientRequested: [],
  ApprovalDecided: [],
  ApprovalClosed: [],
  CallSettled: ["outcome.error.class", "outcome.error.reason", "outcome.error.message"],
  // A customer's conversation goes to agents for customers alone.
  HandedOff: ["to"],
  RunStopping: ["status"],
  RunEnded: ["status", "text", "finish", "agent", ...sources, ...files]
}

/** The value with a secret in place of each text, except tags and what `keep` names, and with unknown members that hold it. */
const planted = (value: unknown, keep: ReadonlyArray<string>, path = ""): unknown => {
  if (typeof value === "string") return keep.includes(path) ? value : secret
  if (Array.isArray(value)) return [...value, secret].map((each) => planted(each, keep, path))
  if (typeof value !== "object" || value === null) return value
  const made: Record<string, unknown> = { unheard_of: secret }
  for (const [key, each] of Object.entries(value)) {
    made[key] = key === "_tag" ? each : planted(each, keep, path === "" ? key : `${path}.${key}`)
  }
  return made
}

const item = (event: unknown): FeedItem => ({
  _tag: "Event",
  run: RunId.make("00000000-0000-4000-8000-000000000001"),
  ordinal: 1,
  entry: { seq: 0, at: 0, event: event as RunEvent }
})

const bytesOf = (items: ReadonlyArray<FeedItem>) =>
  EventStream.bytes(openStream(Stream.fromIterable(items)), {
    customer: true,
    heartbeat_ms: 60_000,
    goesOn: Effect.succeed(true),
    until: Effect.never
  }).pipe(
    Stream.decodeText,
    Stream.runFold(
      () => "",
      (all, text) => all + text
    )
  )

describe("what a customer sees", () => {
  it("of a question that it may decide is what people are shown, and of any other nothing", () => {
    const request = {
      _tag: "ApprovalRequested",
      approval: "a",
      approvers: ["customer", "operator"],
      payload: {
        tool_name: "t",
        agent_name: "n",
        args_summary: "s",
        effect_description: "e",
        correlation_id: "a",
        unheard_of: secret
      },
      arguments: { secret },
      tool_key: secret,
      digest: secret
    }
    const { unheard_of: _, ...payload } = request.payload
    const own = customerEvent(request as never)
    assert.deepStrictEqual(own as object, { _tag: "ApprovalRequested", approval: "a", payload })
    for (const approvers of [[], ["operator"], ["viewer", "approver"]]) {
      const other = customerEvent({ ...request, approvers } as never)
      assert.deepStrictEqual(other as object, { _tag: "ApprovalRequested" })
    }
  })

  it.effect("of any event is its listed members, whatever else it has", () =>
    Effect.gen(function* () {
      const seen = new Set<string>()
      const result = yield* Arbitrary.checkEffect(
        Arbitrary.schema(RunEvent),
        Effect.fnUntraced(function* (event) {
          for (const key of Object.keys(event)) seen.add(`${event._tag}.${key}`)
          const hidden = planted(event, shown[event._tag] ?? [])
          assert.notInclude(yield* bytesOf([item(hidden)]), secret, event._tag)
          assert.notInclude(JSON.stringify(customerEvent(hidden as RunEvent)) ?? "", secret)
          return true
        }),
        // At the default size an event of many members hardly ever has an optional one.
        { runs: 1_000, size: 60 }
      )
      assert.isUndefined(Arbitrary.formatCheckFailure(result))
      const members = RunEvent.members.flatMap(({ fields }) =>
        Object.keys(fields).map((name) => `${fields._tag.schema.literal}.${name}`)
      )
      assert.sameMembers([...seen], members)
    })
  )

  it("of a turn is its text, and its finish if the text is not whole", () => {
    const turned = (text: string, finish: string) =>
      customerEvent({ _tag: "ModelTurned", frame: "0", step: 2, text, calls: [], finish } as never)
    for (const finish of ["stop", "tool_calls", "unheard of"]) {
      assert.deepStrictEqual<unknown>(turned("I will look.", finish), {
        _tag: "ModelTurned",
        frame: "0",
        step: 2,
        text: "I will look.",
        calls: []
      })
    }
    assert.deepInclude(turned("Half of", "length"), { finish: "length" })
    // A turn without a text only had calls.
    assert.isUndefined(turned("", "tool_calls"))
  })

  it.effect("of a conversation whose journal does not fold is that it cannot be shown", () =>
    Effect.gen(function* () {
      const run_id = "00000000-0000-4000-8000-000000000001"
      const broken = new RunQuarantined({ run_id, reason: "unknown_event", seq: 17 })
      const text = yield* EventStream.bytes(openStream(Stream.fail(broken)), {
        customer: true,
        heartbeat_ms: 60_000,
        goesOn: Effect.succeed(true),
        until: Effect.never
      }).pipe(
        Stream.decodeText,
        Stream.runFold(
          () => "",
          (all, each) => all + each
        )
      )
      assert.include(text, "event: error")
      assert.notMatch(text, /quarantin|journal|17|unknown_event|operator/)
    })
  )

  it("of a run that did not complete is its status, without the reason", () => {
    for (const status of ["failed", "cancelled"]) {
      const event = { _tag: "RunEnded", status, reason: secret, text: secret } as RunEvent
      assert.deepStrictEqual<unknown>(customerEvent(event), { ...event, reason: status, text: "" })
    }
  })

  it.effect("of an event that this release does not know is nothing", () =>
    Effect.gen(function* () {
      const unknown = { _tag: "ServerToolRan", text: secret, frame: "0" }
      assert.isUndefined(customerEvent(unknown as never))
      assert.notInclude(yield* bytesOf([item(unknown)]), secret)
    })
  )

  it.effect(
    "of turns in progress is the answer's text: no reasoning, no output, no specialist",
    () =>
      Effect.gen(function* () {
        const run = RunId.make("00000000-0000-4000-8000-000000000001")
        const place = { run, ordinal: 1, step: 1, offset: 0 }
        const [root, inner] = [FrameId.make("0"), FrameId.make("0/1.0")]
        const text = yield* bytesOf([
          { _tag: "Delta", ...place, frame: root, kind: "text", text: "hello" },
          { _tag: "Delta", ...place, frame: root, kind: "reasoning", text: secret },
          { _tag: "Delta", ...place, frame: inner, kind: "text", text: secret },
          { _tag: "Output", ...place, frame: root, call: CallId.make("0/1.0"), text: secret }
        ])
        assert.include(text, "hello")
        assert.notInclude(text, secret)
      })
  )

  it("ST-21 of a failure is its author's text, of the runtime's own texts no name and no argument", () => {
    const said = (error: object) =>
      JSON.stringify(
        customerEvent({
          _tag: "CallSettled",
          call: CallId.make("0/1.0"),
          outcome: { _tag: "Failed", error: { kind: "unknown", message: "order 7", ...error } }
        } as RunEvent)
      )
    assert.notMatch(said({ class: "ToolUserError" })!, /Tool|unknown/)
    assert.include(said({ class: "ToolUserError" }), "order 7")
    assert.include(said({ class: "ToolPolicyError" }), "Not allowed: order 7")
    for (const cls of ["ToolTransientError", "ToolTerminalError"]) {
      assert.notInclude(said({ class: cls }), "order 7")
    }
    for (const cls of ["ToolUserError", "ToolPolicyError"]) {
      assert.notInclude(said({ class: cls, reason: "INPUT_SCHEMA" }), "order 7")
    }
    const inner: unknown = {
      _tag: "CallSettled",
      call: CallId.make("0/1.0/1.0"),
      outcome: { _tag: "Failed", error: { class: "ToolUserError", kind: "unknown", message: "x" } }
    }
    assert.isUndefined(customerEvent(inner as RunEvent))
  })

  it.effect("of the history is its messages and its agent's, without calls", () =>
    Effect.gen(function* () {
      const keep = [
        "conversation",
        "role",
        "content",
        "channel_origin",
        "agent",
        "run_id",
        "finish",
        ...sources,
        ...files,
        ...parts
      ]
      const result = yield* Arbitrary.checkEffect(
        Arbitrary.schema(ConversationMessage),
        (message) =>
          Effect.sync(() => {
            const hidden = planted(message, keep) as ConversationMessage
            const view = customerMessage(hidden)
            assert.strictEqual(
              view === undefined,
              message.role === "tool" || message.role === "system"
            )
            assert.notInclude(JSON.stringify(view) ?? "", secret)
            return true
          }),
        { runs: 200, size: 60 }
      )
      assert.isUndefined(Arbitrary.formatCheckFailure(result))
    })
  )
})
