/** The kill switch of a tenant. That of the whole process is no operation: only the program that runs it turns it. */
import { Effect } from "effect"
import { KillSwitch } from "../../services/KillSwitch.ts"
import * as KillSwitchOperations from "../../src/operation/KillSwitchOperations.ts"
import { serve } from "./Served.ts"

export const get = serve(KillSwitchOperations.get, (_, { tenant }) =>
  KillSwitch.useSync(({ isOn }) => ({ on: isOn(tenant) }))
)

export const turn = serve(KillSwitchOperations.turn, ({ on }, by) =>
  KillSwitch.use(({ isOn, turn }) => Effect.map(turn(on, by), () => ({ on: isOn(by.tenant) })))
)
