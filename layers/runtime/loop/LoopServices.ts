/**
 * What a runtime gives to each of its loops: ports, bounds that all of its runs share, and what it is called with.
 */
import type { Clock } from "effect"
import type { Prices } from "../../../src/cost/PriceTable.ts"
import type { FrameId, RunId } from "../../../src/value/Ids.ts"
import type { RunEvent } from "../../../src/run/RunEvent.ts"
import type { RunState } from "../../../src/run/RunState.ts"
import type { AgentDirectory } from "../../../services/AgentDirectory.ts"
import type { ModelDelta, ModelGateway } from "../../../services/ModelGateway.ts"
import type { RunJournal } from "../../../services/RunJournal.ts"
import type { RunReader } from "../../../services/RunReader.ts"
import type { Deadlines } from "../tool/Deadlines.ts"
import type { PartStore } from "../tool/StoredParts.ts"
import type { RunSecrets } from "../tool/RunSecrets.ts"
import type { ReportFault } from "../tool/FaultReport.ts"
import type { ProviderToolGate } from "../tool/ProviderToolGate.ts"
import type { ToolInvoker } from "../tool/ToolInvoker.ts"
import type { ToolOutput } from "../feed/Feed.ts"
import type { RequestLimitApproval } from "./LimitApproval.ts"
import type { RequestGuardApproval } from "./RunQuestion.ts"
import type { LoopScheduler } from "../fiber/LoopScheduler.ts"
import type { PromptFiles } from "./PromptFiles.ts"
import type { Recall } from "./PromptMemory.ts"
import type { Weights } from "./PromptMeter.ts"
import type { TurnBudgets } from "./TurnBudgets.ts"
import type { RunShare } from "./RunMemory.ts"

export interface LoopServices {
  readonly journal: RunJournal["Service"]
  readonly reader: RunReader["Service"]
  readonly model: ModelGateway["Service"]
  readonly directory: AgentDirectory["Service"]
  readonly invoker: ToolInvoker
  /** Absent = no turn is offered any, and what was recorded is not judged again. */
  readonly providerTools?: ProviderToolGate | undefined
  readonly clock: Clock.Clock
  /** Timeouts of bodies and the wall-clock limits of runs. */
  readonly deadlines: Deadlines
  /** Bounds how many loops go on in one turn of the event loop. */
  readonly scheduler: LoopScheduler
  /** Sizes of prompts' parts that were counted before. */
  readonly weights: Weights
  /** The bytes of prompts' files. Absent = prompts only speak of them. */
  readonly files?: PromptFiles
  /** Where files of results and turns are stored. Absent = a result has none, and those of a turn are dropped. */
  readonly parts?: PartStore
  /** The secrets in the contexts of runs, which no journal has. Absent = there are none. */
  readonly secrets?: RunSecrets
  /** Asks a recording for what the run was told of memory. Absent = the memory of the run's actor is asked. */
  readonly recall?: Recall
  /** What the run takes of the memory for runs. Absent = it is not bounded. */
  readonly share?: RunShare | undefined
  /** Makes the question to a person about a limit that a run has reached. */
  readonly requestLimitApproval: RequestLimitApproval
  /** Makes the question to a person about a text. */
  readonly requestGuardApproval: RequestGuardApproval
  /** Undefined = turns have no cost. */
  readonly prices: Prices | undefined
  /** Reserves in budgets and settles them. Undefined = there are none. */
  readonly budgets?: TurnBudgets | undefined
  /** Reports defects to operators. */
  readonly report: ReportFault
  /** Called with events once they are durable, never before. */
  readonly onDurable: (run: RunId, state: RunState, events: ReadonlyArray<RunEvent>) => void
  /** Called after events were folded that others appended, or whose acknowledgement was lost. */
  readonly onAmended: (run: RunId, state: RunState) => void
  /** Called with each piece of a turn in progress, and with what a call shows before it ends. */
  readonly delta: (run: RunId, frame: FrameId, step: number, delta: ModelDelta | ToolOutput) => void
}
