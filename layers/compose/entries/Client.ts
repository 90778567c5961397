/**
 * A client of the HTTP API, for browsers and Node, that needs nothing else at run time. Its methods have the names of those of the
 * service that `start` gives, with `{ signal }` in place of who asks, and answer as the HTTP API does.
 */
import type { ClientOptions } from "../../http/client/Connection.ts"
import type { RouteMethods } from "../../http/client/MethodRoutes.ts"
import type { WrittenMethods } from "../../http/client/ServiceClient.ts"
import { serviceClient } from "../../http/client/ServiceClient.ts"
import type { NodeService } from "../promises/NodeService.ts"

/** With the sentences that the methods of a service have, in which `by` is who has the token. */
type Told = Pick<NodeService, keyof RouteMethods>

/** The methods of a client. Each that fails rejects with a `TroupeError`, or with the reason of its signal. */
export type Client = WrittenMethods & { readonly [Name in keyof Told]: RouteMethods[Name] }

/** Makes a client. Nothing is sent before a method is called. Throws `InvalidInput` for an address or a number that is none. */
export const createClient = (options: ClientOptions): Client => serviceClient(options) as never

export type { CallOptions, ClientOptions } from "../../http/client/Connection.ts"
export type { RunEventJson, WatchItem } from "../../http/client/ConversationWatch.ts"
export type {
  AskedQuestion,
  Awaiting,
  Ended,
  RunPart,
  SentRun
} from "../../http/client/FollowedRun.ts"
export type {
  MessageInput,
  Sent,
  StreamedRun,
  UploadOptions
} from "../../http/client/ServiceClient.ts"
export type { AnswerOf, AnswerSchema, PartOf } from "../../http/client/SchemaAnswer.ts"
export type { ErrorTag } from "../../http/client/TroupeError.ts"
export { TroupeError } from "../../http/client/TroupeError.ts"
