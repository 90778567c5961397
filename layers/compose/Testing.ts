/**
 * The package's entry `troupe/testing`: a model that plays a script, stores that are gone with the process, and recorded
 * runs as tests.
 */
export type { Script, ScriptOptions, ScriptedTurn } from "../model/ScriptedModelGateway.ts"
export {
  call,
  calls,
  fails,
  layer as scripted,
  ModelScript,
  ScriptMismatch,
  text
} from "../model/ScriptedModelGateway.ts"
export * as Ephemeral from "./Ephemeral.ts"
export { runFixture } from "./Replay.ts"
