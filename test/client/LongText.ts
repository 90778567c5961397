/** What the agent of `clientshop.ts` writes, and who asks it. */

export const token = "token-of-olga-1234567890"

/** No two pieces of it are alike. */
export const long_text = Array.from({ length: 150 }, (_, at) => `line ${at}.`).join(" ")
