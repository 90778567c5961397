/** The error of acting without a right to do so. */
import { Schema } from "effect"
import { Role } from "./Principal.ts"

/** The principal has none of the roles that may do this. */
export class NotEntitled extends Schema.TaggedError<NotEntitled>()("NotEntitled", {
  /** The id of the principal. */
  principal: Schema.String,
  /** The roles of which any one may do this. */
  needs: Schema.Array(Role),
  /** Who acted for the principal, and may not do this for it; then `needs` are roles that may. Absent = its own roles are meant. */
  via: Schema.optionalKey(Schema.String),
  /** What a role of `via` would have to say, such as `actFor: { customer: ["send"] }`. Absent = no role may do it for others. */
  lacks: Schema.optionalKey(Schema.String),
  /** The member of the input that only `needs` may give, such as `metadata` of a message. Absent = all of it. */
  member: Schema.optionalKey(Schema.String)
}) {
  override get message(): string {
    if (this.via !== undefined) {
      const roles = this.needs.join(", ") || "none of this service"
      const cure = this.lacks ?? "which nobody does for somebody else"
      return `${this.via} may not do this for ${this.principal}. Roles that may: ${roles} (${cure})`
    }
    const act = this.member === undefined ? "do this" : `give \`${this.member}\``
    return `${this.principal} holds none of the roles that may ${act}: ${this.needs.join(", ")}`
  }
}
