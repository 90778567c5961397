/**
 * The package's entry `troupe/http`: the routes of the API for a router of the application, over a `Troupe.layer`, and the API as a
 * value.
 */
export type { ConsoleOptions, RouteOptions } from "../options/ServerOptions.ts"
export { HttpSettings } from "../../http/boundary/HttpSettings.ts"
/**
 * The API as a value: for clients (`HttpApiClient.make`), for OpenAPI (`OpenApi.fromApi`), and for the application's own
 * documents.
 */
export { TroupeApi } from "../../../src/operation/TroupeApi.ts"
export { routes } from "../assembly/HttpSurface.ts"
