/**
 * The package's entry `troupe/testing`: a model that plays a script, approvers that answer by rules, a clock that a test moves,
 * and recorded runs as tests.
 */
export type { ModelGateway } from "../../../services/ModelGateway.ts"
export type { Script, ScriptOptions, ScriptedTurn } from "../../model/tape/ScriptedModelGateway.ts"
export {
  call,
  calls,
  fails,
  ModelScript,
  scripted,
  ScriptMismatch,
  text,
  usage_default
} from "../../model/tape/ScriptedModelGateway.ts"
export type { ApprovalRules, Driven } from "./ApprovalDriver.ts"
export { drive, driveApprovals, TooManyQuestions } from "./ApprovalDriver.ts"
export { runFixture } from "./FixtureTest.ts"
export type { VirtualService } from "./VirtualTime.ts"
export { startVirtual } from "./VirtualTime.ts"
