/**
 * The result of a tool of `effect/ai` that says by `toModelOutput` what its model is given: the texts are the result, which is
 * journaled, and the files are attached to it.
 */
import { Effect, Exit } from "effect"
import type { ToolModelOutputPart } from "effect/ai/Prompt"
import type { AttachedFile } from "../conversation/Part.ts"
import { fileTypeOf } from "../conversation/Part.ts"
import { defined } from "../value/PlainObject.ts"
import type { OutputCodec } from "./ToolCodec.ts"

/** What a model is given, made of a result that its schema takes. */
class ModelOutput {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

/** The part of a call's context that a result needs. */
interface Attaching {
  readonly attach: (file: AttachedFile) => Promise<unknown>
}

type FilePart = Extract<ToolModelOutputPart, { readonly type: "file" }>

/** A file by its address is none that can be attached: nothing is fetched for a result. */
const isAttached = ({ data, fileName, mediaType }: FilePart, call: Attaching) =>
  Effect.isSuccess(
    Effect.tryPromise(() =>
      call.attach({
        type: fileTypeOf(mediaType),
        media_type: mediaType,
        data: data as Exclude<typeof data, URL>,
        ...defined({ name: fileName })
      })
    )
  )

/** The texts, with a word for each file that could not be attached. */
const textOf = Effect.fnUntraced(function* (
  parts: ReadonlyArray<ToolModelOutputPart>,
  call: Attaching
) {
  const texts: Array<string> = []
  for (const part of parts) {
    if (part.type === "text") texts.push(part.text)
    else if (!(yield* isAttached(part, call))) {
      texts.push(`[${part.mediaType}${part.fileName ? ` ${part.fileName}` : ""} omitted]`)
    }
  }
  return texts.join("\n")
})

type ToModelOutput = (result: never) => ReadonlyArray<ToolModelOutputPart>

type Handler<Given> = (args: unknown, context: Given) => Effect.Effect<unknown, unknown>

/**
 * The handler with its results as the model is given them, and the codec of these. What its schema does not take is refused as
 * without this, and the model is given nothing of it.
 */
export const withModelOutput = <Given extends { readonly call: Attaching }>(
  handler: Handler<Given>,
  { success, text }: { readonly success: OutputCodec; readonly text: OutputCodec },
  toOutput: ToModelOutput
): { readonly handler: Handler<Given>; readonly output: OutputCodec } => ({
  handler: (args, context) =>
    Effect.flatMap(handler(args, context), (result) =>
      Exit.isFailure(success.encode(result))
        ? Effect.succeed(result)
        : Effect.map(
            textOf(toOutput(result as never), context.call),
            (text): unknown => new ModelOutput(text)
          )
    ),
  output: {
    ...text,
    encode: (result) =>
      result instanceof ModelOutput ? Exit.succeed(result.text) : success.encode(result)
  }
})
