/** Files in prompts, in the form that each provider's wire has for them. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { ModelRequest } from "../../services/ModelGateway.ts"
import type { FilePart } from "../../src/conversation/Part.ts"
import { CallId } from "../../src/value/Ids.ts"
import type { TranscriptEntry } from "../../src/conversation/Transcript.ts"
import { serve } from "./ChatServer.ts"
import {
  azure,
  azureChat,
  bedrock,
  cohere,
  mistral,
  packagedWires,
  vertex,
  xai
} from "./PackagedTurns.ts"
import { askAt, body, bytesOf, pieces } from "./Wires.ts"
import type { Wire } from "./WireTurns.ts"
import { anthropic, compatible, google, labelOf, openai, responses, wires } from "./WireTurns.ts"

const data = Buffer.from("\0the bytes of a file").toString("base64")
const fileOf = (media_type: string, name: string): FilePart => ({
  type: media_type.startsWith("image/")
    ? "image"
    : media_type.startsWith("audio/")
      ? "audio"
      : "file",
  digest: name.padEnd(64, "0").replace(/[^0-9a-f]/g, "a"),
  media_type,
  size: 20,
  name
})
const png = fileOf("image/png", "cat.png")
const pdf = fileOf("application/pdf", "bill.pdf")
const wav = fileOf("audio/wav", "voice.wav")
const zip = fileOf("application/zip", "all.zip")
const files = new Map([png, pdf, wav, zip].map(({ digest }) => [digest, data]))

const said = (...parts: ReadonlyArray<FilePart>): TranscriptEntry => ({
  role: "user",
  text: "look",
  parts: [...parts, { type: "text", text: "and say" }]
})

/** What the wire has for the user's message, after its texts are taken away. */
const sent = (wire: Wire, over: Partial<ModelRequest>) =>
  Effect.gen(function* () {
    const server = yield* serve([pieces(bytesOf(wire), [1_000])])
    yield* askAt(wire, server, { over })
    const { contents, input, messages } = server.asked[0]!.body as Record<string, Array<Message>>
    const users = (messages ?? input ?? contents ?? []).filter(({ role }) => role === "user")
    return users.map(({ content, parts }) => content ?? parts)
  })
interface Message {
  readonly role: string
  readonly content?: unknown
  readonly parts?: unknown
}

const url = (media_type: string) => `data:${media_type};base64,${data}`
const chat = [
  { type: "image_url", image_url: { url: url("image/png") } },
  { type: "file", file: { filename: "bill.pdf", file_data: url("application/pdf") } }
]
const heard = { type: "input_audio", input_audio: { data, format: "wav" } }
const inline = (mimeType: string) => ({ inlineData: { mimeType, data } })

const base64 = (media_type: string) => ({ type: "base64", media_type, data })

const expected: ReadonlyArray<readonly [Wire, ReadonlyArray<FilePart>, ReadonlyArray<object>]> = [
  [openai, [png, pdf, wav], [...chat, heard]],
  [compatible, [png, pdf, wav], [...chat, heard]],
  [
    responses,
    [png, pdf],
    [
      { type: "input_image", image_url: url("image/png") },
      { type: "input_file", filename: "bill.pdf", file_data: url("application/pdf") }
    ]
  ],
  [
    anthropic,
    [png, pdf],
    [
      { type: "image", source: base64("image/png") },
      { type: "document", source: base64("application/pdf"), title: "bill.pdf" }
    ]
  ],
  [google, [png, pdf, wav], [inline("image/png"), inline("application/pdf"), inline("audio/wav")]],
  [azureChat, [png, pdf, wav], [...chat, heard]],
  [
    azure,
    [png, pdf],
    [
      { type: "input_image", image_url: url("image/png") },
      { type: "input_file", filename: "bill.pdf", file_data: url("application/pdf") }
    ]
  ],
  [vertex, [png, wav], [inline("image/png"), inline("audio/wav")]],
  [
    bedrock,
    [png, pdf],
    [
      { image: { format: "png", source: { bytes: data } } },
      { document: { format: "pdf", name: "bill", source: { bytes: data } } }
    ]
  ],
  [
    mistral,
    [png, pdf],
    [
      { type: "image_url", image_url: url("image/png") },
      { type: "document_url", document_url: url("application/pdf") }
    ]
  ],
  [cohere, [png], [{ type: "image_url", image_url: { url: url("image/png") } }]],
  [xai, [png], [{ type: "input_image", image_url: url("image/png") }]]
]

const all = [...wires, ...packagedWires]

describe("files of a message", () => {
  for (const [wire, parts, wanted] of expected) {
    it.live(`${labelOf(wire)}: each in the wire's own form, in its place among the texts`, () =>
      Effect.gen(function* () {
        const [content] = yield* sent(wire, { files, transcript: [said(...parts)] })
        assert.isArray(content)
        const [first, ...rest] = content as ReadonlyArray<{ readonly text?: string }>
        assert.strictEqual(first?.text, "look")
        assert.strictEqual(rest.at(-1)?.text, "and say")
        assert.deepStrictEqual(rest.slice(0, -1) as ReadonlyArray<object>, [...wanted])
      }).pipe(Effect.scoped)
    )
  }

  it.live(
    "one that the wire has no form for is refused before any request, in the past it is a note",
    () =>
      Effect.gen(function* () {
        for (const wire of all) {
          if (wire === google || wire === vertex) continue
          const server = yield* serve([pieces(bytesOf(wire), [1_000])])
          const error = yield* Effect.flip(
            askAt(wire, server, { over: { files, transcript: [said(png, zip)] } })
          )
          assert.deepInclude(error, { kind: "configuration", reason: "media_unsupported" })
          assert.include(error.message, "application/zip")
          assert.include(error.message, "all.zip")
          assert.lengthOf(server.asked, 0)
          const [past] = yield* sent(wire, {
            files,
            history: [said(zip), { role: "assistant", text: "ok", calls: [] }]
          })
          assert.include(JSON.stringify(past), "cannot be shown to this model")
          assert.notInclude(JSON.stringify(past), data)
        }
      }).pipe(Effect.scoped)
  )

  it.live("one whose bytes are gone, or beyond the bound of a prompt, is a note", () =>
    Effect.gen(function* () {
      for (const wire of all) {
        const [content] = yield* sent(wire, { files: new Map(), transcript: [said(png)] })
        assert.include(JSON.stringify(content), "left out here")
      }
    }).pipe(Effect.scoped)
  )
})

const ok = '"ok"'
/** A call that gave a picture and an archive, as the next request has it. */
const answered: ReadonlyArray<TranscriptEntry> = [
  { role: "user", text: "draw" },
  { role: "assistant", text: "", calls: [{ model_id: "c1", name: "draw", arguments: {} }] },
  {
    role: "tool",
    call: CallId.make("0/1.0"),
    model_id: "c1",
    name: "draw",
    outcome: { _tag: "Value", json: ok },
    files: [png, zip]
  }
]

/** Where a wire has the picture: in the result itself, or in a message of the user behind it. */
const inResult: Readonly<Record<string, unknown>> = {
  anthropic: [
    { type: "text", text: ok },
    { type: "image", source: base64("image/png") },
    {
      type: "text",
      text: '[file "all.zip", application/zip, 20 bytes] (it cannot be shown to this model)'
    }
  ],
  "openai-responses": [
    { type: "input_text", text: ok },
    { type: "input_image", image_url: url("image/png") },
    {
      type: "input_text",
      text: '[file "all.zip", application/zip, 20 bytes] (it cannot be shown to this model)'
    }
  ]
}

describe("files of a result", () => {
  it.live(
    "stand in the result where the wire has a form for them, else behind it; never as a text of base64",
    () =>
      Effect.gen(function* () {
        for (const wire of wires) {
          const server = yield* serve([pieces(bytesOf(wire), [1_000])])
          yield* askAt(wire, server, { over: { files, transcript: answered } })
          const { contents, input, messages } = server.asked[0]!.body as Record<
            string,
            Array<Message>
          >
          const said = messages ?? input ?? contents ?? []
          const expected = inResult[wire.provider]
          const text = JSON.stringify(said)
          assert.strictEqual(text.split(data).length, wire === google ? 3 : 2, wire.provider)
          if (expected !== undefined) assert.include(text, JSON.stringify(expected))
          else if (wire !== google) {
            assert.deepStrictEqual(said.at(-1) as unknown, {
              role: "user",
              content: [{ type: "text", text: "[files of the result of draw]" }, chat[0]]
            })
          } else assert.include(text, JSON.stringify(inline("image/png")))
        }
      }).pipe(Effect.scoped)
  )
})

const picture = { inlineData: { mimeType: "image/png", data } }
const drawn = {
  candidates: [
    {
      content: {
        role: "model",
        parts: [{ text: "Here: " }, { ...picture, thoughtSignature: "c2ln" }, { text: "done" }]
      },
      finishReason: "STOP"
    }
  ],
  usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 2, totalTokenCount: 3 }
}
const made = { id: "ig_1", type: "image_generation_call", status: "completed", result: data }
const response = {
  id: "resp_1",
  object: "response",
  created_at: 1_700_000_000,
  model: "wire-model-1",
  status: "completed",
  output: [made],
  usage: { input_tokens: 1, output_tokens: 2, total_tokens: 3 }
}

describe("files that a model makes", () => {
  it.live("are the turn's, and go back to a model that takes its own with what it wants back", () =>
    Effect.gen(function* () {
      const server = yield* serve([pieces(body(google, [drawn]), [1_000])])
      const { turn } = yield* askAt(google, server)
      assert.strictEqual(turn.text, "Here: done")
      assert.deepStrictEqual(turn.generated as unknown, [
        { type: "image", media_type: "image/png", data }
      ])
      const { parts, text } = turn
      assert.lengthOf(parts ?? [], 3)
      const said: TranscriptEntry = {
        role: "assistant",
        text,
        calls: [],
        files: [png],
        ...(parts === undefined ? undefined : { parts }),
        ...(turn.origin === undefined ? undefined : { origin: turn.origin })
      }
      const again: ReadonlyArray<TranscriptEntry> = [said, { role: "user", text: "again" }]
      yield* askAt(google, server, { over: { files, transcript: again } })
      assert.deepStrictEqual(google.sentBack(server.asked[1]!.body), [
        { text: "Here: " },
        { ...picture, thoughtSignature: "c2ln" },
        { text: "done" }
      ])
      // To another wire it is only spoken of.
      const other = yield* serve([pieces(body(openai), [1_000])])
      yield* askAt(openai, other, { over: { files, transcript: again } })
      assert.include(JSON.stringify(other.asked[0]?.body), "cat.png")
      assert.notInclude(JSON.stringify(other.asked[0]?.body), data)
    }).pipe(Effect.scoped)
  )

  it.live(
    "an image of a provider's own tool is a file of the turn, and no text of its record",
    () =>
      Effect.gen(function* () {
        const events = [
          {
            type: "response.created",
            response: { ...response, status: "in_progress", output: [] }
          },
          {
            type: "response.output_item.added",
            output_index: 0,
            item: { ...made, status: "in_progress" }
          },
          { type: "response.output_item.done", output_index: 0, item: made },
          { type: "response.completed", response }
        ].map((event, sequence_number) => ({ ...event, sequence_number }))
        const server = yield* serve([pieces(body(responses, events), [1_000])])
        const { turn } = yield* askAt(responses, server)
        assert.deepStrictEqual(turn.generated as unknown, [
          { type: "image", media_type: "image/png", data }
        ])
        assert.strictEqual(turn.ran?.[0]?.name, "image_generation")
        assert.notInclude(JSON.stringify(turn.ran), data)
      }).pipe(Effect.scoped)
  )

  it.live("images beside a compatible endpoint's text are files of the turn, each once", () =>
    Effect.gen(function* () {
      const images = [{ type: "image_url", image_url: { url: url("image/png") } }]
      const chunk = (delta: object, finish_reason: string | null = null) => ({
        id: "c",
        object: "chat.completion.chunk",
        created: 1,
        model: "wire-model-1",
        choices: [{ index: 0, delta, finish_reason }]
      })
      const events = [chunk({ content: "Here", images }), chunk({ images }), chunk({}, "stop")]
      const server = yield* serve([pieces(body(compatible, events), [1_000])])
      const { turn } = yield* askAt(compatible, server)
      assert.deepInclude(turn, { text: "Here", finish: "stop" })
      assert.deepStrictEqual(turn.generated as unknown, [
        { type: "image", media_type: "image/png", data }
      ])
    }).pipe(Effect.scoped)
  )
})
