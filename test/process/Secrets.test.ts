import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Environment from "../../scripts/start/Environment.ts"

it.effect("npm start drops secrets from its environment, and nothing else", () =>
  Effect.gen(function* () {
    const secret = ["TROUPE_MODEL_API_KEY", "TROUPE_DATABASE_URL", "OTHER_TOKEN", "DB_PASSWORD"]
    const plain = ["TROUPE_DATA_OF_TEST", "OTEL_SERVICE_NAME_OF_TEST"]
    for (const name of [...secret, ...plain]) process.env[name] = "canary"
    yield* Environment.forgetSecrets
    for (const name of secret) assert.isUndefined(process.env[name], name)
    for (const name of plain) {
      assert.strictEqual(process.env[name], "canary", name)
      delete process.env[name]
    }
    assert.isDefined(process.env["PATH"])
  })
)
