/** The operation that reads a file. Over HTTP its bytes are the body, as `FilesApi` declares it. */
import { Schema } from "effect"
import { FileDigest, StoredFile } from "../conversation/Part.ts"
import { ConversationId } from "../value/Ids.ts"
import { operation } from "./Operation.ts"

export const download = operation({
  id: "download",
  name: "file",
  method: "GET",
  path: "/v1/conversations/:id/files/:digest",
  params: Schema.Struct({ id: ConversationId, digest: FileDigest }),
  success: StoredFile,
  problems: [404],
  right: "follow",
  args: ["id", "digest"],
  summary: "The bytes of a file that a run of the conversation names"
})
