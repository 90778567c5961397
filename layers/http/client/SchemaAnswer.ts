/** Answers of a schema: any Standard Schema that says itself in JSON Schema, such as one of zod. */
import { TroupeError, valueOf, wrongInput } from "./TroupeError.ts"
import type { Awaiting, Ended, RunPart } from "./FollowedRun.ts"

interface Issue {
  readonly message: string
}

type Validated = { readonly value: unknown } | { readonly issues: ReadonlyArray<Issue> | undefined }

/** A schema of the answer, which has to be an object: Standard Schema with Standard JSON Schema (standardschema.dev). */
export interface AnswerSchema<A = unknown> {
  /** What the standard asks for. */
  readonly "~standard": {
    /** Gives the value of an answer, or why it has none. */
    readonly validate: (value: unknown) => Validated | Promise<Validated>
    /** The schema in JSON Schema. */
    readonly jsonSchema?: {
      /** Of what is read, which is the answer. */
      readonly input: (options: { readonly target: "draft-2020-12" }) => object
    }
    /** Types for the compiler. */
    readonly types?:
      | {
          /** Of what is read. */
          readonly input: unknown
          /** Of the value. */
          readonly output: A
        }
      | undefined
  }
}

/** The value that a schema gives. */
export type ValueOf<S> = S extends AnswerSchema<infer A> ? A : never

/** The end of a run: with its value, if it was asked for an answer of a schema. */
export type EndedOf<S> = [S] extends [never]
  ? Ended
  : | (Ended & {
        readonly status: "complete"
        /** The answer, as the schema gives it. */
        readonly value: ValueOf<S>
      })
    | (Ended & {
        readonly status: "failed" | "cancelled"
        /** None: the run has no answer. */
        readonly value?: undefined
      })

/** What a wait ends with: the run's end, or that it waits for people. `status` tells them apart. */
export type AnswerOf<S> =
  | EndedOf<S>
  | (Awaiting & {
      /** None: the run has no answer yet. */
      readonly value?: undefined
    })

/** A part of a run's stream: the last one with the value, if the run was asked for an answer of a schema. */
export type PartOf<S> =
  | Exclude<RunPart, { readonly type: "end" }>
  | {
      /** The run has ended. This is the last part. */
      readonly type: "end"
      /** How it ended. */
      readonly answer: EndedOf<S>
    }

/** The schema as JSON Schema, for the model. */
export const jsonSchemaOf = (schema: AnswerSchema): object => {
  const given = schema["~standard"]?.jsonSchema
  if (given === undefined) {
    throw wrongInput("answer: expected a Standard Schema that says itself in JSON Schema")
  }
  const { $schema: _, ...json } = given.input({ target: "draft-2020-12" }) as {
    readonly $schema?: string
  }
  return json
}

/** The end of a run, with the value of a complete one. */
export const typedEnd = async <S extends AnswerSchema>(
  schema: S | undefined,
  ended: Ended
): Promise<EndedOf<S>> => {
  if (schema === undefined || ended.status !== "complete") return ended as EndedOf<S>
  const read = await schema["~standard"].validate(valueOf(ended.text))
  if ("value" in read) return { ...ended, value: read.value } as EndedOf<S>
  const why = (read.issues ?? []).slice(0, 5).map(({ message }) => message)
  throw new TroupeError("AnswerUnfit", `The answer does not fit its schema: ${why.join("; ")}`)
}
