/**
 * How the compilers of TypeScript run here, which are written in Go.
 */

/**
 * Nearly all that they allocate they keep to the end: to look for garbage takes a quarter of their time, and finds little.
 * Beyond 4 GiB they look for it all the same.
 */
export const compiler_env = { GOGC: "off", GOMEMLIMIT: "4GiB" } as const
