export * from "./index.js";

/**
 * Loads the module. Await it once before any other call; later calls do nothing.
 *
 * @param source A URL, a response, a compiled module or its bytes. Default: the file next to this one.
 */
export default function init(
  source?:
    | string
    | URL
    | Request
    | Response
    | Promise<Response>
    | BufferSource
    | WebAssembly.Module,
): Promise<void>;
