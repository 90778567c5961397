/**
 * The HTTP surface of a runtime, with Node's HTTP server.
 */
export type { Options, RouteOptions } from "../options/ServerOptions.ts"
export { HttpSettings } from "../../http/boundary/HttpSettings.ts"
/**
 * The API as a value: for clients (`HttpApiClient.make`), for OpenAPI (`OpenApi.fromApi`), and for the application's own
 * documents.
 */
export { TroupeApi } from "../../../src/operation/TroupeApi.ts"
export { layer, routes } from "../assembly/HttpSurface.ts"
