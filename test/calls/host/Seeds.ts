/** What is stored on the reference platform of the walk when it starts. */
import type { Seed } from "./Workflows.ts"

export const keeper_slug = "keeper"
export const keeper_workflow = "workflow-keeper"
export const keeper_variant = "variant-keeper"

export const seeds: ReadonlyArray<Seed> = [
  {
    id: keeper_workflow,
    slug: keeper_slug,
    name: "The keeper's own workflow",
    variant: keeper_variant,
    revision: `${keeper_variant}-r1`,
    data: { temperature: 0.7 }
  },
  {
    id: "workflow-summarize",
    slug: "summarize",
    name: "Summarizes a text",
    variant: "variant-summarize",
    revision: "variant-summarize-r1",
    data: { words: 8 },
    input_schema: {
      type: "object",
      properties: { text: { type: "string", minLength: 1, description: "What is summarized." } },
      required: ["text"],
      additionalProperties: false
    }
  }
]
