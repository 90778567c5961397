/** The seven fields that a record of a tool has to have. */
export const minimal = {
  namespace: "nautilus",
  name: "broker_request",
  version: "1",
  description: "Asks the broker.",
  input_schema: { type: "object" },
  output_schema: {},
  side_effects: "read"
} as const
