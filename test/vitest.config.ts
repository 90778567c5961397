import { fileURLToPath } from "node:url"
import { defineConfig } from "vitest/config"

export default defineConfig({
  root: fileURLToPath(new URL("..", import.meta.url)),
  resolve: { conditions: ["troupe-source"] },
  ssr: { resolve: { conditions: ["troupe-source"] } },
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/sql/postgres.global.ts"],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
    pool: "forks"
  }
})
