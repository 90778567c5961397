/** The error of acting without a right to do so. */
import { Schema } from "effect"
import { Role } from "./Principal.ts"

/** The principal has none of the roles that may do this. */
export class NotEntitled extends Schema.TaggedError<NotEntitled>()("NotEntitled", {
  principal: Schema.String,
  needs: Schema.Array(Role)
}) {
  override get message(): string {
    return `${this.principal} holds none of the roles that may do this: ${this.needs.join(", ")}`
  }
}
