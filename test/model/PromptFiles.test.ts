/** Files in prompts, in the form that each provider's wire has for them. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { ModelRequest } from "../../services/ModelGateway.ts"
import type { FilePart } from "../../src/conversation/Part.ts"
import type { TranscriptEntry } from "../../src/conversation/Transcript.ts"
import { serve } from "./ChatServer.ts"
import { askAt, body, pieces } from "./Wires.ts"
import type { Wire } from "./WireTurns.ts"
import { anthropic, compatible, google, openai, responses, wires } from "./WireTurns.ts"

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
    const server = yield* serve([pieces(body(wire), [1_000])])
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
  [google, [png, pdf, wav], [inline("image/png"), inline("application/pdf"), inline("audio/wav")]]
]

describe("files of a message", () => {
  for (const [wire, parts, wanted] of expected) {
    it.live(`${wire.provider}: each in the wire's own form, in its place among the texts`, () =>
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
        for (const wire of wires) {
          if (wire === google) continue
          const server = yield* serve([pieces(body(wire), [1_000])])
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
      for (const wire of wires) {
        const [content] = yield* sent(wire, { files: new Map(), transcript: [said(png)] })
        assert.include(JSON.stringify(content), "left out here")
      }
    }).pipe(Effect.scoped)
  )
})
