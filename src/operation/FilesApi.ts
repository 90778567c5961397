/**
 * The endpoints of files: uploads for messages, and downloads of the files in a conversation.
 */
import { Context, Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { FileDigest, FileName, FilePart } from "../conversation/Part.ts"
import { ConversationId } from "../value/Ids.ts"
import { Authentication, Needs, Validation } from "./Boundary.ts"
import {
  Problem400,
  Problem404,
  Problem413,
  Problem415,
  Problem416,
  Problem422,
  Problem429
} from "./Problem.ts"

/** An endpoint's annotation: its handler reads the body itself, of any media type, and enforces a size limit. */
export const TakesBytes: Context.Reference<boolean> = Context.Reference<boolean>(
  "troupe/api/TakesBytes",
  { defaultValue: () => false }
)

const bytes = { schema: { type: "string", format: "binary" } }

const body = {
  required: true,
  content: {
    "multipart/form-data": {
      schema: {
        type: "object",
        properties: {
          file: { type: "string", format: "binary" },
          digest: { type: "string", description: "SHA-256 of the file, in hex" }
        },
        required: ["file"]
      }
    },
    "*/*": bytes
  }
}

/** Changes the OpenAPI responses of a download: a file, or a range of it, has the file's own media type. */
const filesOf = (responses: object) => ({
  ...responses,
  "200": { description: "The file", content: { "*/*": bytes } },
  "206": { description: "A piece of the file", content: { "*/*": bytes } }
})

const upload = HttpApiEndpoint.post("upload", "/v1/files", {
  query: { name: Schema.optionalKey(FileName) },
  headers: { "content-digest": Schema.optionalKey(Schema.String) },
  success: FilePart.annotate({ identifier: "File" }).pipe(HttpApiSchema.status(201)),
  error: [Problem400, Problem413, Problem415, Problem422, Problem429]
})
  .annotate(Needs, "send")
  .annotate(TakesBytes, true)
  .annotateMerge(
    OpenApi.annotations({
      summary: "Upload a file for a message",
      description:
        "As multipart/form-data with one `file` (and its `digest`), or as the bytes themselves with their media type (and `name`). A digest that the bytes do not have is refused (422): `Content-Digest: sha-256=:...:` (RFC 9530) or the field. The answer is a part: send it among the `parts` of a message. A file that no message names within a day is removed; a customer can send only its own.",
      transform: (operation) => ({ ...operation, requestBody: body })
    })
  )

const download = HttpApiEndpoint.get("download", "/v1/conversations/:id/files/:digest", {
  params: { id: ConversationId, digest: FileDigest },
  headers: {
    range: Schema.optionalKey(Schema.String),
    "if-range": Schema.optionalKey(Schema.String)
  },
  success: HttpApiSchema.StreamUint8Array(),
  error: [Problem404, Problem416]
})
  .annotate(Needs, "follow")
  .annotateMerge(
    OpenApi.annotations({
      summary: "The bytes of a file that a run of the conversation names",
      description:
        "With `Range: bytes=...` a piece of it (206; 416 where it has no such byte), but for a request with `If-Range`: files have no validators. Customers get the files of messages and answers, and none that a tool gave.",
      transform: (operation) => ({ ...operation, responses: filesOf(operation["responses"]) })
    })
  )

export class FilesApi extends HttpApiGroup.make("files")
  .add(upload, download)
  .middleware(Validation)
  .middleware(Authentication)
  .annotateMerge(OpenApi.annotations({ title: "Files" })) {}
