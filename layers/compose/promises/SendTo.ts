/** The message that a method takes: what its agent and its answer schema ask of it, and what the answer is. */
import type { ContextInput, DeclaredAgent } from "../../../src/agent/DeclaredAgent.ts"
import type { PartInput } from "../../../src/conversation/Part.ts"
import type { AnySchema, Decoded } from "../../../src/tool/ToolCodec.ts"
import type { Answer, AnswerWith } from "./Answer.ts"
import type { RunPart, RunPartWith } from "./RunStream.ts"

/** A message to an agent. */
export interface Send {
  /** Absent, in a conversation = the agent that it was handed over to, or else the one that got its last message. */
  readonly agent?: string
  /** The text of the message; may be empty if there are parts, or with `replaces`. */
  readonly text: string
  /**
   * Images, audio, other files, and texts between them; 1 to 32 parts, which follow the text. Example:
   * `{ type: "image", media_type: "image/png", data: bytes }`. Their bytes are kept in the store, and the journal refers to them
   * by their digest.
   */
  readonly parts?: ReadonlyArray<PartInput>
  /**
   * Absent = a new conversation. A customer begins one of its own behind its id and a colon, such as `carl:chat-1`; staff by any
   * id.
   */
  readonly conversation?: string
  /**
   * A run of this conversation that is over, in place of which this message stands: a branch beside it, which later messages
   * follow. An edited message has a text; with an empty one, and no parts, that run's message is said again, which regenerates
   * its answer. What the replaced run did is not undone. Rejects with `AgentBusy` while that run is not over.
   */
  readonly replaces?: string
  /**
   * Under one key a message is accepted once: a later one gives the same run, and is refused if it says something else. 1 to 200
   * characters; a customer's keys are its own. Absent = each message is a new one.
   */
  readonly idempotency_key?: string
  /**
   * The header `baggage` of the request that led to this message, as a run's tool sent it to another platform: the new run is
   * nested in that run. At most 8,192 characters. Absent = it is not nested.
   */
  readonly baggage?: string
  /**
   * The header `traceparent` of the request that led to this message (W3C Trace Context): the spans of the run are beneath the span
   * that it names, also after a restart. At most 512 characters; one that is malformed counts as absent. Absent = the span in
   * which this is called, if there is one.
   */
  readonly traceparent?: string
  /** The header `tracestate` beside it. It is kept with the run and sent on with its requests. At most 512 characters. */
  readonly tracestate?: string
  /**
   * The schema of the answer, which has to be an object: an Effect Schema or any Standard Schema (zod, valibot). It is journaled
   * as JSON Schema, at most 65,536 characters. Absent = any text is a valid answer.
   */
  readonly answer?: AnySchema
  /**
   * Data for the agent and the tools of the run, which the model does not see: a JSON object of at most 16,384 characters. It is
   * journaled, except for members that a schema makes `Redacted`. It has to fit the `context` that the agent and its tools
   * declare.
   */
  readonly context?: Readonly<Record<string, unknown>>
  /**
   * What the application notes of the conversation that this message begins: at most 16 names with texts of at most 500
   * characters. Of a conversation that there is, it changes nothing. Customers may not send it. Absent = nothing.
   */
  readonly metadata?: Readonly<Record<string, string>>
}

/** Names the agent of a message: its name, or the agent as the function `agent` made it. */
export type ToAgent = string | DeclaredAgent<AnySchema, string>

type AnyContext = Readonly<Record<string, unknown>>

interface FreeContext {
  /**
   * Data for the agent and the tools of the run, which the model does not see: a JSON object of at most 16,384 characters. It is
   * journaled, except for members that a schema makes `Redacted`. It has to fit the `context` that the agent and its tools
   * declare.
   */
  readonly context?: AnyContext
}

interface NeededContext<Context> {
  /** Data for the agent and the tools of the run, which the model does not see. The agent declares what has to be there. */
  readonly context: Context
}

/** A context all of whose members may be absent may be absent itself. */
type Passing<Context> = {} extends Context
  ? Partial<NeededContext<Context>>
  : NeededContext<Context>

type ContextOf<S extends AnySchema> = [S] extends [never]
  ? FreeContext
  : AnySchema extends S
    ? FreeContext
    : Passing<ContextInput<S>>

type Needs<Known extends ReadonlyArray<unknown>> = {
  readonly [
    A in Known[number] as A extends DeclaredAgent<infer S, infer Name>
      ? [S] extends [never]
        ? never
        : string extends Name
          ? never
          : Name
      : never
  ]: A extends DeclaredAgent<infer S, string> ? ContextInput<S> : never
}

/** The contexts that agents of known names declare, by these names. */
export type ContextsOf<Known extends ReadonlyArray<unknown>> =
  Needs<Known> extends infer N ? { readonly [Name in keyof N]: N[Name] } : never

/**
 * What an agent that is declared, or whose name is that of a known one, needs to be told. Its tools and specialists may need more;
 * other agents may be told anything.
 */
type ContextFor<Contexts, To> =
  To extends DeclaredAgent<infer S, string>
    ? ContextOf<S>
    : To extends keyof Contexts
      ? Passing<Contexts[To] & AnyContext>
      : FreeContext

/** A message to an agent: what `Send` has, and the `context` that the agent declares, by its name or as `agent` made it. */
export type SendTo<Contexts, To extends ToAgent, S extends AnySchema> = Omit<
  Send,
  "agent" | "answer" | "context"
> & {
  /** Absent, in a conversation = the agent that it was handed over to, or else the one that got its last message. */
  readonly agent?: To
  /**
   * The schema of the answer, which has to be an object: an Effect Schema or any Standard Schema (zod, valibot). It is journaled
   * as JSON Schema, at most 65,536 characters. Absent = any text is a valid answer.
   */
  readonly answer?: S
} & ContextFor<Contexts, To>

/** Is it one schema that is known by its type? */
type IsKnown<S extends AnySchema> = [S] extends [never] ? false : AnySchema extends S ? false : true

/** An answer to a message: with its decoded `value`, if the message has an answer schema. */
export type AnswerTo<S extends AnySchema> =
  IsKnown<S> extends true ? AnswerWith<Decoded<S>> : Answer

/** A part of the stream of a message: also of its `value`, if the message has an answer schema. */
export type PartTo<S extends AnySchema> =
  IsKnown<S> extends true ? RunPartWith<Decoded<S>> : RunPart
