/**
 * The tools of one runtime: a value that is built once at start and injected. Two runtimes in one process share no tools.
 */
import { Context } from "effect"
import type { Registry } from "../src/tool/Registry.ts"
import type { AgentMemory } from "./AgentMemory.ts"

/** The tools of this process, by their keys. */
export class ToolRegistry extends Context.Service<ToolRegistry, Registry<AgentMemory>>()(
  "troupe/services/ToolRegistry"
) {}
