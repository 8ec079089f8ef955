export * from "./index.js";

/**
 * Loads the module; await it once before anything else. Later calls do nothing.
 *
 * @param source a URL, a response, a compiled module or its bytes; by default the file beside this one.
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
