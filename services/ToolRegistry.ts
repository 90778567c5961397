/**
 * The tools of one runtime: a value, built once at start and injected. Two runtimes in one process share none.
 */
import { Context } from "effect"
import type { GovernedTool } from "../src/tool/GovernedTool.ts"
import type { AgentMemory } from "./AgentMemory.ts"

export class ToolRegistry extends Context.Service<
  ToolRegistry,
  {
    /** By `namespace.name@version`, or by plain name where it is unique. Case-sensitive. */
    get(name: string): GovernedTool<AgentMemory> | undefined
    /** Sorted by key; empty, never absent. */
    readonly all: ReadonlyArray<GovernedTool<AgentMemory>>
  }
>()("troupe/services/ToolRegistry") {}
