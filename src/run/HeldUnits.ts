/**
 * About how many UTF-16 units the events of a run hold in memory. It is counted as the run grows, and is cheap, because it is a
 * part of every step: texts count with their length, and everything else by approximation.
 */
import type { Json } from "../value/Canonical.ts"
import { jsonUnits } from "../conversation/PromptSize.ts"
import { model_copy_bytes_max } from "../tool/ToolSpec.ts"
import type { CallSettled, ModelTurned, RunEvent } from "./RunEvent.ts"

/** An event without its texts. */
const event_units = 200

const turnUnits = ({ calls, files, parts, reasoning, text }: ModelTurned): number => {
  let units = event_units + text.length
  for (const { arguments: args, name } of calls)
    units += event_units + name.length + jsonUnits(args)
  if (reasoning !== undefined) units += jsonUnits(reasoning as unknown as Json)
  if (parts !== undefined) units += jsonUnits(parts as unknown as Json)
  if (files !== undefined) units += jsonUnits(files as unknown as Json)
  return units
}

const resultUnits = ({ outcome }: CallSettled): number =>
  event_units +
  (outcome._tag === "Value" ? outcome.json.length : jsonUnits(outcome as unknown as Json))

/** What the event itself holds. */
export const eventUnits = (event: RunEvent): number => {
  switch (event._tag) {
    case "ModelTurned":
      return turnUnits(event)
    case "CallSettled":
      return resultUnits(event)
    case "RunClaimed":
    case "CallDispatched":
      return event_units
    default:
      return event_units + jsonUnits(event as unknown as Json)
  }
}

/** What the state of its run keeps of the event: of a long result the model's copy, unless it is the answer. */
export const heldUnitsOf = (event: RunEvent): number => {
  const units = eventUnits(event)
  return event._tag === "CallSettled" && event.stop !== true
    ? Math.min(units, event_units + model_copy_bytes_max)
    : units
}
